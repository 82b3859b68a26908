//! `POST /api/v1/products`

use serde_json::{Value, json};
use test_support::caller::Request;
use test_support::given;

use crate::given::{PRODUCTS, given, path, product, unique};

#[tokio::test]
async fn a_product_shows_what_was_sent_and_what_the_service_adds() {
    let given = given!(given());
    let complete = json!({
        "name": "Espresso beans ☕", "unitPrice": 18.9, "currency": "EUR",
        "description": "Dark roast", "sku": unique("BEAN"), "taxRate": 7, "type": "GOODS",
        "unitOfMeasure": "kg",
    });
    let created = given.created(&complete).await;
    for (member, value) in complete.as_object().expect("it is an object") {
        assert_eq!(&created[member], value, "{member}");
    }
    assert_eq!(created["status"], "active");
    assert_eq!(created["createdAt"], created["updatedAt"]);
}

#[tokio::test]
async fn what_is_left_out_is_null_or_absent() {
    let given = given!(given());
    let created = given.created(&product()).await;
    for member in ["description", "sku", "taxRate"] {
        assert_eq!(created.get(member), Some(&Value::Null), "{member}");
    }
    for member in ["type", "unitOfMeasure"] {
        assert_eq!(created.get(member), None, "{member}");
    }
}

#[tokio::test]
async fn location_is_the_address_of_the_product() {
    let given = given!(given());
    let create = given.live("POST", PRODUCTS).json(&product());
    let answer = given.send(create).await.expect_status(201);
    let location = answer.header("location").expect("the document requires it");
    assert_eq!(location, path(&answer.data()));
    let read = given.send(given.live("GET", location)).await;
    assert_eq!(read.data(), answer.data());
}

#[tokio::test]
async fn type_and_unit_cannot_be_null_even_on_create() {
    let given = given!(given());
    for member in ["type", "unitOfMeasure"] {
        let mut body = product();
        body[member] = Value::Null;
        let answer = given.send(given.live("POST", PRODUCTS).json(&body)).await;
        answer.expect(400, "invalid_body");
    }
}

#[tokio::test]
async fn a_sku_is_compared_exactly() {
    let given = given!(given());
    let sku = unique("sku");
    let with = |sku: &str| {
        let mut body = product();
        body["sku"] = json!(sku);
        body
    };
    given.created(&with(&sku)).await;
    given.created(&with(&sku.to_uppercase())).await;
    given.created(&with(&format!("{sku} "))).await;
    let again = given.live("POST", PRODUCTS).json(&with(&sku));
    given.send(again).await.expect(409, "duplicate_sku");
}

#[tokio::test]
async fn one_of_two_at_once_with_one_sku_is_created() {
    let given = given!(given());
    let mut body = product();
    body["sku"] = json!(unique("race"));
    let create = || given.send(given.live("POST", PRODUCTS).json(&body));
    let answers = futures::future::join_all((0..16).map(|_| create())).await;
    let created = answers
        .iter()
        .filter(|answer| answer.status() == 201)
        .count();
    let refused = answers
        .iter()
        .filter(|answer| answer.code() == "duplicate_sku")
        .count();
    assert_eq!((created, refused), (1, 15));
}

#[tokio::test]
async fn sixty_four_writers_at_once_each_get_their_own_product() {
    let given = given!(given());
    let create = |number: usize| {
        let mut body = product();
        body["sku"] = json!(unique("writer"));
        body["unitPrice"] = json!(number);
        let request = given.live("POST", PRODUCTS).json(&body);
        async move { (given_price(&body), request) }
    };
    let requests = futures::future::join_all((0..64).map(create)).await;
    let answers = requests.into_iter().map(|(price, request)| {
        let sent = given.send(request);
        async move { (price, sent.await.expect_status(201).data()) }
    });
    let products = futures::future::join_all(answers).await;
    for (price, created) in &products {
        assert_eq!(&created["unitPrice"], price);
        let read = given.send(given.live("GET", path(created))).await;
        assert_eq!(&read.data(), created);
    }
}

fn given_price(body: &Value) -> Value {
    body["unitPrice"].clone()
}

#[tokio::test]
async fn ids_increase_strictly() {
    let given = given!(given());
    let mut last = String::new();
    for _ in 0..20 {
        let id = path(&given.created(&product()).await);
        assert!(id > last, "{id} came after {last}");
        last = id;
    }
}

#[tokio::test]
async fn a_missing_content_type_counts_as_json() {
    let given = given!(given());
    let create = given.live("POST", PRODUCTS).json(&product());
    given
        .send(create.without_header("content-type"))
        .await
        .expect_status(201);
    let charset = Request::new("POST", PRODUCTS)
        .bearer(&given.team.live)
        .json(&product());
    let charset = charset.without_header("content-type");
    let charset = charset.header("content-type", "application/json; charset=utf-8");
    given.send(charset).await.expect_status(201);
}
