//! How long a browser stays signed in.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::sign_in::Cookies;
use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::auth_code::{CODE_LIFETIME, CodeChallenge};
use invoicing::domain::session::{Device, TokenRequest};
use invoicing::domain::api_key::Scope;
use invoicing::domain::catalog::Mode;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;
use invoicing::domain::time::Clock as _;

use super::super::engine::{RANDOM_DIGEST, RANDOM_EARLY_ID, RANDOM_ID};
use super::super::support::Service;
use super::deactivation::{app_of, asked_by_app};
use super::support::{EMAIL, PASSWORD, browser, look_up, person, sign_in, with_ada};

const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test]
async fn a_session_goes_on_while_it_is_used_and_ends_after_ninety_days() {
    let (service, _) = with_ada().await;
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    let cookies = cookies.unwrap();
    for _ in 0..8 {
        service.clock.advance(11 * DAY);
        look_up(&service, &cookies).await.unwrap();
        service.app.record_uses().await.unwrap();
    }
    service.clock.advance(2 * DAY);
    let over = look_up(&service, &cookies).await;
    assert!(matches!(over, Err(Error::InvalidToken)), "{over:?}");
}

#[tokio::test]
async fn a_session_ends_after_fourteen_days_without_use_and_is_deleted() {
    let (service, ada) = with_ada().await;
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    let cookies = cookies.unwrap();
    service.clock.advance(14 * DAY);
    let over = look_up(&service, &cookies).await;
    assert!(matches!(over, Err(Error::InvalidToken)), "{over:?}");
    service.app.delete_expired().await.unwrap();
    let (browsers, _) = service.app.list_devices(ada.user.id, Part::default(), Part::default()).await.unwrap();
    assert_eq!(browsers, []);
}

#[tokio::test]
async fn a_session_ends_with_its_user() {
    let (service, ada) = with_ada().await;
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    service.app.delete_user(ada.user.id).await.unwrap();
    let over = look_up(&service, &cookies.unwrap()).await;
    assert!(matches!(over, Err(Error::InvalidToken)), "{over:?}");
}

#[tokio::test]
async fn nothing_is_done_on_the_word_of_somebody_who_is_signed_out_meanwhile() {
    let (service, ada) = with_ada().await;
    let teams = service.app.list_memberships(ada.user.id, Part::one()).await;
    let team = teams.unwrap()[0].member.team_id;
    let person = person(&ada);
    service.app.sign_out(person.clone()).await.unwrap();
    let actor = Actor::Person(person.clone());
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    let made = service
        .app
        .create_api_key(&actor, team, mode, scope, None, None)
        .await;
    assert!(matches!(made, Err(Error::InvalidToken)), "{made:?}");
    let ended = service.app.end_other_sessions(person.clone()).await;
    assert!(matches!(ended, Err(Error::InvalidToken)), "{ended:?}");
    let password = Secret::from_text(PASSWORD);
    let changed = service.app.change_password(person, &ada, password).await;
    assert!(matches!(changed, Err(Error::InvalidToken)), "{changed:?}");
}

#[tokio::test]
async fn a_key_is_made_and_revoked_by_whoever_manages_the_team() {
    let (service, ada) = with_ada().await;
    let actor = Actor::Person(person(&ada));
    let (mode, scope) = (Mode::Test, Scope::ReadOnly);
    for (role, may) in [
        (Role::Owner, true),
        (Role::Admin, true),
        (Role::Member, false),
        (Role::Viewer, false),
    ] {
        let team = service.app.create_team("Other").await.unwrap().id;
        service.app.add_member(team, ada.user.id, role).await.unwrap();
        let create = |by: Actor| {
            let app = service.app.clone();
            async move { app.create_api_key(&by, team, mode, scope, None, None).await }
        };
        let made = create(actor.clone()).await;
        let (key, _) = create(Actor::Operator).await.unwrap();
        let revoked = service.app.revoke_api_key(&actor, key.id).await;
        match may {
            true => assert!(made.is_ok() && revoked.is_ok(), "{role}"),
            false => {
                assert!(matches!(made, Err(Error::RoleInsufficient)), "{role}");
                assert!(matches!(revoked, Err(Error::RoleInsufficient)), "{role}");
            }
        }
    }
}

#[tokio::test]
async fn to_sign_out_everywhere_else_ends_codes_that_are_not_used_yet() {
    let (service, ada) = with_ada().await;
    let uris = ["com.example.app:/signed-in".to_owned()];
    let client = service.app.create_oauth_client("app", "App", &uris).await;
    let client_id = client.unwrap().id;
    let code_verifier = Secret::base64url();
    let challenge = CodeChallenge::of(&code_verifier);
    let issued = service
        .app
        .issue_auth_code(ada.user.id, &client_id, &uris[0], challenge)
        .await
        .unwrap();
    service.app.end_other_sessions(person(&ada)).await.unwrap();
    let request = TokenRequest::AuthorizationCode {
        code: issued.code,
        code_verifier,
        redirect_uri: uris[0].clone(),
        client_id,
        device: Device {
            install_id: None,
            user_agent: None,
            client_address: None,
        },
    };
    let exchanged = service.app.exchange_token(request).await;
    assert!(matches!(exchanged, Err(Error::InvalidGrant)), "{exchanged:?}");
}

