//! The client crate against the real service: what its own tests assert with a stub holds here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use futures::{StreamExt as _, TryStreamExt as _};
use invoicing_client::types::{CurrencyCode, ProductStatus, ProductType, UnitOfMeasure};
use invoicing_client::{Client, Code, Error, OAuthCode, Pkce, Session, SessionStore};
use test_support::deployment::Skip;
use test_support::service::{CODE_VERIFIER, Device, Service, Team};

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// A service, a team, and the client of its live key.
struct Given {
    service: Service,
    team: Team,
    client: Client,
}

fn given() -> Result<Given, Skip> {
    let service = Service::own(BINARY, &[])?;
    let team = service.team()?;
    let client = client(&service, &team.live);
    Ok(Given {
        service,
        team,
        client,
    })
}

fn client(service: &Service, key: &str) -> Client {
    let builder = Client::builder(service.caller.base_url()).api_key(key);
    builder.build().expect("the base URL and the key are fine")
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    match result {
        Err(Error::Api(error)) => {
            assert!(!error.request_id.is_empty());
            error.code
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_product_lives_from_creation_to_archive() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let products = given.client.products();
    let price = "0.1000000000000000000000000000000000000001";
    let created = products
        .create("Consulting", price, CurrencyCode::Eur)
        .description("By the hour")
        .sku("C-1")
        .tax_rate("8.1")
        .product_type(ProductType::Services)
        .unit_of_measure(UnitOfMeasure::Hr)
        .send()
        .await?;
    assert_eq!(created.unit_price.as_str(), price);
    assert_eq!(products.get(created.id).send().await?, created);

    let updated = products
        .update(created.id)
        .name("Coaching")
        .clear_tax_rate()
        .send()
        .await?;
    assert_eq!(updated.name.as_str(), "Coaching");
    assert_eq!((updated.tax_rate, updated.sku), (None, created.sku));
    assert!(updated.updated_at > created.updated_at);

    let twice = products.create("Other", 1, "EUR").sku("C-1").send().await;
    assert_eq!(code(twice), Code::DuplicateSku);
    products.archive(created.id).send().await?;
    assert_eq!(
        code(products.archive(created.id).send().await),
        Code::AlreadyArchived
    );
    let archived = products.get(created.id).send().await?;
    assert_eq!(archived.status, ProductStatus::Archived);
    assert_eq!(products.stream().count().await, 0);
    Ok(())
}

#[tokio::test]
async fn a_key_given_twice_is_executed_once() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let products = given.client.products();
    let call = products.create("Consulting", "120.00", "EUR");
    let call = call.idempotency_key("row-1");
    let first = call.clone().send_for_response().await?;
    let second = call.send_for_response().await?;
    assert_eq!((first.replayed(), second.replayed()), (false, true));
    assert_eq!(first.value, second.value);
    assert_ne!(first.request_id(), second.request_id());
    assert!(first.rate_limit().is_some());
    let other = products.create("Other", 1, "EUR").idempotency_key("row-1");
    assert_eq!(code(other.send().await), Code::IdempotencyKeyReused);
    Ok(())
}

#[tokio::test]
async fn refusals_have_their_codes() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let product = given.client.products().create("x", 1, "EUR").send().await?;
    let reader = client(&given.service, &given.team.live_read_only);
    let write = reader.products().archive(product.id).send().await;
    assert_eq!(code(write), Code::ScopeInsufficient);
    let test = client(&given.service, &given.team.test);
    assert_eq!(
        code(test.products().get(product.id).send().await),
        Code::ProductNotFound
    );
    let nobody = client(&given.service, "inv_live_nonsense");
    assert_eq!(
        code(nobody.products().list().send().await),
        Code::InvalidToken
    );
    let cursor = given.client.products().list().after("b3BhcXVl").send();
    assert_eq!(code(cursor.await), Code::InvalidQuery);
    Ok(())
}

#[tokio::test]
async fn a_stream_shows_every_product_once() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let creations = (0..25).map(|number| {
        let call = given.client.products().create("x", number, "EUR");
        call.send()
    });
    for created in join_all(creations).await {
        created?;
    }
    let list = given.client.products().list().limit(7);
    let walked: Vec<_> = list.stream().try_collect().await?;
    assert_eq!(walked.len(), 25);
    assert!(
        walked.windows(2).all(|pair| pair[0].id > pair[1].id),
        "newest first, each once"
    );
    Ok(())
}

#[tokio::test]
async fn https_to_the_port_of_plain_http_says_what_to_write() -> Result<(), Error> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let base_url = given.service.caller.base_url().replace("http:", "https:");
    let client = Client::builder(base_url).api_key("inv_live_x").build()?;
    let error = client.products().list().send().await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Transport(_)), "{text}");
    assert!(text.contains("write http:// in the base URL"), "{text}");
    Ok(())
}

