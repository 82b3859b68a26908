//! Share links: docs/decisions.md, "Share links", whose ids stand at the tests.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::{FileId, ShareLinkId, TeamId, UserId};
use invoicing::domain::item::ItemId;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;
use invoicing::domain::share_link::{Audience, CreateLink, LINKS_PER_ITEM, ShareLinkStatus};
use invoicing::domain::time::Clock;

use super::support::{START, Service};

/// A service with a team, a user who is a viewer there, and a folder with a file.
struct Sharing {
    service: Service,
    team_id: TeamId,
    user_id: UserId,
    folder: ItemId,
    file: ItemId,
}

impl std::ops::Deref for Sharing {
    type Target = App;

    fn deref(&self) -> &App {
        &self.service.app
    }
}

impl Sharing {
    async fn new() -> Sharing {
        let service = Service::new().await;
        let app = &service.app;
        let team_id = app.create_team("Acme").await.unwrap().id;
        let user_id = app.create_user("ada@example.com", "Ada").await.unwrap().id;
        app.add_member(team_id, user_id, Role::Viewer)
            .await
            .unwrap();
        let folder = app.create_folder(team_id, "Contracts").await.unwrap().id;
        let file = app
            .create_file(team_id, "a.pdf", Some(folder))
            .await
            .unwrap()
            .id;
        let (folder, file) = (ItemId::Folder(folder), ItemId::File(file));
        Sharing {
            service,
            team_id,
            user_id,
            folder,
            file,
        }
    }

    fn link(&self, item_id: ItemId) -> CreateLink {
        CreateLink {
            item_id,
            user_id: self.user_id,
            name: None,
            audience: Audience::Public,
            can_download: true,
            password: None,
            expires_in: None,
        }
    }

    async fn list(&self, item_id: ItemId) -> Vec<ShareLinkId> {
        let links = self.list_links(self.user_id, self.team_id, item_id).await.unwrap();
        links.iter().map(|link| link.id).collect()
    }
}

/// L6, with as few fields set as possible.
#[tokio::test]
async fn a_plain_link_has_all_its_fields() {
    let sharing = Sharing::new().await;
    let link = sharing
        .create_link(sharing.link(sharing.file))
        .await
        .unwrap();
    assert_eq!(link.item_id, sharing.file);
    assert_eq!(
        (link.name.as_deref(), link.audience),
        (None, Audience::Public)
    );
    assert!(link.permissions.can_view && link.permissions.can_download);
    assert!(!link.password_protected);
    assert_eq!((link.expires_at, link.last_viewed_at), (None, None));
    assert_eq!((link.view_count, link.download_count), (0, 0));
    assert_eq!(
        (link.created_by.id, link.created_by.display_name.as_str()),
        (sharing.user_id, "Ada")
    );
    assert_eq!((link.created_at, link.updated_at), (START, START));
    assert_eq!(link.status(sharing.service.clock.now()), ShareLinkStatus::Active);
    assert_eq!(
        sharing
            .list_links(sharing.user_id, sharing.team_id, sharing.file)
            .await
            .unwrap(),
        [link]
    );
}

/// The same, with every option.
#[tokio::test]
async fn a_link_is_as_it_was_asked_for() {
    let sharing = Sharing::new().await;
    let create = CreateLink {
        name: Some(" For the auditor ".into()),
        audience: Audience::Team,
        can_download: false,
        password: Some(Secret::from_text("tulip")),
        expires_in: Some(Duration::from_secs(60)),
        ..sharing.link(sharing.folder)
    };
    let link = sharing.create_link(create).await.unwrap();
    assert_eq!(link.item_id, sharing.folder);
    assert_eq!(
        (link.name.as_deref(), link.audience),
        (Some("For the auditor"), Audience::Team)
    );
    assert!(link.permissions.can_view && !link.permissions.can_download);
    assert!(link.password_protected);
    assert_eq!(link.expires_at, Some(START.after(Duration::from_secs(60))));
    assert_eq!(
        sharing
            .list_links(sharing.user_id, sharing.team_id, sharing.folder)
            .await
            .unwrap(),
        [link]
    );
}

