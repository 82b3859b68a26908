//! The same change made several times at once: each is done or refused by a rule, and none fails.

use std::iter::repeat_with;

use futures::future::join_all;
use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::member::Role;

use super::signed_in::join;
use super::support::Service;

/// How many make the change.
const MAKERS: usize = 10;

/// Makes a change so often at once. Returns how many were done; the others must have been refused.
async fn done_at_once<T: std::fmt::Debug, F: Future<Output = Result<T, Error>>>(
    change: impl FnMut() -> F,
) -> usize {
    let made = join_all(repeat_with(change).take(MAKERS)).await;
    let failed = |made: &&Result<T, Error>| {
        matches!(made, Err(Error::Internal(_) | Error::Unavailable(_)))
    };
    assert!(made.iter().find(failed).is_none(), "{made:?}");
    made.iter().filter(|it| it.is_ok()).count()
}

#[tokio::test]
async fn users_with_one_email() {
    let service = Service::new().await;
    let made = done_at_once(|| service.app.create_user("ada@example.com", "Ada")).await;
    assert_eq!(made, 1);
}

#[tokio::test]
async fn invitations_of_one_email() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let invite = || app.invite(&Actor::Operator, team, "ada@example.com", Role::Viewer);
    assert!(done_at_once(invite).await > 0);
    assert_eq!(service.database().rows("invitation"), 1);
}

#[tokio::test]
async fn members_who_are_one_user() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = app.create_user("ada@example.com", "Ada").await.unwrap().id;
    assert!(done_at_once(|| app.add_member(team, ada, Role::Admin)).await > 0);
    assert_eq!(service.database().rows("member"), 1);
}

#[tokio::test]
async fn emails_that_become_one() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let mut people = Vec::new();
    for number in 0..MAKERS {
        people.push(join(app, team, &format!("p{number}@example.com"), Role::Owner).await);
    }
    let mut people = people.iter();
    let set = || app.set_email(people.next().unwrap().user_id, "one@example.com");
    assert_eq!(done_at_once(set).await, 1);
}

#[tokio::test]
async fn joins_by_one_link() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let other = service.team().await;
    let ada = join(app, other, "ada@example.com", Role::Viewer).await;
    let invited = app.invite(&Actor::Operator, team, "ada@example.com", Role::Viewer);
    let link = invited.await.unwrap().secret;
    assert_eq!(done_at_once(|| app.join_as_user(ada.clone(), &link)).await, 1);
}

#[tokio::test]
async fn changes_and_deletions_of_one_account() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    join(app, team, "o@example.com", Role::Owner).await;
    let ada = join(app, team, "ada@example.com", Role::Viewer).await;
    assert_eq!(done_at_once(|| app.change_name(ada.clone(), "Countess")).await, MAKERS);
    assert_eq!(done_at_once(|| app.delete_account(ada.clone())).await, 1);
}
