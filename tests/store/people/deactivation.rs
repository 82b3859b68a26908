//! Deactivated users (docs/decisions.md, X62): one test for each way in. That the pages reveal no more is tested
//! in `tests/pages/deactivated.rs`.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::auth_code::{CodeChallenge, IssuedAuthCode};
use invoicing::domain::authorization::{AuthorizationParameters, AuthorizationRequest, Ruling};
use invoicing::domain::id::{TeamId, UserId};
use invoicing::domain::identity::Claims;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::secret::Secret;
use invoicing::domain::session::{Device, TokenRequest, TokenSet};
use invoicing::domain::time::Clock as _;
use invoicing::domain::ways_to_sign_in::SwitchedOn;
use invoicing::store::{Sql, user};

use super::super::signed_in::{actor, assert_last_owner, assert_may_not, assert_no_link, join, new_user};
use super::super::support::{ORIGIN, Service, live_key, mailing, plain, STRANGER};
use super::passkey::{ask_to_add, enter, with_passkey};
use super::support::{EMAIL, PASSWORD, browser, look_up, person, sign_in, with_ada};

const URI: &str = "com.example.app:/signed-in";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

#[track_caller]
fn deactivated<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Deactivated)), "{result:?}");
}

#[track_caller]
fn not_signed_in<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::InvalidToken)), "{result:?}");
}

/// Deactivates a user and nothing more, like a command that is killed after its first step.
async fn interrupted(service: &Service, id: UserId) {
    let now = service.clock.now();
    let first = async move |sql: Sql<'_>| sql.run(user::set_deactivated(id, Some(now))).await;
    assert_eq!(service.store.write(id, first).await.unwrap(), 1);
}

async fn team_of(app: &App, id: UserId) -> TeamId {
    let teams = app.list_memberships(id, Part::one()).await;
    teams.unwrap()[0].member.team_id
}

async fn client(app: &App) -> ClientId {
    let uris = [URI.to_owned()];
    let made = app.create_oauth_client("app", "App", &uris);
    made.await.unwrap().id
}

pub(super) async fn issue(app: &App, id: UserId) -> Result<IssuedAuthCode, Error> {
    let challenge = CodeChallenge::of(&Secret::from_text(VERIFIER));
    app.issue_auth_code(id, &ClientId::new("app"), URI, challenge)
        .await
}

async fn exchange(app: &App, code: Secret) -> Result<TokenSet, Error> {
    let request = TokenRequest::AuthorizationCode {
        code,
        code_verifier: Secret::from_text(VERIFIER),
        redirect_uri: URI.into(),
        client_id: ClientId::new("app"),
        device: Device::default(),
    };
    app.exchange_token(request).await
}

async fn refresh(app: &App, tokens: &TokenSet) -> Result<TokenSet, Error> {
    let request = TokenRequest::RefreshToken {
        refresh_token: tokens.refresh_token.clone(),
        client_id: ClientId::new("app"),
        device: Device::default(),
    };
    app.exchange_token(request).await
}

/// An app in which a user is signed in.
pub(super) async fn app_of(app: &App, id: UserId) -> TokenSet {
    client(app).await;
    let code = issue(app, id).await.unwrap().code;
    exchange(app, code).await.unwrap()
}

