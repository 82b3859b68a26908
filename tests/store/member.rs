//! Members. The ids at the tests are from docs/decisions.md.

use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::{TeamId, UserId};
use invoicing::domain::member::Role;
use invoicing::domain::team::Team;
use invoicing::domain::user::User;

use super::support::Service;

async fn team_and_user(service: &Service) -> (Team, User) {
    let team = service.app.create_team("Acme").await.unwrap();
    let user = service
        .app
        .create_user("ada@example.com", "Ada")
        .await
        .unwrap();
    (team, user)
}

/// L9: the roles.
#[tokio::test]
async fn each_role_is_a_membership() {
    let service = Service::new().await;
    let (_, user) = team_and_user(&service).await;
    for role in Role::ALL {
        let team = service.app.create_team("Another").await.unwrap();
        service
            .app
            .add_member(team.id, user.id, *role)
            .await
            .unwrap();
        assert_eq!(
            service.app.membership(team.id, user.id).await.unwrap(),
            *role
        );
    }
}

/// E10.
#[tokio::test]
async fn a_stranger_and_an_unknown_team_look_alike() {
    let service = Service::new().await;
    let (team, user) = team_and_user(&service).await;
    for team_id in [team.id, TeamId(uuid::Uuid::nil())] {
        let result = service.app.membership(team_id, user.id).await;
        assert!(matches!(result, Err(Error::NotAMember)), "{result:?}");
    }
}

/// S19, for a member, in every process.
#[tokio::test]
async fn a_removed_member_is_a_stranger_at_once() {
    let service = Service::new().await;
    let (team, user) = team_and_user(&service).await;
    service
        .app
        .add_member(team.id, user.id, Role::Owner)
        .await
        .unwrap();
    service
        .another()
        .await
        .remove_member(&Actor::Operator, team.id, user.id, false)
        .await
        .unwrap();
    let result = service.app.membership(team.id, user.id).await;
    assert!(matches!(result, Err(Error::NotAMember)), "{result:?}");
    let again = service.app.remove_member(&Actor::Operator, team.id, user.id, false).await;
    assert!(matches!(again, Err(Error::Refused(_))), "{again:?}");
    service
        .app
        .add_member(team.id, user.id, Role::Viewer)
        .await
        .unwrap();
}

/// S19, for a user.
#[tokio::test]
async fn a_removed_user_is_a_member_of_nothing() {
    let service = Service::new().await;
    let (team, user) = team_and_user(&service).await;
    service
        .app
        .add_member(team.id, user.id, Role::Owner)
        .await
        .unwrap();
    service.app.delete_user(user.id).await.unwrap();
    let result = service.app.membership(team.id, user.id).await;
    assert!(matches!(result, Err(Error::NotAMember)), "{result:?}");
    let again = service.app.add_member(team.id, user.id, Role::Viewer).await;
    assert!(
        matches!(again, Err(Error::Missing { noun: "user", .. })),
        "{again:?}"
    );
}

#[tokio::test]
async fn adding_a_member_again_does_not_change_the_role() {
    let service = Service::new().await;
    let (team, user) = team_and_user(&service).await;
    service
        .app
        .add_member(team.id, user.id, Role::Owner)
        .await
        .unwrap();
    let again = service.app.add_member(team.id, user.id, Role::Viewer).await;
    assert!(matches!(again, Err(Error::Refused(_))), "{again:?}");
    assert_eq!(
        service.app.membership(team.id, user.id).await.unwrap(),
        Role::Owner
    );
}

#[tokio::test]
async fn a_membership_needs_a_team_and_a_user() {
    let service = Service::new().await;
    let (team, user) = team_and_user(&service).await;
    let (no_team, no_user) = (TeamId(uuid::Uuid::nil()), UserId(uuid::Uuid::nil()));
    let result = service.app.add_member(no_team, user.id, Role::Member).await;
    assert!(
        matches!(result, Err(Error::Missing { noun: "team", .. })),
        "{result:?}"
    );
    let result = service.app.add_member(team.id, no_user, Role::Member).await;
    assert!(
        matches!(result, Err(Error::Missing { noun: "user", .. })),
        "{result:?}"
    );
}
