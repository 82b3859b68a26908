//! Files and folders.

use invoicing::domain::Error;
use invoicing::domain::id::{FolderId, TeamId};

use super::support::{START, Service};

#[tokio::test]
async fn a_file_lies_at_the_top_or_in_a_folder_of_its_team() {
    let service = Service::new().await;
    let (team, other) = (
        service.app.create_team("A").await.unwrap(),
        service.app.create_team("B").await.unwrap(),
    );
    let folder = service
        .app
        .create_folder(team.id, "Contracts")
        .await
        .unwrap();
    assert_eq!(
        (folder.name.as_str(), folder.created_at),
        ("Contracts", START)
    );

    let file = service
        .app
        .create_file(team.id, "a.pdf", Some(folder.id))
        .await
        .unwrap();
    assert_eq!((file.team_id, file.folder_id), (team.id, Some(folder.id)));
    assert!(
        service
            .app
            .create_file(other.id, "a.pdf", None)
            .await
            .is_ok()
    );

    for (team_id, folder_id) in [
        (other.id, folder.id),
        (team.id, FolderId(uuid::Uuid::nil())),
    ] {
        let result = service
            .app
            .create_file(team_id, "a.pdf", Some(folder_id))
            .await;
        assert!(
            matches!(result, Err(Error::Missing { noun: "folder", .. })),
            "{result:?}"
        );
    }
}

#[tokio::test]
async fn an_item_needs_a_team_and_a_name() {
    let service = Service::new().await;
    let (team, nobody) = (
        service.app.create_team("A").await.unwrap(),
        TeamId(uuid::Uuid::nil()),
    );
    let result = service.app.create_folder(nobody, "Contracts").await;
    assert!(
        matches!(result, Err(Error::Missing { noun: "team", .. })),
        "{result:?}"
    );
    let result = service.app.create_file(nobody, "a.pdf", None).await;
    assert!(
        matches!(result, Err(Error::Missing { noun: "team", .. })),
        "{result:?}"
    );
    let result = service.app.create_folder(team.id, "a\0b").await;
    assert!(matches!(result, Err(Error::Invalid(_))), "{result:?}");
}