/// V5: as with apps, it is one short change.
#[tokio::test]
async fn any_number_of_browsers_is_signed_out_at_once_but_for_the_own_one() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let enter = async || sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
    let alive = async |cookies: &Cookies| match look_up(&service, cookies).await {
        Ok(_) => true,
        Err(Error::InvalidToken) => false,
        Err(error) => panic!("{error:?}"),
    };
    let first = enter().await;
    let database = service.database();
    pile_up_browsers(&service);
    let (own, last) = (enter().await, enter().await);
    let person = person(&look_up(&service, &own).await.unwrap());
    app.end_other_sessions(person.clone()).await.unwrap();
    let left = database.rows("browser_session");
    assert!(left > 600, "{left} rows: the others went at once");
    assert_eq!(
        (alive(&first).await, alive(&own).await, alive(&last).await),
        (false, true, false)
    );
    let listed = async || app.list_devices(ada.user.id, Part::default(), Part::default()).await.unwrap().0.len();
    assert_eq!(listed().await, 1);

    let next = enter().await;
    app.empty_all().await.unwrap();
    assert_eq!(database.rows("browser_session"), 2);
    assert_eq!((alive(&own).await, alive(&next).await), (true, true));
    app.end_other_sessions(person).await.unwrap();
    assert_eq!((alive(&own).await, alive(&next).await), (true, false));
    assert_eq!(listed().await, 1);
}

/// Gives every user with a browser more of them than are signed out row by row.
fn pile_up_browsers(service: &Service) {
    let columns = "user_id, created_at, signed_in_at, last_used_at";
    while service.database().rows("browser_session") < 1_200 {
        service.database().change(&format!(
            "INSERT INTO browser_session (id, digest, {columns}) \
             SELECT {RANDOM_EARLY_ID}, {RANDOM_DIGEST}, {columns} FROM browser_session"
        ));
    }
}

/// S19: nor does a code that a browser has approved start the session of an app after that browser's end.
#[tokio::test]
async fn a_code_is_worthless_once_the_browser_that_approved_it_has_ended() {
    for how in ["ended by another", "signed out", "password changed"] {
        let (service, ada) = with_ada().await;
        let app = &service.app;
        let request = asked_by_app(app, ada.user.id).await;
        let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
        let thief = look_up(&service, &cookies.unwrap()).await.unwrap();
        app.approve_authorization(person(&thief), &request).await.unwrap();
        assert_eq!(service.database().rows("auth_code"), 1, "{how}");
        match how {
            "ended by another" => app.end_browser_session(person(&ada), thief.session.id).await.unwrap(),
            "signed out" => app.sign_out(person(&thief)).await.unwrap(),
            _ => {
                let password = Secret::from_text("pear-tulip-nine-harbour");
                app.change_password(person(&ada), &ada, password).await.map(drop).unwrap();
            }
        }
        assert_eq!(service.database().rows("auth_code"), 0, "{how}");
    }
}

/// S1: so that they can be deleted together when the user signs out.
#[tokio::test]
async fn the_newest_20_codes_that_a_user_has_approved_are_kept() {
    let (service, ada) = with_ada().await;
    let request = asked_by_app(&service.app, ada.user.id).await;
    for _ in 0..25 {
        service.clock.advance(Duration::from_secs(1));
        service.app.approve_authorization(person(&ada), &request).await.unwrap();
    }
    let newest = service.clock.now().after(CODE_LIFETIME).before(Duration::from_secs(19));
    let newest = format!("auth_code WHERE expires_at >= {}", newest.as_millis());
    let kept = ["auth_code", &newest].map(|rows| service.database().rows(rows));
    assert_eq!(kept, [20, 20]);
}

/// What a clock has dated that was ahead counts as the oldest.
#[tokio::test]
async fn codes_that_were_approved_while_the_clock_was_ahead_make_room_for_new_ones() {
    let (service, ada) = with_ada().await;
    let request = asked_by_app(&service.app, ada.user.id).await;
    let approve = async || {
        let approved = service.app.approve_authorization(person(&ada), &request);
        approved.await.unwrap();
    };
    let right = service.clock.now();
    service.clock.advance(Duration::from_secs(5));
    for _ in 0..20 {
        approve().await;
    }
    service.clock.set(right);
    approve().await;
    let new = right.after(CODE_LIFETIME).as_millis();
    let kept = ["auth_code".to_owned(), format!("auth_code WHERE expires_at = {new}")];
    assert_eq!(kept.map(|rows| service.database().rows(&rows)), [20, 1]);
}

