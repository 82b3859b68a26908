//! Teams.

use invoicing::domain::Error;

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
