//! What calls on products send and return.

use invoicing_client::Decimal;
use invoicing_client::types::{ProductStatus, ProductType, UnitOfMeasure};

use crate::stub::{PRODUCT, Reply, Stub};
use crate::{ID, client};

async fn updated(
    change: impl FnOnce(invoicing_client::products::Update) -> invoicing_client::products::Update,
) -> String {
    let stub = Stub::example();
    change(client(&stub).products().update(ID))
        .send()
        .await
        .unwrap();
    stub.requests().remove(0).body
}

#[tokio::test]
async fn a_field_is_left_cleared_or_set() {
    assert_eq!(updated(|update| update).await, "{}");
    assert_eq!(
        updated(|update| update.clear_description().clear_sku().clear_tax_rate()).await,
        r#"{"description":null,"sku":null,"taxRate":null}"#
    );
    assert_eq!(
        updated(|update| update.description("").sku("C-2").tax_rate(0)).await,
        r#"{"description":"","sku":"C-2","taxRate":0}"#
    );
    assert_eq!(
        updated(|update| update.sku("C-2").clear_sku()).await,
        r#"{"sku":null}"#
    );
    assert_eq!(
        updated(|update| update.clear_sku().sku("C-2")).await,
        r#"{"sku":"C-2"}"#
    );
}

#[tokio::test]
async fn every_field_can_be_changed() {
    let body = updated(|update| {
        update
            .name("Coaching")
            .unit_price("125.50")
            .currency("CHF")
            .product_type(ProductType::Services)
            .unit_of_measure(UnitOfMeasure::Day)
    });
    assert_eq!(
        body.await,
        r#"{"name":"Coaching","unitPrice":125.50,"currency":"CHF","type":"SERVICES","unitOfMeasure":"day"}"#
    );
}

#[tokio::test]
async fn a_creation_sends_what_was_given_and_nothing_else() {
    let stub = Stub::example();
    let client = client(&stub);
    client
        .products()
        .create("Consulting", "120.00", "EUR")
        .send()
        .await
        .unwrap();
    let full = client
        .products()
        .create("Consulting", "120.00", "EUR")
        .description("By the hour");
    let full = full
        .sku("C-1")
        .tax_rate("8.1")
        .product_type("SERVICES")
        .unit_of_measure("hr");
    full.send().await.unwrap();
    let requests = stub.requests();
    assert_eq!(
        requests[0].body,
        r#"{"name":"Consulting","unitPrice":120.00,"currency":"EUR"}"#
    );
    assert_eq!(
        requests[1].body,
        r#"{"name":"Consulting","unitPrice":120.00,"currency":"EUR","description":"By the hour","sku":"C-1","taxRate":8.1,"type":"SERVICES","unitOfMeasure":"hr"}"#
    );
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_product_comes_back_exactly() {
    let price = "0.1000000000000000055511151231257827021182";
    let product = PRODUCT.replace("120.00", price);
    let stub = Stub::script([Reply::json(200, format!(r#"{{"data":{product}}}"#))]);
    let product = client(&stub).products().get(ID).send().await.unwrap();
    assert_eq!(product.unit_price.as_str(), price);
    assert_eq!(*product.unit_price, price.parse::<Decimal>().unwrap());
    assert_eq!(product.status, ProductStatus::Active);
    assert_eq!(product.description, None);
    assert_eq!(product.created_at.to_string(), "2026-11-20T21:49:00.123Z");
}

#[tokio::test]
async fn members_from_the_future_are_ignored() {
    let product = PRODUCT.replacen('{', r#"{"colour":"red","#, 1);
    let stub = Stub::script([Reply::json(
        200,
        format!(r#"{{"data":{product},"more":1}}"#),
    )]);
    client(&stub).products().get(ID).send().await.unwrap();
}

#[tokio::test]
async fn a_replay_is_told() {
    let stub = Stub::script([Reply::product(201).header("idempotency-replayed", "true")]);
    let call = client(&stub)
        .products()
        .create("Consulting", "120.00", "EUR");
    let response = call.send_for_response().await.unwrap();
    assert!(response.replayed());
    assert_eq!(response.status(), 201);
    assert_eq!(
        response.headers()["location"],
        format!("/api/v1/products/{ID}")
    );
    assert_eq!(response.request_id(), Some("req-1"));
    assert_eq!(response.rate_limit().unwrap().remaining, 199);
}

#[tokio::test]
async fn calls_can_be_kept_copied_and_sent_from_tasks() {
    let stub = Stub::example();
    let call = client(&stub).products().get(ID);
    let (one, other) = (tokio::spawn(call.clone().send()), tokio::spawn(call.send()));
    assert_eq!(one.await.unwrap().unwrap(), other.await.unwrap().unwrap());
}