#[tokio::test]
async fn a_password_lets_nobody_in_and_only_the_right_one_is_told_why() {
    let (service, ada) = with_ada().await;
    service.app.deactivate_user(ada.user.id).await.unwrap();
    deactivated(sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await);
    for (email, password) in [(EMAIL, "wrong"), ("nobody@example.com", PASSWORD)] {
        let refused = sign_in(&service, email, password, browser("192.0.2.2")).await;
        assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    }
    service.app.activate_user(ada.user.id).await.unwrap();
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    look_up(&service, &cookies.unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_passkey_lets_nobody_in_and_only_a_good_one_is_told_why() {
    let (service, ada, mut passkey) = with_passkey().await;
    service.app.deactivate_user(ada.user.id).await.unwrap();
    deactivated(enter(&service.app, &passkey).await);
    passkey.is_verified = false;
    let refused = enter(&service.app, &passkey).await;
    assert!(matches!(refused, Err(Error::PasskeyRefused)), "{refused:?}");
    passkey.is_verified = true;
    service.app.activate_user(ada.user.id).await.unwrap();
    enter(&service.app, &passkey).await.unwrap();
}

#[tokio::test]
async fn the_provider_lets_nobody_in_neither_by_an_identity_nor_by_a_proven_email() {
    let service = Service::new().await;
    let app = App::new(service.store.clone(), service.clock.clone(), ORIGIN).await;
    let app = app.unwrap().signing_in_by(SwitchedOn {
        password: true,
        relying_party: None,
        issuer: Some("https://accounts.example.com".into()),
    });
    let claims = || Claims {
        signed_in_at: None,
        issuer: "https://accounts.example.com".into(),
        subject: "ada".into(),
        email: Some(EMAIL.into()),
        email_verified: true,
        name: None,
    };
    let id = app.create_user(EMAIL, "Ada").await.unwrap().id;
    let enter = async || app.sign_in_by_provider(claims(), browser("192.0.2.1")).await;
    app.deactivate_user(id).await.unwrap();
    deactivated(enter().await);
    assert_eq!(app.list_identities(id).await.unwrap(), []);
    app.activate_user(id).await.unwrap();
    enter().await.unwrap();
    app.deactivate_user(id).await.unwrap();
    deactivated(enter().await);
    app.activate_user(id).await.unwrap();
    enter().await.unwrap();
}

#[tokio::test]
async fn a_link_to_reset_the_password_ends_and_none_is_printed() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    let link = app.create_reset_link(id).await.unwrap().secret;
    app.deactivate_user(id).await.unwrap();
    assert_no_link(app.get_reset_link(&link).await);
    let password = || Secret::from_text("another lantern harbour");
    let reset = app.reset_password(&link, password(), browser("192.0.2.1"));
    assert_no_link(reset.await);
    deactivated(app.create_reset_link(id).await);
    app.activate_user(id).await.unwrap();
    assert_no_link(app.get_reset_link(&link).await);
    app.create_reset_link(id).await.unwrap();
}

/// The request is answered before the account is looked up, so the answer reveals nothing.
#[tokio::test]
async fn no_link_to_reset_the_password_is_mailed() {
    let (service, mail) = Service::mailing().await;
    let team = service.team().await;
    let ada = join(&service.app, team, EMAIL, Role::Owner).await;
    service.app.deactivate_user(ada.user_id).await.unwrap();
    let other = Arc::new(mailing(service.another().await, &mail));
    other.ask_for_reset(EMAIL, STRANGER).unwrap();
    other.finish_mail().await;
    assert_eq!(mail.waiting().await, None);
    service.app.activate_user(ada.user_id).await.unwrap();
    service.app.ask_for_reset(EMAIL, STRANGER).unwrap();
    assert_eq!(mail.next().await.to, [EMAIL]);
}

#[tokio::test]
async fn a_link_to_a_new_email_ends() {
    let (service, mail) = Service::mailing().await;
    let team = service.team().await;
    let ada = join(&service.app, team, EMAIL, Role::Owner).await;
    let app = &service.app;
    app.ask_for_email_change(ada.clone(), "ada@example.org").await.unwrap();
    let link = mail.next().await.link(ORIGIN).unwrap();
    let link = Secret::from_text(link.rsplit('/').next().unwrap());
    app.deactivate_user(ada.user_id).await.unwrap();
    not_signed_in(app.change_email(ada.clone(), &link).await);
    app.activate_user(ada.user_id).await.unwrap();
    assert_eq!(app.find_email_change(ada.user_id).await.unwrap(), None);
}

#[tokio::test]
async fn an_invitation_makes_no_way_around_it() {
    let (service, ada) = with_ada().await;
    let (app, other) = (&service.app, service.app.create_team("Other").await.unwrap().id);
    app.deactivate_user(ada.user.id).await.unwrap();
    // The email stays taken.
    let taken = app.create_user(EMAIL, "Another").await;
    assert!(matches!(taken, Err(Error::Refused(_))), "{taken:?}");
    let invited = app.invite(&Actor::Operator, other, EMAIL, Role::Owner).await;
    let link = invited.unwrap().secret;
    assert_no_link(app.join_as_new(new_user(&link)).await);
    not_signed_in(app.join_as_user(person(&ada), &link).await);
    // It waits for its recipient.
    app.activate_user(ada.user.id).await.unwrap();
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    let ada = look_up(&service, &cookies.unwrap()).await.unwrap();
    assert_eq!(app.join_as_user(person(&ada), &link).await.unwrap(), other);
}

#[tokio::test]
async fn an_invitation_that_they_have_made_waits_until_they_are_active_again() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let team = team_of(app, ada.user.id).await;
    let by = Actor::Person(person(&ada));
    let invited = app.invite(&by, team, "bo@example.com", Role::Owner).await;
    let link = invited.unwrap().secret;
    app.deactivate_user(ada.user.id).await.unwrap();
    assert_no_link(app.get_invitation(&link).await);
    assert_no_link(app.join_as_new(new_user(&link)).await);
    assert_eq!(app.list_invitations(team).await.unwrap(), []);
    // It is not to be replaced by those who could not withdraw it.
    let carl = join(app, team, "carl@example.com", Role::Admin).await;
    assert_may_not(app.invite(&actor(&carl), team, "bo@example.com", Role::Viewer).await);
    app.activate_user(ada.user.id).await.unwrap();
    assert_eq!(app.list_invitations(team).await.unwrap().len(), 1);
    app.join_as_new(new_user(&link)).await.unwrap();
}

