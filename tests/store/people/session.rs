//! For how long a browser is signed in.

use std::time::Duration;

use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::session::{Device, TokenRequest};
use invoicing::domain::api_key::Scope;
use invoicing::domain::catalog::Mode;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;

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
    let (browsers, _) = service.app.list_devices(ada.user.id).await.unwrap();
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
        },
    };
    let exchanged = service.app.exchange_token(request).await;
    assert!(matches!(exchanged, Err(Error::InvalidGrant)), "{exchanged:?}");
}