/// L4.
#[tokio::test]
async fn the_url_begins_with_the_setting_and_ends_with_a_secret() {
    let sharing = Sharing::new().await;
    let (one, two) = (sharing.link(sharing.file), sharing.link(sharing.file));
    let (one, two) = (
        sharing.create_link(one).await.unwrap(),
        sharing.create_link(two).await.unwrap(),
    );
    let (one, two) = (one.url(sharing.public_url()), two.url(sharing.public_url()));
    assert_ne!(one.reveal(), two.reveal());
    for url in [&one, &two] {
        let secret = url
            .reveal()
            .strip_prefix("https://links.example/s/")
            .unwrap();
        assert_eq!(secret.len(), 43);
        assert!(secret.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
    let listed = sharing
        .list_links(sharing.user_id, sharing.team_id, sharing.file)
        .await
        .unwrap();
    assert_eq!(listed[1].url(sharing.public_url()), one);
}

/// L5 and L7.
#[tokio::test]
async fn a_password_is_kept_as_argon2id_only() {
    let sharing = Sharing::new().await;
    let password = Some(Secret::from_text("correct horse battery"));
    let link = sharing
        .create_link(CreateLink {
            password,
            ..sharing.link(sharing.file)
        })
        .await
        .unwrap();
    assert!(sharing.service.database().keeps(b"$argon2id$"));
    assert!(!sharing.service.database().keeps(b"correct horse"));
    assert!(!format!("{link:?}").contains("argon2id"));
}

/// L2.
#[tokio::test]
async fn links_are_newest_first_and_revoked_ones_are_gone() {
    let sharing = Sharing::new().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(
            sharing
                .create_link(sharing.link(sharing.file))
                .await
                .unwrap()
                .id,
        );
    }
    sharing
        .create_link(sharing.link(sharing.folder))
        .await
        .unwrap();
    made.reverse();
    assert_eq!(sharing.list(sharing.file).await, made);

    let revoked = made.remove(2);
    sharing.revoke_link(&Actor::Operator, revoked).await.unwrap();
    sharing.revoke_link(&Actor::Operator, revoked).await.unwrap();
    assert_eq!(sharing.list(sharing.file).await, made);
    let unknown = sharing.revoke_link(&Actor::Operator, ShareLinkId(uuid::Uuid::nil())).await;
    assert!(
        matches!(
            unknown,
            Err(Error::Missing {
                noun: "share link",
                ..
            })
        ),
        "{unknown:?}"
    );
}

/// L6, `status`: an expired link is still listed, as expired from that instant on.
#[tokio::test]
async fn a_link_expires_in_the_list() {
    let sharing = Sharing::new().await;
    let expires_in = Some(Duration::from_secs(60));
    sharing
        .create_link(CreateLink {
            expires_in,
            ..sharing.link(sharing.file)
        })
        .await
        .unwrap();
    for (seconds, status) in [(59, ShareLinkStatus::Active), (1, ShareLinkStatus::Expired)] {
        sharing.service.clock.advance(Duration::from_secs(seconds));
        let links = sharing
            .list_links(sharing.user_id, sharing.team_id, sharing.file)
            .await
            .unwrap();
        assert_eq!(links[0].status(sharing.service.clock.now()), status);
    }
}

/// L3.
#[tokio::test]
async fn an_item_has_at_most_1000_links_that_are_not_revoked() {
    let sharing = Sharing::new().await;
    let made = (0..LINKS_PER_ITEM).map(|_| sharing.create_link(sharing.link(sharing.file)));
    let made = stream::iter(made).buffered(20).try_collect::<Vec<_>>();
    let made = made.await.unwrap();
    let another = sharing.create_link(sharing.link(sharing.file)).await;
    assert!(matches!(another, Err(Error::Refused(_))), "{another:?}");
    assert!(
        sharing
            .create_link(sharing.link(sharing.folder))
            .await
            .is_ok(),
        "another item"
    );
    sharing.revoke_link(&Actor::Operator, made[500].id).await.unwrap();
    assert!(
        sharing
            .create_link(sharing.link(sharing.file))
            .await
            .is_ok()
    );
    assert_eq!(sharing.list(sharing.file).await.len(), 1000);
}

/// L8. A file is not a folder, either.
#[tokio::test]
async fn an_item_is_found_through_its_team_and_as_what_it_is_only() {
    let sharing = Sharing::new().await;
    sharing
        .create_link(sharing.link(sharing.file))
        .await
        .unwrap();
    let other = sharing.create_team("Other").await.unwrap().id;
    sharing
        .add_member(other, sharing.user_id, Role::Owner)
        .await
        .unwrap();
    let as_folder = ItemId::new(sharing.folder.item_type(), sharing.file.uuid());
    for (team_id, item_id) in [
        (other, sharing.file),
        (other, sharing.folder),
        (sharing.team_id, as_folder),
        (sharing.team_id, ItemId::File(FileId(uuid::Uuid::nil()))),
    ] {
        let result = sharing.list_links(sharing.user_id, team_id, item_id).await;
        assert!(matches!(result, Err(Error::ItemNotFound)), "{result:?}");
    }
    assert!(sharing.list(sharing.folder).await.is_empty());
}

/// The rules check the membership themselves, and before the item: no handler can forget it.
#[tokio::test]
async fn links_are_listed_for_members_of_the_team_only() {
    let sharing = Sharing::new().await;
    let stranger = sharing.create_user("eve@example.com", "Eve").await.unwrap();
    let missing = ItemId::File(FileId(uuid::Uuid::nil()));
    for item_id in [sharing.file, missing] {
        let result = sharing
            .list_links(stranger.id, sharing.team_id, item_id)
            .await;
        assert!(matches!(result, Err(Error::NotAMember)), "{result:?}");
    }
}

/// A link is made by a member of the item's team.
#[tokio::test]
async fn a_link_needs_an_item_and_a_member() {
    let sharing = Sharing::new().await;
    let nothing = ItemId::File(FileId(uuid::Uuid::nil()));
    let result = sharing.create_link(sharing.link(nothing)).await;
    assert!(
        matches!(result, Err(Error::Missing { noun: "file", .. })),
        "{result:?}"
    );

    let stranger = sharing
        .create_user("bob@example.com", "Bob")
        .await
        .unwrap()
        .id;
    let result = sharing
        .create_link(CreateLink {
            user_id: stranger,
            ..sharing.link(sharing.file)
        })
        .await;
    assert!(matches!(result, Err(Error::NotAMember)), "{result:?}");

    sharing.delete_user(stranger).await.unwrap();
    let result = sharing
        .create_link(CreateLink {
            user_id: stranger,
            ..sharing.link(sharing.file)
        })
        .await;
    assert!(
        matches!(result, Err(Error::Missing { noun: "user", .. })),
        "{result:?}"
    );
}

/// W25: links outlive their creator, who is no longer named.
#[tokio::test]
async fn links_of_a_removed_user_stay() {
    let sharing = Sharing::new().await;
    sharing
        .create_link(sharing.link(sharing.file))
        .await
        .unwrap();
    let other = sharing.create_user("bo@example.com", "Bo").await.unwrap();
    let joined = sharing.add_member(sharing.team_id, other.id, Role::Viewer);
    joined.await.unwrap();
    sharing.delete_user(sharing.user_id).await.unwrap();
    let links = sharing
        .list_links(other.id, sharing.team_id, sharing.file)
        .await
        .unwrap();
    assert_eq!(links[0].created_by.display_name, "Deleted user");
}
