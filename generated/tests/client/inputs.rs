//! What is checked before anything is sent, and what is never shown.

use invoicing_client::types::{Amount, CurrencyCode};
use invoicing_client::{Client, Decimal, Error, InMemory, Pkce};

use crate::stub::Stub;
use crate::{FILE, ID, TEAM, client};

fn field<T>(result: Result<T, Error>) -> &'static str {
    match result {
        Err(Error::InvalidRequest(error)) => error.field,
        Err(error) => panic!("{error}"),
        Ok(_) => "",
    }
}

#[tokio::test]
async fn an_input_out_of_its_schema_is_named_and_nothing_is_sent() {
    let stub = Stub::example();
    let client = client(&stub);
    let products = client.products();
    let create = |name: &str, price: &str, currency: &str| products.create(name, price, currency);
    let good = || create("Consulting", "120.00", "EUR");

    assert_eq!(field(create("", "1", "EUR").send().await), "name");
    assert_eq!(
        field(create(&"x".repeat(256), "1", "EUR").send().await),
        "name"
    );
    assert_eq!(
        field(create("x", "-0.01", "EUR").send().await),
        "unit_price"
    );
    assert_eq!(
        field(create("x", "1000000000000.01", "EUR").send().await),
        "unit_price"
    );
    assert_eq!(field(create("x", "1,50", "EUR").send().await), "unit_price");
    assert_eq!(field(create("x", "1", "eur").send().await), "currency");
    assert_eq!(field(good().sku("").send().await), "sku");
    assert_eq!(field(good().tax_rate("100.1").send().await), "tax_rate");
    assert_eq!(
        field(good().product_type("goods").send().await),
        "product_type"
    );
    assert_eq!(
        field(good().unit_of_measure("hour").send().await),
        "unit_of_measure"
    );
    assert_eq!(
        field(good().description("a\0b").send().await),
        "description"
    );
    assert_eq!(
        field(good().idempotency_key("two words").send().await),
        "idempotency_key"
    );
    assert_eq!(field(products.get("1").send().await), "id");
    assert_eq!(field(products.archive("1").send().await), "id");
    assert_eq!(field(products.update("1").send().await), "id");
    assert_eq!(field(products.update(ID).name("").send().await), "name");
    assert_eq!(field(products.list().limit(0).send().await), "limit");
    assert_eq!(field(products.list().limit(101).send().await), "limit");
    assert_eq!(
        field(products.list().after("not a cursor").send().await),
        "after"
    );
    assert_eq!(field(products.list().status("gone").send().await), "status");
    assert_eq!(
        field(client.links().list("1", "file", FILE).send().await),
        "team_id"
    );
    assert_eq!(
        field(client.links().list(TEAM, "files", FILE).send().await),
        "target_type"
    );
    assert_eq!(
        field(client.links().list(TEAM, "file", "1").send().await),
        "id"
    );
    let sessions = client.sessions();
    assert_eq!(
        field(sessions.refresh("", "app").send().await),
        "refresh_token"
    );
    assert_eq!(
        field(sessions.exchange_code("c", "short", "r", "a").send().await),
        "code_verifier"
    );
    assert_eq!(stub.requests().len(), 0);
}

#[tokio::test]
async fn the_first_of_several_wrong_inputs_is_reported() {
    let stub = Stub::example();
    let client = client(&stub);
    let call = client.products().create("", "-1", "EUR").sku("");
    assert_eq!(field(call.send().await), "name");
    let error = client.products().get("1").send().await.unwrap_err();
    assert!(
        error.to_string().starts_with("id is not acceptable: "),
        "{error}"
    );
}

