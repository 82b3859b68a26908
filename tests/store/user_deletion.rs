//! Deletion of users who have a lot of data (docs/decisions.md, X64).

use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor, AuditEvent};
use invoicing::domain::browser_session::BrowserSession;
use invoicing::domain::id::UserId;
use invoicing::domain::list::Part;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::refused_sign_in::RefusedSignIn;
use invoicing::domain::secret::Secret;
use invoicing::domain::session::Session;
use invoicing::domain::time::{Clock as _, Timestamp};
use invoicing::sql::ScriptError;
use invoicing::store::{Sql, audit, browser_session, refused_sign_in, session, user};

use super::people::support::{person, with_ada};
use super::support::Service;

/// More than two steps delete.
const MANY: u32 = 1_100;

/// The tables whose rows are deleted step by step.
const TABLES: [&str; 3] = ["browser_session", "session", "refused_sign_in"];

/// Gives a user many sessions, of browsers and of an app, and many rows of actions and refused
/// sign-ins.
async fn fill(service: &Service, id: UserId) {
    let uris = ["com.example.app:/signed-in".to_owned()];
    let client = service.app.create_oauth_client("app", "App", &uris).await;
    let client_id: ClientId = client.unwrap().id;
    let now = service.clock.now();
    for first in (0..MANY).step_by(100) {
        let client_id = client_id.clone();
        let some = async move |sql: Sql<'_>| fill_some(sql, id, &client_id, first, now).await;
        service.store.write(id, some).await.unwrap();
    }
}

/// A hundred rows of each kind: a transaction has five seconds.
async fn fill_some(
    sql: Sql<'_>,
    id: UserId,
    client_id: &ClientId,
    first: u32,
    now: Timestamp,
) -> Result<(), ScriptError> {
    for number in first..first + 100 {
        let in_browser = BrowserSession {
            id: uuid::Uuid::now_v7().into(),
            user_id: id,
            user_agent: Some("Browser/1".into()),
            created_at: now,
            signed_in_at: now,
            last_used_at: now,
        };
        let in_app = Session {
            id: uuid::Uuid::now_v7().into(),
            user_id: id,
            client_id: client_id.clone(),
            install_id: None,
            user_agent: None,
            created_at: now,
            last_used_at: now,
            expires_at: now.after(std::time::Duration::from_secs(3600)),
        };
        let done = AuditEvent {
            id: uuid::Uuid::now_v7().into(),
            team_id: None,
            actor: Some(id),
            action: Action::ChangeName,
            subject: Some(id.0),
            detail: None,
            client_address: Some("192.0.2.1".into()),
            user_agent: Some("Browser/1".into()),
            created_at: now,
        };
        let digest = Secret::base64url().digest();
        let refused = RefusedSignIn {
            user_id: id,
            minute: now.to_the_minute(),
            client_address: format!("192.0.2.{number}"),
            count: 1,
        };
        sql.run((
            browser_session::insert(&in_browser, &digest, 0),
            session::insert(&in_app, 0),
            audit::insert(&done),
            refused_sign_in::count(&refused),
        ))
        .await?;
    }
    Ok(())
}

fn visitors(service: &Service) -> i64 {
    let database = service.database();
    database.rows("audit_event WHERE client_address IS NOT NULL OR user_agent IS NOT NULL")
}

#[tokio::test]
async fn a_user_with_much_is_deleted_in_steps_and_is_nobody_from_the_first_on() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    fill(&service, id).await;
    app.delete_user(id).await.unwrap();
    for table in TABLES {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
    assert_eq!(visitors(&service), 0);
    let left = service.database().rows("\"user\" WHERE emptied_at IS NULL OR email <> ''");
    assert_eq!(left, 0);
    let events = app.list_audit_events(None, Part::first(10_000)).await.unwrap();
    let by_ada = events.iter().filter(|it| it.actor == Some(id)).count();
    assert!(by_ada > MANY as usize, "{by_ada}");
}

/// Many may do so at once, and their steps would leave others no time: so it is a server that deletes the rest.
#[tokio::test]
async fn who_deletes_their_own_account_leaves_the_rest_to_a_server() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    fill(&service, id).await;
    let there = visitors(&service);
    app.delete_account(person(&ada)).await.unwrap();
    assert!(visitors(&service) >= there, "the request has erased some");
    let refused = app.change_name(person(&ada), "Eve").await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    app.empty_all().await.unwrap();
    for table in TABLES {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
    assert_eq!(visitors(&service), 0);
}

/// The first step alone: the user is locked out, and a server deletes the rest.
#[tokio::test]
async fn a_deletion_that_was_interrupted_is_gone_on_with_by_a_server() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    fill(&service, id).await;
    let now = service.clock.now();
    let first = async move |sql: Sql<'_>| sql.run(user::remove(id, now)).await;
    assert_eq!(service.store.write(id, first).await.unwrap(), 1);
    let changed = app.change_name(person(&ada), "Eve").await;
    assert!(matches!(changed, Err(Error::InvalidToken)), "{changed:?}");
    let made = app.create_team("Acme").await.unwrap().id;
    let by = Actor::Person(person(&ada));
    let renamed = app.list_memberships(id, Part::one()).await;
    assert!(matches!(renamed, Err(Error::Missing { .. })), "{renamed:?}");
    let invited = app.invite(&by, made, "bo@example.com", invoicing::domain::member::Role::Viewer);
    invited.await.unwrap_err();
    app.empty_all().await.unwrap();
    for table in TABLES {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
    assert_eq!(visitors(&service), 0);
    assert_eq!(service.database().rows("\"user\" WHERE emptied_at IS NULL"), 0);
}
