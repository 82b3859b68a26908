//! Bodies and headers as such: malformed, too large, of another kind, and the order of these
//! checks.

use std::collections::BTreeSet;

use serde_json::json;
use test_support::caller::Request;
use test_support::given;
use test_support::schema::Violation;

use crate::given::{PRODUCTS, given, product};

fn only(path: &str, constraint: &str) -> BTreeSet<Violation> {
    [Violation::new(path, constraint)].into()
}

#[tokio::test]
async fn what_is_no_json_is_malformed() {
    let given = given!(given());
    let valid = product().to_string();
    let malformed: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"{".to_vec(),
        format!("{valid} x").into_bytes(),
        format!("{valid}{valid}").into_bytes(),
        valid.replacen('{', "{\"name\":\"first\",", 1).into_bytes(),
        b"{\"name\":\"\xff\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{\"name\":\"\\ud800\"}".to_vec(),
        b"{\"unitPrice\":01}".to_vec(),
        b"{\"unitPrice\":NaN}".to_vec(),
        "[".repeat(50_000).into_bytes(),
    ];
    for body in malformed {
        let answer = given
            .send(given.live("POST", PRODUCTS).text(body.clone()))
            .await;
        let answer = answer.expect(400, "invalid_body");
        assert_eq!(answer.json()["error"]["message"], "Validation failed");
        let text = String::from_utf8_lossy(&body);
        assert_eq!(answer.violations(), only("", "json"), "{text:.60}");
    }
}

#[tokio::test]
async fn white_space_around_the_value_is_json() {
    let given = given!(given());
    let create = given
        .live("POST", PRODUCTS)
        .text(format!("\r\n\t {} \n", product()));
    given.send(create).await.expect_status(201);
}

#[tokio::test]
async fn a_body_of_64_kib_is_read_and_one_byte_more_is_not() {
    let given = given!(given());
    let body = |length: usize| {
        let valid = product().to_string();
        format!("{valid}{}", " ".repeat(length - valid.len()))
    };
    let create = given.live("POST", PRODUCTS);
    given
        .send(create.clone().text(body(65_536)))
        .await
        .expect_status(201);
    let answer = given
        .send(create.clone().text(body(65_537)))
        .await
        .expect(413, "body_too_large");
    assert_eq!(answer.violations(), only("", "maxBytes"));
    // Undeclared, the size is only discovered while reading.
    let chunked = create.streamed(body(65_537));
    given.send(chunked).await.expect(413, "body_too_large");
}

#[tokio::test]
async fn a_large_body_is_read_to_its_end_so_that_the_answer_arrives() {
    let given = given!(given());
    let large = " ".repeat(250 * 1024);
    let create = given.live("POST", PRODUCTS).text(large.clone());
    given.send(create).await.expect(413, "body_too_large");
    let stranger = Request::new("POST", PRODUCTS).text(large);
    given.send(stranger).await.expect(401, "invalid_token");
}

#[tokio::test]
async fn content_types_other_than_json_are_not_supported() {
    let given = given!(given());
    for media in [
        "text/plain",
        "application/xml",
        "application/json-patch+json",
        "nonsense",
        "",
    ] {
        let create = given
            .live("POST", PRODUCTS)
            .json(&product())
            .without_header("content-type");
        let answer = given.send(create.header("content-type", media)).await;
        let answer = answer.expect(415, "unsupported_media_type");
        assert_eq!(answer.violations(), only("", "contentType"), "{media}");
    }
}

#[tokio::test]
async fn all_violations_of_a_body_are_told_at_once() {
    let given = given!(given());
    let body = json!({
        "name": "", "unitPrice": -1, "currency": "eur", "sku": "a\0b", "taxRate": "7",
        "surprise": 1, "a/b~c": 2,
    });
    let answer = given.send(given.live("POST", PRODUCTS).json(&body)).await;
    let expected = [
        ("/name", "minLength"),
        ("/unitPrice", "minimum"),
        ("/currency", "enum"),
        ("/sku", "pattern"),
        ("/taxRate", "type"),
        ("/surprise", "additionalProperties"),
        ("/a~1b~0c", "additionalProperties"),
    ];
    let expected = expected.map(|(path, constraint)| Violation::new(path, constraint));
    assert_eq!(
        answer.expect(400, "invalid_body").violations(),
        expected.into()
    );
}

#[tokio::test]
async fn checks_run_in_one_order() {
    let given = given!(given());
    let large = "x".repeat(70_000);
    let nonsense = format!("{PRODUCTS}/nonsense?surprise=1");
    let patch = given.live("PATCH", &nonsense).header("idempotency-key", "");
    // Everything is wrong with the first, and each of the next has one mistake less.
    let first = patch.clone().text(large).without_header("content-type");
    let first = first.header("content-type", "text/plain");
    given.send(first).await.expect(413, "body_too_large");
    let second = patch.clone().text("{").without_header("content-type");
    let second = second.header("content-type", "text/plain");
    given
        .send(second)
        .await
        .expect(415, "unsupported_media_type");
    let third = patch.clone().text("{");
    given.send(third.clone()).await.expect(400, "invalid_path");
    let id = uuid::Uuid::new_v4();
    let fourth = third.target(format!("{PRODUCTS}/{id}?surprise=1"));
    given
        .send(fourth.clone())
        .await
        .expect(400, "invalid_query");
    let fifth = fourth.target(format!("{PRODUCTS}/{id}"));
    given
        .send(fifth.clone())
        .await
        .expect(400, "invalid_header");
    let sixth = fifth.without_header("idempotency-key");
    given.send(sixth.clone()).await.expect(400, "invalid_body");
    given
        .send(sixth.text("{}"))
        .await
        .expect(404, "product_not_found");
}
