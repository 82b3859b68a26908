//! The share links of a team that its members see and end.

use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::id::{ShareLinkId, TeamId};
use invoicing::domain::item::ItemId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::share_link::{Audience, CreateLink};

use super::super::engine::RANDOM_ID;
use super::super::support::Service;
use super::support::{person, with_ada};

/// Ada's team, with a link to one of its files and one to a folder.
async fn shared() -> (Service, InBrowser, TeamId, [ShareLinkId; 2]) {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let teams = app.list_memberships(ada.user.id, Part::one()).await;
    let team = teams.unwrap()[0].member.team_id;
    let file = app.create_file(team, "a.pdf", None).await.unwrap().id;
    let folder = app.create_folder(team, "Contracts").await.unwrap().id;
    let link = |item_id| {
        app.create_link(CreateLink {
            item_id,
            user_id: ada.user.id,
            name: None,
            audience: Audience::Public,
            can_download: true,
            password: None,
            expires_in: None,
        })
    };
    let of_file = link(ItemId::File(file)).await.unwrap().id;
    let of_folder = link(ItemId::Folder(folder)).await.unwrap().id;
    (service, ada, team, [of_file, of_folder])
}

#[tokio::test]
async fn links_of_a_team_are_listed_with_their_items_newest_first_for_members_alone() {
    let (service, ada, team, [of_file, of_folder]) = shared().await;
    let app = &service.app;
    let list = async |part| {
        let links = app.list_named_links(ada.user.id, team, part).await.unwrap();
        let links = links.into_iter().map(|it| (it.link.id, it.item_name));
        links.collect::<Vec<_>>()
    };
    let (file, folder) = ((of_file, "a.pdf".into()), (of_folder, "Contracts".into()));
    assert_eq!(list(Part::default()).await, [folder.clone(), file.clone()]);
    assert_eq!(list(Part::one()).await, [folder]);
    let after = Some(of_folder);
    assert_eq!(list(Part { after, limit: 9 }).await, [file]);

    let bo = app.create_user("bo@example.com", "Bo").await.unwrap().id;
    let refused = app.list_named_links(bo, team, Part::default()).await;
    assert!(matches!(refused, Err(Error::NotAMember)), "{refused:?}");
}

#[tokio::test]
async fn a_link_is_revoked_by_whoever_may_write_and_told_of_once() {
    let (service, ada, team, [of_file, of_folder]) = shared().await;
    let app = &service.app;
    let actor = Actor::Person(person(&ada));
    app.revoke_link(&actor, of_file).await.unwrap();
    app.revoke_link(&Actor::Operator, of_file).await.unwrap();
    let events = app.list_audit_events(Some(team), Part::default()).await;
    let told = events.unwrap();
    let told = told.iter().filter(|it| it.action == Action::RevokeLink);
    let told: Vec<_> = told.map(|it| (it.action, it.actor, it.subject)).collect();
    assert_eq!(told, [(Action::RevokeLink, Some(ada.user.id), Some(of_file.0))]);

    let bo = app.create_user("bo@example.com", "Bo").await.unwrap().id;
    app.add_member(team, bo, Role::Owner).await.unwrap();
    app.set_role(&Actor::Operator, team, ada.user.id, Role::Viewer)
        .await
        .unwrap();
    let refused = app.revoke_link(&actor, of_folder).await;
    assert!(matches!(refused, Err(Error::RoleInsufficient)), "{refused:?}");
    app.remove_member(&Actor::Operator, team, ada.user.id, false)
        .await
        .unwrap();
    let refused = app.revoke_link(&actor, of_folder).await;
    assert!(matches!(refused, Err(Error::NotAMember)), "{refused:?}");
    let left = app.list_named_links(bo, team, Part::default()).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].link.id, of_folder);
}

/// W24. Others wait for what is locked while they end, on SQLite for the only writer.
#[tokio::test]
async fn ten_thousand_links_end_with_the_last_member_who_leaves_and_more_keep_them() {
    let (service, ada, team, _) = shared().await;
    let app = &service.app;
    let columns = "team_id, item_type, item_id, audience, can_view, can_download, created_by, created_at, updated_at";
    let add = |count: u32| {
        service.database().change(&format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
             INSERT INTO share_link (id, secret, {columns}) \
                 SELECT {RANDOM_ID}, concat({count}, '-', i), {columns} \
                 FROM (SELECT * FROM share_link LIMIT 1) AS one CROSS JOIN n"
        ));
    };
    add(9_998);
    add(1);
    let by = person(&ada);
    for refused in [
        app.delete_account(by.clone()).await,
        app.remove_member(&Actor::Person(by.clone()), team, ada.user.id, false).await,
    ] {
        let Err(Error::Refused(why)) = refused else {
            panic!("{refused:?}");
        };
        assert!(why.contains("too many share links"), "{why}");
    }
    let first = app.list_named_links(ada.user.id, team, Part::one()).await;
    let first = first.unwrap()[0].link.id;
    app.revoke_link(&Actor::Operator, first).await.unwrap();
    app.delete_account(by).await.unwrap();
    assert_eq!(service.database().rows("share_link WHERE revoked_at IS NULL"), 0);
}
