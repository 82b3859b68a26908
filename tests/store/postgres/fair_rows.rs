//! Whoever shares a row all the time neither keeps others from changing it nor from anything else.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use invoicing::domain::Error;
use invoicing::domain::audit::{Actor, Person};
use invoicing::domain::author::CatalogMember;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::id::TeamId;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::ClientId;
use test_support::postgres::{Locked, ask, lock_waits, until_lock_waits};
use uuid::Uuid;

use super::people::deactivation::asked_by_app;
use super::people::support::{EMAIL, PASSWORD, sign_in};
use super::session::Mobile;
use super::signed_in::{browser, join, look_up};
use super::support::{Service, plain};

/// Sharers of a row lock may overtake: by changing things all the time, a user could not be deactivated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_does_not_overtake_what_ends_its_user() {
    let service = Arc::new(Service::new().await);
    let team = service.team().await;
    let ada = join(&service.app, team, "ada@example.com", Role::Owner).await;
    let shared = shared(&service, "user", "id", ada.user_id);
    let (by, id) = (Arc::clone(&service), ada.user_id);
    let deactivated = tokio::spawn(async move { by.app.deactivate_user(id).await });
    until_lock_waits(service.database().url(), 1).await;
    let by = Arc::clone(&service);
    let invite = async move {
        let ada = Actor::Person(ada);
        by.app
            .invite(&ada, team, "bo@example.com", Role::Viewer)
            .await
    };
    let invited = tokio::spawn(invite);
    until_lock_waits(service.database().url(), 2).await;
    drop(shared);
    deactivated.await.unwrap().unwrap();
    let invited = invited.await.unwrap().map(drop);
    assert!(matches!(invited, Err(Error::InvalidToken)), "{invited:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_does_not_overtake_what_takes_its_users_role_or_deletes_its_team() {
    for is_deleted in [false, true] {
        let service = Arc::new(Service::new().await);
        let team = service.team().await;
        let ada = join(&service.app, team, EMAIL, Role::Owner).await;
        let shared = shared(&service, "member", "user_id", ada.user_id);
        let (by, id) = (Arc::clone(&service), ada.user_id);
        let taken = tokio::spawn(async move {
            if is_deleted {
                return by.app.delete_team(team.into(), "Acme").await.map(drop);
            }
            let role = by.app.set_role(&Actor::Operator, team, id, Role::Viewer);
            role.await
        });
        until_lock_waits(service.database().url(), 1).await;
        let member = member(&ada, team);
        let by = Arc::clone(&service);
        let created = tokio::spawn(async move {
            let created = by.app.create_product(&member, plain("A"), None);
            created.await.map(drop)
        });
        until_lock_waits(service.database().url(), 2).await;
        drop(shared);
        taken.await.unwrap().unwrap();
        match created.await.unwrap() {
            Err(Error::NotAMember) if is_deleted => {}
            Err(Error::RoleInsufficient) if !is_deleted => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Has another transaction share the row of `table` with this value.
fn shared(service: &Service, table: &str, column: &str, value: impl Display) -> Locked {
    let share = format!("PERFORM 1 FROM \"{table}\" WHERE {column} = '{value}' FOR SHARE");
    let url = service.database().url();
    Locked::by(url, &format!("DO $$ BEGIN {share}; END $$"))
}

/// Another session of Ada.
async fn again(service: &Service) -> Person {
    let cookies = sign_in(service, EMAIL, PASSWORD, browser()).await.unwrap();
    look_up(&service.app, &cookies)
        .await
        .person(browser().visitor)
}

/// A change to a team locks the team, then its user. The other way round, PostgreSQL had to end one of two that waited for
/// each other, one after another, until the command was out of time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_ends_a_user_waits_for_their_teams_before_it_holds_up_what_they_do() {
    let service = Arc::new(Service::new().await);
    let team = service.team().await;
    let emails = ["ada@example.com", "bo@example.com", "cy@example.com"];
    for email in emails {
        let owner = join(&service.app, team, email, Role::Owner).await;
        let row = format!("UPDATE team SET name = name WHERE id = '{team}'");
        let locked = Locked::by(service.database().url(), &row);
        let (app, id) = (Arc::clone(&service.app), owner.user_id);
        let ended = tokio::spawn(async move {
            match email {
                "ada@example.com" => app.deactivate_user(id).await.map(drop),
                "bo@example.com" => app.delete_user(id).await,
                _ => app.set_email(id, "di@example.com").await.map(drop),
            }
        });
        until_lock_waits(service.database().url(), 1).await;
        service
            .app
            .create_product(&member(&owner, team), plain("A"), None)
            .await
            .unwrap();
        drop(locked);
        ended.await.unwrap().unwrap();
    }
}

fn member(person: &Person, team_id: TeamId) -> CatalogMember {
    let mode = Mode::Live;
    CatalogMember {
        catalog: Catalog { team_id, mode },
        role: Role::Owner,
        user_id: person.user_id,
        session_id: person.session_id,
    }
}

/// A thief could so stay signed in, whoever ended the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_does_not_overtake_what_ends_its_browser_session() {
    let service = Arc::new(Service::new().await);
    let team = service.team().await;
    join(&service.app, team, EMAIL, Role::Owner).await;
    let owner = again(&service).await;
    let thief = again(&service).await;
    let shared = shared(&service, "browser_session", "id", thief.session_id);
    let app = Arc::clone(&service.app);
    let ended = tokio::spawn(async move { app.revoke_sessions_of_user(owner.user_id).await });
    until_lock_waits(service.database().url(), 1).await;
    let app = Arc::clone(&service.app);
    let invited = tokio::spawn(async move {
        let thief = Actor::Person(thief);
        let invited = app.invite(&thief, team, "bo@example.com", Role::Viewer);
        invited.await.map(drop)
    });
    until_lock_waits(service.database().url(), 2).await;
    drop(shared);
    ended.await.unwrap().unwrap();
    let invited = invited.await.unwrap();
    assert!(matches!(invited, Err(Error::InvalidToken)), "{invited:?}");
}

/// The owner's change waits for a lock without a connection, but those that come meanwhile wait behind each of its attempts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_changes_things_all_the_time_can_be_signed_out() {
    let service = Arc::new(Service::new().await);
    let team = service.team().await;
    join(&service.app, team, EMAIL, Role::Owner).await;
    let (owner, thief) = (again(&service).await, again(&service).await);
    let request = Arc::new(asked_by_app(&service.app, owner.user_id).await);
    let busy: Vec<_> = (0..4)
        .map(|_| {
            let (app, thief) = (Arc::clone(&service.app), thief.clone());
            let request = Arc::clone(&request);
            tokio::spawn(async move {
                while app
                    .approve_authorization(thief.clone(), &request)
                    .await
                    .is_ok()
                {}
            })
        })
        .collect();
    let ended = service.app.end_browser_session(owner, thief.session_id);
    ended.await.unwrap();
    for busy in busy {
        busy.await.unwrap();
    }
}

