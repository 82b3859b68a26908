//! Clocks that jump, both ways: time limits hold as well as the clock allows, nothing stays forever, and no caller
//! is locked out.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::audit::Actor;
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::catalog::Mode;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::product::{NewProduct, StatusFilter};
use invoicing::domain::secret::{Digest, Secret};
use invoicing::domain::session::{Device, TokenRequest, TokenSet};
use invoicing::domain::time::{ManualClock, Timestamp};
use invoicing::sqlite::Sqlite;
use tempfile::TempDir;

const START: Timestamp = Timestamp::from_millis(1_795_211_340_123);
const YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const REDIRECT_URI: &str = "com.example.app:/signed-in";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// A service on a separate file, with a clock that the test sets.
async fn service() -> (TempDir, Arc<ManualClock>, App) {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let store = Arc::new(Sqlite::open(folder.path().join("test.db")).unwrap().into());
    let app = App::new(store, clock.clone(), "https://links.example");
    (folder, clock, app.await.unwrap())
}

async fn key(app: &App, expires_in: Option<Duration>) -> (ApiKey, Secret) {
    let team = app.create_team("Acme").await.unwrap().id;
    let (mode, scope) = (Mode::Live, Scope::ReadWrite);
    let made = app.create_api_key(&Actor::Operator, team, mode, scope, None, expires_in);
    made.await.unwrap()
}

fn product(name: &str) -> NewProduct {
    NewProduct::new(name, "1".parse().unwrap(), "EUR")
}

async fn sign_in(app: &App) -> TokenSet {
    let uris = [REDIRECT_URI.to_owned()];
    app.create_oauth_client("app", "An app", &uris)
        .await
        .unwrap();
    let user = app.create_user("ada@example.com", "Ada").await.unwrap().id;
    let challenge = CodeChallenge::from_digest(Digest::of(VERIFIER.as_bytes()));
    let client_id = ClientId::new("app");
    let issued = app.issue_auth_code(user, &client_id, REDIRECT_URI, challenge);
    let code = TokenRequest::AuthorizationCode {
        code: issued.await.unwrap().code,
        code_verifier: Secret::from_text(VERIFIER),
        redirect_uri: REDIRECT_URI.into(),
        client_id,
        device: Device::default(),
    };
    app.exchange_token(code).await.unwrap()
}

async fn refresh(app: &App, token: &Secret) -> Result<TokenSet, Error> {
    let request = TokenRequest::RefreshToken {
        refresh_token: token.clone(),
        client_id: ClientId::new("app"),
        device: Device::default(),
    };
    app.exchange_token(request).await
}

#[tokio::test]
async fn products_keep_their_order_and_changes_their_direction_whatever_the_clock_does() {
    let (_folder, clock, app) = service().await;
    let (key, _) = key(&app, None).await;
    let mut made = Vec::new();
    for (number, now) in [START, START.after(YEARS), START, START.before(YEARS)]
        .into_iter()
        .enumerate()
    {
        clock.set(now);
        let product = app.create_product(&key, product(&number.to_string()), None);
        made.insert(0, product.await.unwrap().value.id);
    }
    let all = app.list_products(&key, StatusFilter::All, 10, None);
    let listed: Vec<_> = all.await.unwrap().items.iter().map(|it| it.id).collect();
    assert_eq!(listed, made);
    clock.set(START.after(YEARS));
    let mut last = Timestamp::from_millis(0);
    for now in [START.after(YEARS), START, START.before(YEARS)] {
        clock.set(now);
        let updated = app.update_product(&key, made[0], Default::default(), None);
        let updated_at = updated.await.unwrap().value.updated_at;
        assert!(updated_at > last, "{updated_at} after {last}");
        last = updated_at;
    }
}

#[tokio::test]
async fn a_revoked_key_stays_revoked_and_an_expiry_counts_by_the_clock_of_now() {
    let (_folder, clock, app) = service().await;
    let (revoked, secret) = key(&app, None).await;
    clock.set(START.after(YEARS));
    app.revoke_api_key(&Actor::Operator, revoked.id)
        .await
        .unwrap();
    let (_, short) = key(&app, Some(Duration::from_secs(60))).await;
    for now in [START, START.before(YEARS), START.after(2 * YEARS)] {
        clock.set(now);
        let refused = app.authenticate_api_key(secret.reveal()).await;
        assert!(matches!(refused, Err(Error::InvalidToken)), "{now}");
    }
    let refused = app.authenticate_api_key(short.reveal()).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
}

#[tokio::test]
async fn a_pair_sealed_by_a_clock_that_was_years_ahead_is_erased_when_it_is_right() {
    let (_folder, clock, app) = service().await;
    let first = sign_in(&app).await;
    clock.set(START.after(Duration::from_secs(3600)));
    let second = refresh(&app, &first.refresh_token).await.unwrap();
    // Back by an hour: the grace would last that much longer.
    clock.set(START);
    app.erase_successors().await.unwrap();
    let again = refresh(&app, &first.refresh_token).await;
    assert!(matches!(again, Err(Error::GrantReused(_))), "{again:?}");
    let ended = app.authenticate_access_token(&second.access_token).await;
    assert!(matches!(ended, Err(Error::InvalidToken)), "{ended:?}");
}

#[tokio::test]
async fn an_access_token_of_a_clock_years_ahead_is_worthless_once_it_is_right() {
    let (_folder, clock, app) = service().await;
    let early = sign_in(&app).await;
    clock.set(START.after(Duration::from_secs(3600 * 24)));
    let ahead = refresh(&app, &early.refresh_token).await.unwrap();
    let token = &ahead.access_token;
    app.authenticate_access_token(token).await.unwrap();
    // A small step back has no effect.
    clock.set(START.after(Duration::from_secs(3600 * 23 + 60)));
    app.authenticate_access_token(token).await.unwrap();
    clock.set(START);
    let refused = app.authenticate_access_token(token).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    // The device continues with the next pair.
    let next = refresh(&app, &ahead.refresh_token).await.unwrap();
    app.authenticate_access_token(&next.access_token)
        .await
        .unwrap();
}