#[tokio::test]
async fn values_are_taken_in_every_exact_form() {
    let stub = Stub::example();
    let client = client(&stub);
    let exact: Decimal = "0.1000000000000000000000000000000000000001"
        .parse()
        .unwrap();
    let amount = Amount::try_from("12.50").unwrap();
    for (call, sent) in [
        (client.products().create("x", 12, CurrencyCode::Eur), "12"),
        (client.products().create("x", "12.50", "EUR"), "12.50"),
        (client.products().create("x", amount, "EUR"), "12.50"),
        (
            client.products().create("x", exact.clone(), "EUR"),
            exact.as_str(),
        ),
        (
            client
                .products()
                .create(String::from("x"), String::from("1e3"), "EUR"),
            "1e3",
        ),
    ] {
        call.send().await.unwrap();
        let body = stub.requests().pop().unwrap().body;
        assert_eq!(
            body,
            format!(r#"{{"name":"x","unitPrice":{sent},"currency":"EUR"}}"#)
        );
    }
}

#[tokio::test]
async fn a_call_without_the_credential_that_it_needs_says_which() {
    let stub = Stub::example();
    let client = Client::builder(stub.url()).build().unwrap();
    assert_eq!(field(client.products().list().send().await), "api_key");
    assert_eq!(
        field(client.links().list(TEAM, "file", FILE).send().await),
        "access_token"
    );
    assert_eq!(field(client.mobile().await), "access_token");
    assert_eq!(stub.requests().len(), 0);
}

#[test]
fn a_base_url_is_checked_when_the_client_is_made() {
    for wrong in [
        "",
        "invoices.example",
        "/api",
        "ftp://invoices.example",
        "https://invoices.example?x=1",
        "https://invoices.example#x",
        "https://user:password@invoices.example",
    ] {
        assert_eq!(field(Client::builder(wrong).build()), "base_url", "{wrong}");
    }
    let wrong = |key: &str| field(Client::builder("http://localhost").api_key(key).build());
    assert_eq!(
        (wrong(""), wrong("a b"), wrong("a\n"), wrong("ä")),
        ("api_key", "api_key", "api_key", "api_key")
    );
    let agent = Client::builder("http://localhost")
        .user_agent("a\nb")
        .build();
    assert_eq!(field(agent), "user_agent");
}

#[tokio::test]
async fn a_base_url_may_have_a_path_and_a_slash_at_the_end() {
    let stub = Stub::example();
    for base_url in [format!("{}/", stub.url()), format!("{}/stem/", stub.url())] {
        let client = Client::builder(base_url).api_key("k").build().unwrap();
        client.products().archive(ID).send().await.unwrap();
    }
    let targets: Vec<_> = stub
        .requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    let path = format!("/api/v1/products/{ID}");
    assert_eq!(targets, [path.clone(), format!("/stem{path}")]);
}

#[tokio::test]
async fn each_api_gets_its_own_credential_and_the_token_endpoint_none() {
    let stub = Stub::example();
    let client = Client::builder(stub.url())
        .api_key("inv_test_key")
        .access_token("access-0");
    let client = client.user_agent("shop/1").build().unwrap();
    client.products().list().send().await.unwrap();
    client
        .links()
        .list(TEAM, "file", FILE)
        .send()
        .await
        .unwrap();
    client
        .sessions()
        .refresh("refresh-0", "app")
        .send()
        .await
        .unwrap();
    let requests = stub.requests();
    let sent: Vec<_> = requests
        .iter()
        .map(|request| request.header("authorization"))
        .collect();
    assert_eq!(
        sent,
        [Some("Bearer inv_test_key"), Some("Bearer access-0"), None]
    );
    assert_eq!(requests[1].header("x-team-id"), Some(TEAM));
    for request in &requests {
        let agent = request.header("user-agent").unwrap();
        assert!(agent.starts_with("shop/1 invoicing-client/"), "{agent}");
    }
}

#[tokio::test]
async fn no_debug_output_shows_a_secret() {
    const SECRET: &str = "top-secret-top-secret-top-secret-top-secret";
    let stub = Stub::start(|_| crate::stub::Reply::tokens(SECRET, SECRET));
    let builder = Client::builder(stub.url())
        .api_key(SECRET)
        .access_token(SECRET);
    let client = builder.clone().build().unwrap();
    let sessions = client.sessions();
    let exchange = sessions.exchange_code(SECRET, SECRET, "app:/in", "app");
    let response = sessions
        .refresh(SECRET, "app")
        .send_for_response()
        .await
        .unwrap();
    let session = response.value.clone();
    let signed_in = client.with_session(session.clone(), InMemory);
    let pkce = Pkce::from_verifier(SECRET);
    let shown = format!(
        "{builder:?} {client:?} {exchange:?} {:?} {response:?} {session:?} {signed_in:?} {pkce:?} \
         {:?} {:?} {:?} {:?}",
        sessions.refresh(SECRET, "app"),
        client.products().list(),
        client.catalog().unwrap(),
        client.mobile().await.unwrap(),
        invoicing_client::TokenSource::new(&client, session.clone(), InMemory),
    );
    assert!(!shown.contains("top-secret"), "{shown}");
}
