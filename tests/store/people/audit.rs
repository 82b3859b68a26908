//! What the audit says: with each change, by whom and from where, and no secret.

use std::time::Duration;

use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::Mode;
use invoicing::domain::list::Part;

use super::support::{PASSWORD, person, with_ada};

#[tokio::test]
async fn an_event_says_who_what_when_and_from_where() {
    let (service, ada) = with_ada().await;
    let teams = service.app.list_memberships(ada.user.id, Part::one()).await;
    let team = teams.unwrap()[0].member.team_id;
    let actor = Actor::Person(person(&ada));
    let (mode, scope) = (Mode::Live, Scope::ReadWrite);
    let create = |by: &Actor| {
        let (app, by) = (service.app.clone(), by.clone());
        async move { app.create_api_key(&by, team, mode, scope, Some("Shop"), None).await }
    };
    let (key, secret) = create(&actor).await.unwrap();
    service.app.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    // It is revoked once.
    service.app.revoke_api_key(&actor, key.id).await.unwrap();

    let events = service.app.list_audit_events(Some(team), Part::default()).await;
    let events = events.unwrap();
    let told: Vec<_> = events
        .iter()
        .map(|it| (it.action, it.actor, it.subject, it.client_address.as_deref()))
        .collect();
    let by_ada = (Some(ada.user.id), Some("192.0.2.1"));
    assert_eq!(
        told,
        [
            (Action::RevokeApiKey, None, Some(key.id.0), None),
            (Action::CreateApiKey, by_ada.0, Some(key.id.0), by_ada.1),
        ]
    );
    assert_eq!(events[1].user_agent.as_deref(), Some("Browser/1"));

    // What is done in no team is in no team's list.
    let all = service.app.list_audit_events(None, Part::default()).await.unwrap();
    let actions: Vec<_> = all.iter().map(|it| it.action).collect();
    assert_eq!(actions[2..], [Action::SetUp, Action::SignIn]);
    let text = format!("{all:?}");
    for kept in [secret.reveal(), PASSWORD, "ada@example.com", "Ada"] {
        assert!(!text.contains(kept), "{kept}: {text}");
    }
}

#[tokio::test]
async fn a_change_that_is_refused_is_no_event() {
    let (service, ada) = with_ada().await;
    let team = service.app.create_team("Other").await.unwrap().id;
    let actor = Actor::Person(person(&ada));
    let made = service
        .app
        .create_api_key(&actor, team, Mode::Live, Scope::ReadOnly, None, None);
    made.await.unwrap_err();
    let events = service.app.list_audit_events(Some(team), Part::default()).await;
    assert_eq!(events.unwrap(), []);
}

#[tokio::test]
async fn events_are_kept_for_four_hundred_days() {
    let (service, _) = with_ada().await;
    let count = async || {
        service.app.delete_expired().await.unwrap();
        let events = service.app.list_audit_events(None, Part::default()).await;
        events.unwrap().len()
    };
    service.clock.advance(Duration::from_secs(400 * 24 * 3600));
    assert_eq!(count().await, 2);
    service.clock.advance(Duration::from_secs(1));
    assert_eq!(count().await, 0);
}
