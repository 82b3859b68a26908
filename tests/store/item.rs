//! Files and folders.

use std::time::Instant;

use invoicing::domain::Error;
use invoicing::domain::audit::Action;
use invoicing::domain::id::{FileId, FolderId, TeamId, UserId};
use invoicing::domain::item::ItemId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::share_link::{Audience, CreateLink, ShareLink};

use super::engine::RANDOM_ID;
use super::support::{START, Service};

/// A team with a member, a folder, and a file in it.
struct Shelf {
    service: Service,
    team: TeamId,
    user: UserId,
    folder: FolderId,
    file: FileId,
}

impl Shelf {
    async fn new() -> Shelf {
        let service = Service::new().await;
        let team = service.team().await;
        let user = service.app.create_user("ada@example.com", "Ada").await.unwrap().id;
        service.app.add_member(team, user, Role::Member).await.unwrap();
        let folder = service.app.create_folder(team, "Contracts").await.unwrap().id;
        let file = service.app.create_file(team, "a.pdf", Some(folder)).await.unwrap().id;
        Shelf { service, team, user, folder, file }
    }

    async fn share(&self, item_id: ItemId) -> Result<ShareLink, Error> {
        let create = CreateLink {
            item_id,
            user_id: self.user,
            name: None,
            audience: Audience::Public,
            can_download: true,
            password: None,
            expires_in: None,
        };
        self.service.app.create_link(create).await
    }

    /// The links that are still valid.
    async fn links(&self) -> Vec<ShareLink> {
        let links = self.service.app.list_team_links(self.team, Part::default());
        links.await.unwrap()
    }

    /// The team's audit of files and folders, newest first.
    async fn told(&self) -> Vec<(Action, uuid::Uuid)> {
        let events = self.service.app.list_audit_events(Some(self.team), Part::default());
        let events = events.await.unwrap().into_iter();
        let events = events.filter(|it| it.action != Action::AddMember && it.actor.is_none());
        events.map(|it| (it.action, it.subject.unwrap())).collect()
    }
}

fn is_missing<T: std::fmt::Debug>(result: Result<T, Error>, what: &str) {
    assert!(matches!(&result, Err(Error::Missing { noun, .. }) if *noun == what), "{result:?}");
}

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

#[tokio::test]
async fn an_item_is_given_another_name_and_that_is_told_of_once() {
    let shelf = Shelf::new().await;
    let app = &shelf.service.app;
    for _ in 0..2 {
        let (_, folder) = app.rename_folder(shelf.folder, " Offers ").await.unwrap();
        let (_, file) = app.rename_file(shelf.file, "b.pdf").await.unwrap();
        assert_eq!((folder.name.as_str(), file.name.as_str()), ("Offers", "b.pdf"));
        assert_eq!(app.get_folder(shelf.folder).await.unwrap(), folder);
        assert_eq!(app.get_file(shelf.file).await.unwrap(), file);
    }
    let (old, new) = app.rename_file(shelf.file, "c.pdf").await.unwrap();
    assert_eq!((old.name.as_str(), new.name.as_str()), ("b.pdf", "c.pdf"));
    for refused in [
        app.rename_folder(shelf.folder, " ").await.err(),
        app.rename_file(shelf.file, "a\0b").await.err(),
    ] {
        assert!(matches!(refused, Some(Error::Invalid(_))), "{refused:?}");
    }
    is_missing(app.rename_folder(FolderId(shelf.file.0), "A").await, "folder");
    is_missing(app.rename_file(FileId(shelf.folder.0), "A").await, "file");
    let (file, folder) = (shelf.file.0, shelf.folder.0);
    let told = [
        (Action::RenameFile, file),
        (Action::RenameFile, file),
        (Action::RenameFolder, folder),
        (Action::CreateFile, file),
        (Action::CreateFolder, folder),
        (Action::CreateTeam, shelf.team.0),
    ];
    assert_eq!(shelf.told().await, told);
}

#[tokio::test]
async fn the_links_to_a_file_end_with_it_and_no_others() {
    let shelf = Shelf::new().await;
    let app = &shelf.service.app;
    let kept = shelf.share(ItemId::Folder(shelf.folder)).await.unwrap();
    for _ in 0..2 {
        shelf.share(ItemId::File(shelf.file)).await.unwrap();
    }
    let (file, links) = app.delete_file(shelf.file).await.unwrap();
    assert_eq!((file.name.as_str(), links), ("a.pdf", 2));
    assert_eq!(shelf.links().await, [kept]);
    is_missing(app.get_file(shelf.file).await, "file");
    is_missing(app.delete_file(shelf.file).await, "file");
    is_missing(shelf.share(ItemId::File(shelf.file)).await, "file");
    let listed = app.list_links(shelf.user, shelf.team, ItemId::File(shelf.file)).await;
    assert!(matches!(listed, Err(Error::ItemNotFound)), "{listed:?}");
    assert_eq!(shelf.told().await[0], (Action::DeleteFile, shelf.file.0));
}

