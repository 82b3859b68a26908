//! Teams.

use invoicing::domain::Error;
use invoicing::domain::audit::Action;

use super::signed_in::told;
use super::support::{START, Service};

#[tokio::test]
async fn teams_are_listed_oldest_first() {
    let service = Service::new().await;
    let first = service.app.create_team("First").await.unwrap();
    let second = service.app.create_team("  Second ").await.unwrap();
    assert_eq!((second.name.as_str(), second.created_at), ("Second", START));
    assert_eq!(service.app.list_teams(Default::default()).await.unwrap(), [first, second]);
}

#[tokio::test]
async fn a_team_is_seen_by_another_process() {
    let service = Service::new().await;
    let team = service.app.create_team("Acme").await.unwrap();
    assert_eq!(service.another().await.list_teams(Default::default()).await.unwrap(), [team]);
}

#[tokio::test]
async fn a_team_name_must_be_plain_text() {
    let service = Service::new().await;
    for name in ["", "  ", "a\0b", "a\nb", &"x".repeat(256)] {
        let refused = service.app.create_team(name).await;
        assert!(
            matches!(refused, Err(Error::Invalid(_))),
            "{name:?}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_team_gets_another_name_which_is_told_of_once() {
    let service = Service::new().await;
    let app = &service.app;
    let team = app.create_team("Acme").await.unwrap().id;
    for (name, count) in [("Acme", 0), ("Globex", 1), (" Globex ", 1)] {
        assert_eq!(app.rename_team(team, name).await.unwrap().name, name.trim());
        assert_eq!(told(app, team, Action::RenameTeam).await, count, "{name}");
    }
    let unknown = app.rename_team(uuid::Uuid::nil().into(), "Acme").await;
    assert!(matches!(unknown, Err(Error::Missing { .. })), "{unknown:?}");
}