#[tokio::test]
async fn sessions_end_at_once_in_browsers_and_apps_and_do_not_come_back() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
    let tokens = app_of(app, id).await;
    let code = issue(app, id).await.unwrap().code;
    app.deactivate_user(id).await.unwrap();
    let refused = async || {
        not_signed_in(look_up(&service, &cookies).await);
        not_signed_in(app.authenticate_access_token(&tokens.access_token).await);
        let refreshed = refresh(app, &tokens).await;
        assert!(matches!(refreshed, Err(Error::InvalidGrant)), "{refreshed:?}");
        let exchanged = exchange(app, code.clone()).await;
        assert!(matches!(exchanged, Err(Error::InvalidGrant)), "{exchanged:?}");
        not_signed_in(app.change_name(person(&ada), "Eve").await);
        let session = app.end_session(person(&ada), uuid::Uuid::nil().into());
        not_signed_in(session.await);
    };
    refused().await;
    deactivated(issue(app, id).await);
    for table in ["browser_session", "session", "access_token", "refresh_token", "auth_code"] {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
    app.activate_user(id).await.unwrap();
    refused().await;
    issue(app, id).await.unwrap();
}

/// The first step alone is enough, and an activation goes through the others.
#[tokio::test]
async fn where_it_is_interrupted_sessions_let_nobody_in_and_do_not_come_back_either() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    let cookies = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
    let tokens = app_of(app, id).await;
    interrupted(&service, id).await;
    let refused = async || {
        not_signed_in(look_up(&service, &cookies).await);
        not_signed_in(app.authenticate_access_token(&tokens.access_token).await);
        let refreshed = refresh(app, &tokens).await;
        assert!(matches!(refreshed, Err(Error::InvalidGrant)), "{refreshed:?}");
        not_signed_in(app.change_name(person(&ada), "Eve").await);
        let password = Secret::from_text(PASSWORD);
        not_signed_in(app.confirm_by_password(&ada, password, browser("192.0.2.1")).await);
    };
    assert_ne!(service.database().rows("browser_session"), 0);
    refused().await;
    app.activate_user(id).await.unwrap();
    refused().await;
    assert_eq!(service.database().rows("session"), 0);
}

/// An app's request to a user who has yet to approve it.
pub async fn asked_by_app(app: &App, user_id: UserId) -> AuthorizationRequest {
    client(app).await;
    let query = format!(
        "response_type=code&client_id=app&redirect_uri={URI}&code_challenge_method=S256\
         &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    );
    let asked = AuthorizationParameters::parse(&query);
    let ruling = app.check_authorization_request(Some(user_id), asked).await;
    match ruling.unwrap() {
        Ruling::Ask(request, _) => *request,
        other => panic!("{other:?}"),
    }
}

/// Not even for a request from before the deactivation.
#[tokio::test]
async fn an_app_that_asks_on_their_word_gets_no_code() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let request = asked_by_app(app, ada.user.id).await;
    interrupted(&service, ada.user.id).await;
    not_signed_in(app.approve_authorization(person(&ada), &request).await);
}

#[tokio::test]
async fn a_passkey_confirms_no_session_of_theirs() {
    let (service, ada, passkey) = with_passkey().await;
    let app = Arc::clone(&service.app);
    let asked = app.ask_to_confirm(&ada).await.unwrap().unwrap();
    let answer = super::passkey::answer(&asked, passkey.sign(&asked.options));
    interrupted(&service, ada.user.id).await;
    not_signed_in(app.confirm_by_passkey(&ada, &answer, browser("192.0.2.1")).await);
    let asked = ask_to_add(&app, &ada).await;
    let (_, credential) = test_support::passkey::Passkey::make(&asked.options, super::passkey::ORIGIN);
    let answer = super::passkey::answer(&asked, credential);
    not_signed_in(app.add_passkey(person(&ada), "Another", &answer).await);
}