/// W41: an action in a session that is ending happens before the end, or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_done_in_a_browser_behind_the_end_of_its_session() {
    let (service, ada) = with_ada().await;
    let request = Arc::new(asked_by_app(&service.app, ada.user.id).await);
    let enter = async || {
        let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
        person(&look_up(&service, &cookies.unwrap()).await.unwrap())
    };
    for round in 0..8 {
        let (thief, own) = (enter().await, enter().await);
        pile_up_browsers(&service);
        let busy = (0..4).map(|_| {
            let (app, thief) = (Arc::clone(&service.app), thief.clone());
            let request = Arc::clone(&request);
            tokio::spawn(async move {
                while app.approve_authorization(thief.clone(), &request).await.is_ok() {}
            })
        });
        let busy: Vec<_> = busy.collect();
        service.app.end_other_sessions(own).await.unwrap();
        for busy in busy {
            busy.await.unwrap();
        }
        let codes = service.database().rows("auth_code");
        assert_eq!(codes, 0, "codes were issued behind the end, in round {round}");
    }
}

/// Of two browsers that sign all others out at once, the later one is signed out, and does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_who_sign_everybody_else_out_one_stays() {
    let (service, ada) = with_ada().await;
    let enter = async || {
        let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
        person(&look_up(&service, &cookies.unwrap()).await.unwrap())
    };
    // As two replicas: within one, the changes of a user take turns.
    let apps = [Arc::clone(&service.app), Arc::new(service.another().await)];
    for round in 0..10 {
        let people = [enter().await, enter().await];
        pile_up_browsers(&service);
        let ending = people.clone().into_iter().zip(apps.clone()).map(|(person, app)| {
            tokio::spawn(async move { app.end_other_sessions(person).await.is_ok() })
        });
        let ending: Vec<_> = ending.collect();
        let mut stays = Vec::new();
        for (person, ending) in people.iter().zip(ending) {
            if ending.await.unwrap() {
                stays.push(person.session_id);
            }
        }
        assert_eq!(stays.len(), 1, "in round {round}");
        let (listed, _) = service.app.list_devices(ada.user.id, Part::default(), Part::default()).await.unwrap();
        let listed: Vec<_> = listed.iter().map(|it| it.id).collect();
        assert_eq!(listed, stays, "in round {round}");
    }
}

#[tokio::test]
async fn a_session_that_is_ended_is_told_of_once_and_none_is_not() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let told = async || {
        let events = app.list_own_events(ada.user.id, Part::default()).await.unwrap();
        let all = [Action::EndBrowserSession, Action::EndSession, Action::SignOut];
        all.map(|action| events.iter().filter(|it| it.action == action).count())
    };
    let another = async || {
        let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
        look_up(&service, &cookies.unwrap()).await.unwrap().session
    };
    app.end_other_sessions(person(&ada)).await.unwrap();
    assert_eq!(told().await, [0, 0, 0]);

    let other = another().await;
    app_of(app, ada.user.id).await;
    let (browsers, apps) = app.list_devices(ada.user.id, Part::default(), Part::default()).await.unwrap();
    let browsers: Vec<_> = browsers.iter().map(|it| it.id).collect();
    assert_eq!((browsers, apps.len()), (vec![other.id, ada.session.id], 1));
    app.end_browser_session(person(&ada), other.id).await.unwrap();
    let again = app.end_browser_session(person(&ada), other.id).await;
    assert!(matches!(again, Err(Error::Missing { .. })), "{again:?}");
    assert_eq!(told().await, [1, 0, 0]);

    another().await;
    app.end_other_sessions(person(&ada)).await.unwrap();
    assert_eq!(told().await, [2, 1, 0]);
    let (browsers, apps) = app.list_devices(ada.user.id, Part::default(), Part::default()).await.unwrap();
    assert_eq!((browsers.len(), apps.len()), (1, 0));

    for _ in 0..2 {
        app.sign_out(person(&ada)).await.unwrap();
        assert_eq!(told().await, [2, 1, 1]);
    }
}

/// A thief who signs in again and again shows up in the export, and cannot prevent the user from ending
/// all of it.
#[tokio::test]
async fn of_any_number_of_browsers_ten_thousand_are_exported_and_all_are_signed_out() {
    let (service, ada) = with_ada().await;
    let database = service.database();
    let columns = "user_id, user_agent, created_at, signed_in_at, last_used_at";
    let mut rows = 1;
    while rows < 10_001 {
        let more = rows.min(10_001 - rows);
        database.change(&format!(
            "INSERT INTO browser_session (id, digest, {columns}) \
             SELECT {RANDOM_ID}, {RANDOM_DIGEST}, {columns} FROM browser_session LIMIT {more}"
        ));
        rows += more;
    }
    let told = service.app.export_user(ada.user.id).await.unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["browsers"].as_array().unwrap().len(), 10_000);
    assert_eq!(told["moreBrowsers"], true);
    let user_id = ada.user.id;
    service.app.revoke_sessions_of_user(user_id).await.unwrap();
    assert_eq!(database.rows("browser_session"), 0);
}