/// It could be that of a lock that others need.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_that_a_caller_makes_up_locks_nothing() {
    let service = Service::new().await;
    let team = service.team().await;
    let ada = join(&service.app, team, EMAIL, Role::Owner).await;
    let made_up = Uuid::from_u64_pair(0, 1);
    let lock = "DO $$ BEGIN PERFORM pg_advisory_xact_lock(1); END $$";
    let _locked = Locked::by(service.database().url(), lock);
    let ended = service.app.end_browser_session(ada, made_up.into()).await;
    assert!(matches!(ended, Err(Error::Missing { .. })), "{ended:?}");
}

/// An app whose users sign in all the time could otherwise not be changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_code_does_not_overtake_what_changes_its_app() {
    let mobile = Arc::new(Mobile::new().await);
    let url = mobile.service.database().url();
    let shared = shared(&mobile.service, "oauth_client", "id", "app");
    let operator = Arc::clone(&mobile);
    let changed = tokio::spawn(async move {
        let (app, uris) = (ClientId::new("app"), ["https://example.com/cb".to_owned()]);
        operator.update_oauth_client(&app, None, Some(&uris)).await
    });
    until_lock_waits(url, 1).await;
    let user = Arc::clone(&mobile);
    let issued = tokio::spawn(async move { user.issue().await });
    until_lock_waits(url, 2).await;
    drop(shared);
    changed.await.unwrap().unwrap();
    let issued = issued.await.unwrap().map(drop);
    assert!(matches!(issued, Err(Error::Refused(_))), "{issued:?}");
}

/// A thief who changes things all the time could otherwise guess the password unnoticed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_sign_in_is_counted_while_its_user_is_changed() {
    let service = Service::new().await;
    let team = service.team().await;
    let ada = join(&service.app, team, EMAIL, Role::Owner).await;
    let change = format!(
        "UPDATE \"user\" SET name = name WHERE id = '{}'",
        ada.user_id
    );
    let _changed = Locked::by(service.database().url(), &change);
    let refused = sign_in(&service, EMAIL, "wrong", browser()).await;
    assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    let told = service
        .app
        .list_refused_sign_ins(ada.user_id)
        .await
        .unwrap();
    assert_eq!(told.len(), 1);
}

/// They may wait for whatever else the person changes, and the team's other changes would wait with all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_changes_one_product_at_a_time() {
    let service = Arc::new(Service::new().await);
    let (url, team) = (service.database().url(), service.team().await);
    let ada = join(&service.app, team, EMAIL, Role::Owner).await;
    let locked = Locked::by(url, "LOCK TABLE product");
    let mut creates: FuturesUnordered<_> = (0..6)
        .map(|_| {
            let (app, ada) = (Arc::clone(&service.app), member(&ada, team));
            tokio::spawn(async move { app.create_product(&ada, plain("A"), None).await })
        })
        .collect();
    // One is under way, and four wait.
    let refused = creates.next().await.unwrap().unwrap();
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    // It gives its connection back now and then.
    let (begun, mut most) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(2) {
        most = most.max(lock_waits(url));
    }
    assert_eq!(most, 1);
    drop(locked);
    while let Some(created) = creates.next().await {
        created.unwrap().unwrap();
    }
}

/// What one user keeps busy stays until the next run; what everybody else leaves does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_keeps_a_row_busy_keeps_nothing_else_from_being_deleted() {
    let service = Service::new().await;
    let (url, team) = (service.database().url(), service.team().await);
    let ada = join(&service.app, team, "ada@example.com", Role::Owner).await;
    join(&service.app, team, "ben@example.com", Role::Owner).await;
    ask(
        url,
        "UPDATE \"user\" SET session_generation = session_generation + 1",
    );
    ask(url, "UPDATE audit_event SET created_at = 1");
    let lock = format!("UPDATE \"user\" SET id = id WHERE id = '{}'", ada.user_id);
    let locked = Locked::by(url, &lock);
    let emptied = service.app.empty_all().await;
    assert!(matches!(emptied, Err(Error::Unavailable(_))), "{emptied:?}");
    let left = "SELECT email FROM \"user\" WHERE swept_generations < session_generation";
    assert_eq!(ask(url, left), "ada@example.com");
    service.app.delete_expired().await.unwrap();
    assert_eq!(ask(url, "SELECT count(*) FROM audit_event"), "0");
    drop(locked);
    service.app.empty_all().await.unwrap();
    assert_eq!(ask(url, left), "");
}
