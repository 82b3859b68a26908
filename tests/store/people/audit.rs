//! The audit: each change, by whom and from where, and no secret.

use std::time::Duration;

use invoicing::app::sign_in::Browser;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::Mode;
use invoicing::domain::id::UserId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::Error;
use invoicing::domain::secret::Secret;

use super::super::support::Service;
use super::support::{PASSWORD, browser, person, with_ada};

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
    // It is revoked only once.
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

    // Actions outside of teams are in no team's list; a sign-in is only in the user's own.
    let all = service.app.list_audit_events(None, Part::default()).await.unwrap();
    let actions: Vec<_> = all.iter().map(|it| it.action).collect();
    assert_eq!(actions[2..], [Action::SetUp, Action::PrintSetUpLink]);
    let own = service.app.list_sign_ins(ada.user.id).await.unwrap();
    assert_eq!(own[0].action, Action::SignIn);
    let text = format!("{all:?}");
    for kept in [secret.reveal(), PASSWORD, "ada@example.com", "Ada"] {
        assert!(!text.contains(kept), "{kept}: {text}");
    }
}

#[tokio::test]
async fn who_signs_in_in_the_browser_of_another_signs_that_one_out() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let bo = user(&service, "bo").await;
    let in_browser_of_ada = || Browser {
        session: Some(ada.clone()),
        ..browser("192.0.2.1")
    };
    let link = app.create_reset_link(bo).await.unwrap().secret;
    let password = Secret::from_text(PASSWORD);
    app.reset_password(&link, password, in_browser_of_ada()).await.unwrap();
    let signed_out = async || {
        let own = app.list_own_events(ada.user.id, Part::default()).await.unwrap();
        let all = own.iter().filter(|it| it.action == Action::SignOut);
        all.map(|it| it.subject).collect::<Vec<_>>()
    };
    assert_eq!(signed_out().await, [Some(ada.session.id.0)]);
    // It has already ended, and is not ended a second time.
    let link = app.create_reset_link(bo).await.unwrap().secret;
    let password = Secret::from_text("another harbour tulip nine");
    app.reset_password(&link, password, in_browser_of_ada()).await.unwrap();
    assert_eq!(signed_out().await.len(), 1);
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
    let told: Vec<_> = events.unwrap().iter().map(|it| it.action).collect();
    assert_eq!(told, [Action::CreateTeam]);
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

#[tokio::test]
async fn the_operator_deletes_a_user_even_the_last_owner_and_the_audit_says_so() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let teams = app.list_memberships(ada.user.id, Part::one()).await;
    let team = teams.unwrap()[0].member.team_id;
    let bo = user(&service, "bo").await;
    app.add_member(team, bo, Role::Member).await.unwrap();
    let refused = app.delete_account(person(&ada)).await;
    assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    app.delete_user(ada.user.id).await.unwrap();
    let left = app.list_memberships(bo, Part::one()).await.unwrap();
    assert_eq!(left[0].member.team_id, team);
    let events = app.list_audit_events(None, Part::default()).await.unwrap();
    let told = events.iter().find(|it| it.action == Action::DeleteAccount).unwrap();
    assert_eq!((told.actor, told.subject), (None, Some(ada.user.id.0)));
    let of_ada = events.iter().filter(|it| it.actor == Some(ada.user.id));
    for event in of_ada {
        assert_eq!((&event.client_address, &event.user_agent), (&None, &None), "{event:?}");
    }
}

#[tokio::test]
async fn what_somebody_is_called_is_looked_up_when_it_is_shown() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let teams = app.list_memberships(ada.user.id, Part::one()).await;
    let team = teams.unwrap()[0].member.team_id;
    let (bo, carl) = (user(&service, "bo").await, user(&service, "carl").await);
    let actor = Actor::Person(person(&ada));
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    let key = app.create_api_key(&actor, team, mode, scope, Some("Shop"), None);
    key.await.unwrap();
    for id in [bo, carl] {
        app.add_member(team, id, Role::Owner).await.unwrap();
    }
    let told = async || {
        let events = app.list_team_events(carl, carl, team, Part::default()).await.unwrap();
        let events = events.into_iter();
        events.map(|it| (it.actor, it.subject)).collect::<Vec<_>>()
    };
    let by_ada = |name: &str| (Some(name.to_owned()), Some("Shop".to_owned()));
    let by_operator = |name: &str| (None, Some(name.to_owned()));
    assert_eq!(told().await, [by_operator("carl"), by_operator("bo"), by_ada("Ada")]);
    app.change_name(person(&ada), "Ada L.").await.unwrap();
    app.delete_user(bo).await.unwrap();
    let nobody = (None, None);
    let removed = nobody.clone();
    assert_eq!(told().await, [removed, by_operator("carl"), nobody, by_ada("Ada L.")]);

    // A user who does not manage the team sees none of it.
    app.set_role(&Actor::Operator, team, carl, Role::Member).await.unwrap();
    let refused = app.list_team_events(carl, carl, team, Part::default()).await;
    assert!(matches!(refused, Err(Error::RoleInsufficient)), "{refused:?}");
    let refused = app.list_team_events(bo, bo, team, Part::default()).await;
    assert!(matches!(refused, Err(Error::NotAMember)), "{refused:?}");
}

async fn user(service: &Service, name: &str) -> UserId {
    let email = format!("{name}@example.com");
    service.app.create_user(&email, name).await.unwrap().id
}