#[tokio::test]
async fn pages_go_on_from_where_a_walk_stopped() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    for number in 0..7 {
        given
            .client
            .products()
            .create("x", number, "EUR")
            .send()
            .await?;
    }
    let list = given.client.products().list().limit(3);
    let mut pages = list.clone().pages();
    let first = pages.try_next().await?.expect("a page").data;
    let cursor = pages.cursor().expect("more to come").to_string();
    drop(pages);
    let rest = list.clone().after(cursor).all().await?;
    assert_eq!([first, rest].concat(), list.all().await?);
    Ok(())
}

/// Counts the sessions that it is given to save.
#[derive(Clone, Default)]
struct Saved(Arc<AtomicUsize>);

impl SessionStore for Saved {
    type Error = std::convert::Infallible;

    async fn load(&self) -> Result<Option<Session>, Self::Error> {
        Ok(None)
    }

    async fn save(&self, _: &Session) -> Result<(), Self::Error> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn forget(&self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Signs in a device with the client.
async fn signed_in(given: &Given, device: &Device) -> Result<Session, Box<dyn std::error::Error>> {
    let issued = given.service.authorization_code(device);
    let code = issued.map_err(|skip| skip.0)?;
    let (redirect_uri, client_id) = (device.redirect_uri.as_str(), device.client_id.as_str());
    let sessions = given.client.sessions();
    let exchange = sessions.exchange_code(code, CODE_VERIFIER, redirect_uri, client_id);
    Ok(exchange.install_id("phone-1").send().await?)
}

#[tokio::test]
async fn a_session_renews_itself_once_for_many_calls() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let device = given.service.device(&given.team).await;
    let device = device.map_err(|skip| skip.0)?;
    let mut session = signed_in(&given, &device).await?;
    let first = session.access_token.clone();
    session.expires_at -= chrono::Duration::hours(2);

    let saved = Saved::default();
    let client = given.client.with_session(session, saved.clone());
    let (team, file) = (device.team_id.as_str(), device.file_id.as_str());
    let calls = (0..16).map(|_| client.links().list(team, "file", file).send());
    for links in join_all(calls).await {
        assert!(links?.data.is_empty());
    }
    assert_eq!(saved.0.load(Ordering::SeqCst), 1);
    let mobile = client.mobile().await?;
    assert!(!format!("{mobile:?}").contains(first.as_str()));
    Ok(())
}

#[tokio::test]
async fn a_session_that_an_operator_ends_is_signed_out() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let device = given.service.device(&given.team).await;
    let device = device.map_err(|skip| skip.0)?;
    let session = signed_in(&given, &device).await?;
    let client = given.client.with_session(session, Saved::default());
    let (team, file) = (device.team_id.as_str(), device.file_id.as_str());
    client.links().list(team, "file", file).send().await?;
    let other = device.other_team_id.as_str();
    assert_eq!(
        code(client.links().list(other, "file", file).send().await),
        Code::NotAMember
    );
    assert_eq!(
        code(client.links().list(team, "folder", file).send().await),
        Code::ItemNotFound
    );

    let list = given
        .service
        .command(&["session", "list", "--user", &device.user_id]);
    for session in list
        .map_err(|skip| skip.0)?
        .as_array()
        .into_iter()
        .flatten()
    {
        let id = session["id"].as_str().unwrap_or_default();
        let revoked = given.service.command(&["session", "revoke", id]);
        revoked.map_err(|skip| skip.0)?;
    }
    let call = client.links().list(team, "file", file).send();
    assert!(matches!(call.await, Err(Error::SignedOut)));
    Ok(())
}

#[tokio::test]
async fn a_session_that_its_app_ends_is_signed_out() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let device = given.service.device(&given.team).await;
    let device = device.map_err(|skip| skip.0)?;
    let session = signed_in(&given, &device).await?;
    let (token, app) = (session.refresh_token.clone(), session.client_id.clone());
    let client = given.client.with_session(session, Saved::default());
    let (team, file) = (device.team_id.as_str(), device.file_id.as_str());
    client.links().list(team, "file", file).send().await?;
    client.sessions().revoke(&token, app).send().await?;
    let call = client.links().list(team, "file", file).send();
    assert!(matches!(call.await, Err(Error::SignedOut)));
    Ok(())
}

#[tokio::test]
async fn a_wrong_verifier_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(given) = given().map_err(|skip| skip.print()) else {
        return Ok(());
    };
    let device = given.service.device(&given.team).await;
    let device = device.map_err(|skip| skip.0)?;
    let code = given.service.authorization_code(&device);
    let code = code.map_err(|skip| skip.0)?;
    let (redirect_uri, client_id) = (device.redirect_uri.as_str(), device.client_id.as_str());
    let pkce = Pkce::generate();
    let sessions = given.client.sessions();
    let exchange = sessions.exchange_code(code, pkce.verifier(), redirect_uri, client_id);
    let Err(Error::OAuth(error)) = exchange.send().await else {
        panic!("a wrong verifier was accepted")
    };
    assert_eq!(error.code, OAuthCode::InvalidGrant);
    Ok(())
}