#[tokio::test]
async fn memberships_and_keys_stay_and_activation_gives_them_back() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    let team = team_of(app, id).await;
    let (_, key) = live_key(app, team).await.unwrap();
    let (user, _) = app.deactivate_user(id).await.unwrap();
    assert_eq!(user.deactivated_at, Some(service.clock.now()));
    assert_eq!(app.get_user(id.into()).await.unwrap(), user);
    assert_eq!(app.list_users(Part::default()).await.unwrap(), [user]);
    assert_eq!(app.membership(team, id).await.unwrap(), Role::Owner);
    let key = app.authenticate_api_key(key.reveal()).await.unwrap();
    app.create_product(&key, plain("A"), None).await.unwrap();
    let user = app.activate_user(id).await.unwrap();
    assert_eq!(user.deactivated_at, None);
    assert_eq!(app.membership(team, id).await.unwrap(), Role::Owner);
}

#[tokio::test]
async fn it_is_done_once_and_told_once() {
    let (service, ada) = with_ada().await;
    let (app, id) = (&service.app, ada.user.id);
    // Activating an active user changes nothing.
    app.activate_user(id).await.unwrap();
    app.change_name(person(&ada), "Ada L.").await.unwrap();
    let (first, _) = app.deactivate_user(id).await.unwrap();
    service.clock.advance(Duration::from_secs(60));
    let (again, _) = app.deactivate_user(id).await.unwrap();
    assert_eq!(first, again);
    app.activate_user(id).await.unwrap();
    let events = app.list_audit_events(None, Part::default()).await.unwrap();
    let told: Vec<_> = events.iter().map(|it| (it.action, it.actor, it.subject)).collect();
    let by_operator = |action| (action, None, Some(id.0));
    let expected = [Action::ActivateUser, Action::DeactivateUser].map(by_operator);
    assert_eq!(told[..2], expected);
    let often = told.iter().filter(|it| expected.contains(it)).count();
    assert_eq!(often, 2);
    let nobody = UserId(uuid::Uuid::nil());
    for unknown in [
        app.deactivate_user(nobody).await.map(drop),
        app.activate_user(nobody).await.map(drop),
    ] {
        assert!(matches!(unknown, Err(Error::Missing { noun: "user", .. })));
    }
}

#[tokio::test]
async fn the_operator_learns_which_teams_have_no_active_owner_now() {
    let (service, ada) = with_ada().await;
    let app = &service.app;
    let team = team_of(app, ada.user.id).await;
    let ben = join(app, team, "ben@example.com", Role::Owner).await;
    let (_, teams) = app.deactivate_user(ben.user_id).await.unwrap();
    assert_eq!(teams, []);
    // W24: a deactivated owner does not count as another owner.
    let carl = join(app, team, "carl@example.com", Role::Member).await;
    assert_last_owner(app.remove_member(&Actor::Person(person(&ada)), team, ada.user.id, false).await);
    let (_, teams) = app.deactivate_user(ada.user.id).await.unwrap();
    let ids: Vec<_> = teams.iter().map(|it| it.id).collect();
    assert_eq!(ids, [team]);
    let (_, teams) = app.deactivate_user(carl.user_id).await.unwrap();
    assert_eq!(teams, []);
}

/// A change in one of their sessions is finished by the time the command returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_of_theirs_is_changed_once_the_command_has_returned() {
    let (service, _) = with_ada().await;
    for round in 0..5 {
        let team = service.team().await;
        let email = format!("bo-{round}@example.com");
        let bo = join(&service.app, team, &email, Role::Owner).await;
        let (app, by) = (Arc::clone(&service.app), bo.clone());
        let busy = tokio::spawn(async move {
            for number in 0.. {
                if app.change_name(by.clone(), &format!("Bo {number}")).await.is_err() {
                    break;
                }
            }
        });
        service.app.deactivate_user(bo.user_id).await.unwrap();
        let then = service.app.get_user(bo.user_id.into()).await.unwrap();
        busy.await.unwrap();
        assert_eq!(service.app.get_user(bo.user_id.into()).await.unwrap(), then);
    }
}

