//! How users of the crate test their own code: against mocks of the feature `mock`.

use invoicing_client::mock::httpmock::MockServer;
use invoicing_client::mock::{catalog, mobile};
use invoicing_client::openapi::catalog::types::{CreateProduct, ErrorResponse, ProductResponse};
use invoicing_client::{Client, Code, Error, RetryPolicy};
use serde::de::DeserializeOwned;
use serde_json::json;

const ID: &str = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";

/// A value of the documents, given as JSON.
fn of<T: DeserializeOwned>(value: serde_json::Value) -> T {
    // Through text, since a decimal keeps its literal.
    serde_json::from_str(&value.to_string()).unwrap()
}

fn product(name: &str, price: &str) -> ProductResponse {
    let text = format!(
        r#"{{ "data": {{
            "id": "{ID}", "name": "{name}", "unitPrice": {price}, "currency": "EUR",
            "description": null, "sku": null, "taxRate": null, "status": "active",
            "createdAt": "2026-11-20T21:49:00.123Z", "updatedAt": "2026-11-20T21:49:00.123Z"
        }} }}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn client(server: &MockServer) -> Client {
    Client::builder(server.base_url())
        .api_key("inv_test_key")
        .access_token("access-0")
        .retry(RetryPolicy::off())
        .build()
        .unwrap()
}

fn error(kind: &str, code: &str) -> ErrorResponse {
    of(json!({ "error": { "type": kind, "code": code, "message": "no", "request_id": ID } }))
}

#[tokio::test]
async fn a_mock_expects_and_answers_in_the_types_of_the_documents() {
    use catalog::MockServerExt as _;
    let server = MockServer::start_async().await;
    let body: CreateProduct = of(json!({ "name": "Tea", "unitPrice": 0.1, "currency": "EUR" }));
    let product = product("Tea", "0.1");
    let mock = server.create_product(|when, then| {
        when.body(&body);
        then.created(&product)
            .into_inner()
            .header("location", format!("/api/v1/products/{ID}"));
    });
    let created = client(&server)
        .products()
        .create("Tea", "0.1", "EUR")
        .send();
    assert_eq!(created.await.unwrap(), product.data);
    mock.assert();
}

#[tokio::test]
async fn a_mock_answers_a_price_as_it_was_written() {
    use catalog::MockServerExt as _;
    let server = MockServer::start_async().await;
    let price = "123456789.012345678901234567890";
    let product = product("Tea", price);
    server.get_product(|_, then| {
        then.ok(&product);
    });
    let read = client(&server).products().get(ID).send().await.unwrap();
    assert_eq!(read.unit_price.to_string(), price);
}

#[tokio::test]
async fn an_error_is_met_as_it_would_be_in_earnest() {
    use catalog::MockServerExt as _;
    let server = MockServer::start_async().await;
    server.list_products(|_, then| {
        then.too_many_requests(&error("rate_limit_error", "rate_limit_exceeded"))
            .into_inner()
            .header("retry-after", "7");
    });
    match client(&server).products().list().send().await {
        Err(Error::Api(error)) => {
            assert_eq!(error.code, Code::RateLimitExceeded);
            assert_eq!(error.retry_after.map(|it| it.as_secs()), Some(7));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_mobile_api_is_mocked_too() {
    use mobile::MockServerExt as _;
    let server = MockServer::start_async().await;
    let mock = server.list_links(|when, then| {
        when.id(&of(json!(ID)));
        then.not_found(&of(json!(error("not_found_error", "item_not_found"))));
    });
    let links = client(&server).links().list(ID, "file", ID).send().await;
    assert!(matches!(links, Err(Error::Api(error)) if error.code == Code::ItemNotFound));
    mock.assert();
}