#[tokio::test]
async fn a_folder_with_files_is_deleted_only_with_them() {
    let shelf = Shelf::new().await;
    let app = &shelf.service.app;
    let elsewhere = app.create_file(shelf.team, "b.pdf", None).await.unwrap();
    let kept = shelf.share(ItemId::File(elsewhere.id)).await.unwrap();
    shelf.share(ItemId::Folder(shelf.folder)).await.unwrap();
    shelf.share(ItemId::File(shelf.file)).await.unwrap();
    let before = shelf.told().await;
    let refused = app.delete_folder(shelf.folder, false).await;
    assert!(matches!(&refused, Err(Error::Refused(why)) if why.contains("--recursive")), "{refused:?}");
    assert_eq!((shelf.links().await.len(), shelf.told().await), (3, before));

    let deleted = app.delete_folder(shelf.folder, true).await.unwrap();
    assert_eq!((deleted.folder.name.as_str(), deleted.files, deleted.links), ("Contracts", 1, 2));
    assert_eq!(shelf.links().await, [kept]);
    is_missing(app.get_folder(shelf.folder).await, "folder");
    is_missing(app.get_file(shelf.file).await, "file");
    is_missing(app.delete_folder(shelf.folder, true).await, "folder");
    let late = app.create_file(shelf.team, "c.pdf", Some(shelf.folder)).await;
    is_missing(late, "folder");
    let told = [(Action::DeleteFolder, shelf.folder.0), (Action::DeleteFile, shelf.file.0)];
    assert_eq!(shelf.told().await[..2], told);

    let empty = app.create_folder(shelf.team, "Empty").await.unwrap();
    let deleted = app.delete_folder(empty.id, false).await.unwrap();
    assert_eq!((deleted.files, deleted.links), (0, 0));
}

/// `INVOICING_FILES` tries more than a thousand.
#[tokio::test]
async fn a_folder_of_many_files_goes_in_steps_that_others_do_not_wait_for() {
    let number = std::env::var("INVOICING_FILES").map_or(1_200, |it| it.parse().unwrap());
    let shelf = Shelf::new().await;
    shelf.service.database().change(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number}) \
         INSERT INTO file SELECT team_id, {RANDOM_ID}, name, folder_id, created_at \
             FROM (SELECT * FROM file LIMIT 1) AS one CROSS JOIN n"
    ));
    let app = &shelf.service.app;
    let begun = Instant::now();
    let mut deleted = std::pin::pin!(app.delete_folder(shelf.folder, true));
    let (mut others, mut longest) = (0, std::time::Duration::ZERO);
    let deleted = loop {
        let asked = Instant::now();
        tokio::select! {
            biased;
            deleted = &mut deleted => break deleted.unwrap(),
            team = app.create_team("Other") => team.unwrap(),
        };
        others += 1;
        longest = longest.max(asked.elapsed());
    };
    println!("{number} files: {:?}, the longest wait of others {longest:?}", begun.elapsed());
    assert_eq!((deleted.files, deleted.links), (number as u64 + 1, 0));
    // In one step, they would have waited for all of it: changes of one process take turns.
    assert!(others > 1, "{others}");
    assert_eq!(shelf.service.database().rows("file"), 0);
    let told = shelf.service.database().rows("audit_event WHERE action = 'delete-file'");
    assert_eq!(told, number as i64 + 1);
}

#[tokio::test]
async fn a_link_that_is_made_and_one_that_is_revoked_are_told_of_and_a_users_links_are_listed() {
    let shelf = Shelf::new().await;
    let app = &shelf.service.app;
    let bo = app.create_user("bo@example.com", "Bo").await.unwrap().id;
    let (first, second) = (ItemId::File(shelf.file), ItemId::Folder(shelf.folder));
    let (first, second) = (shelf.share(first).await.unwrap(), shelf.share(second).await.unwrap());
    let made = (Action::CreateLink, second.id.0);
    assert_eq!(shelf.told().await[..2], [made, (Action::CreateLink, first.id.0)]);
    let listed = async |user| app.list_user_links(user, Part::default()).await.unwrap();
    assert_eq!(listed(bo).await, []);
    assert_eq!(listed(shelf.user).await, [second.clone(), first.clone()]);
    app.revoke_link(&invoicing::domain::audit::Actor::Operator, second.id).await.unwrap();
    assert_eq!(listed(shelf.user).await, [first]);
    is_missing(app.list_user_links(UserId(uuid::Uuid::nil()), Part::default()).await, "user");
}

#[tokio::test]
async fn folders_and_files_of_a_team_are_listed() {
    let shelf = Shelf::new().await;
    let app = &shelf.service.app;
    let loose = app.create_file(shelf.team, "b.pdf", None).await.unwrap().id;
    let folders = app.list_folders(shelf.team, Part::default()).await.unwrap();
    assert_eq!(folders.iter().map(|it| it.id).collect::<Vec<_>>(), [shelf.folder]);
    let files = app.list_files(shelf.team, Part::default()).await.unwrap();
    assert_eq!(files.iter().map(|it| it.id).collect::<Vec<_>>(), [shelf.file, loose]);
    let other = shelf.service.team().await;
    assert_eq!(app.list_folders(other, Part::default()).await.unwrap(), []);
}
