//! All violations at once: however many, and with names that are whole, however long.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::document::escape;
use test_support::given;
use test_support::schema::Violation;

use crate::given::{Given, PRODUCTS, TOKEN, given, product};

/// Creates a product with these members besides those that it needs.
async fn create_with(given: &Given, names: &[String]) -> Answer {
    let Value::Object(mut body) = product() else {
        unreachable!("a product is an object")
    };
    body.extend(names.iter().map(|name| (name.clone(), json!(0))));
    given
        .send(given.live("POST", PRODUCTS).json(&Value::Object(body)))
        .await
}

/// Asserts that exactly these violations are told, each once.
fn assert_told(answer: &Answer, expected: &BTreeSet<Violation>) {
    let details = answer.json()["error"]["details"].as_array().map(Vec::len);
    assert_eq!(details, Some(expected.len()));
    assert!(answer.violations() == *expected, "{}", answer.text());
}

fn unknown_members(names: &[String]) -> BTreeSet<Violation> {
    let pointers = names.iter().map(|name| format!("/{}", escape(name)));
    pointers
        .map(|it| Violation::new(it, "additionalProperties"))
        .collect()
}

#[tokio::test]
async fn a_hundred_and_more_unknown_members_are_all_told() {
    let given = given!(given());
    for count in [100, 101, 5_000] {
        let names: Vec<_> = (0..count).map(|index| format!("x{index}")).collect();
        let answer = create_with(&given, &names).await;
        assert_told(
            &answer.expect(400, "invalid_body"),
            &unknown_members(&names),
        );
    }
}

#[tokio::test]
async fn an_unknown_member_is_told_by_its_whole_name() {
    let given = given!(given());
    for name in [
        "x".repeat(64),
        "x".repeat(65),
        "x".repeat(60_000),
        "~/é".repeat(15_000),
    ] {
        let answer = create_with(&given, std::slice::from_ref(&name)).await;
        assert_told(
            &answer.expect(400, "invalid_body"),
            &unknown_members(&[name]),
        );
    }
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_told_not_to_be_in_the_list_either() {
    let given = given!(given());
    for value in [json!(978), Value::Null, json!(["EUR"])] {
        let mut body = product();
        body["currency"] = value;
        let answer = given.send(given.live("POST", PRODUCTS).json(&body)).await;
        let expected = ["type", "enum"].map(|it| Violation::new("/currency", it));
        assert_told(&answer.expect(400, "invalid_body"), &expected.into());
    }
}

#[tokio::test]
async fn unknown_parameters_are_all_told_by_their_whole_names() {
    let given = given!(given());
    let mut names: Vec<_> = (0..500).map(|index| format!("x{index}")).collect();
    names.push("y".repeat(1_000));
    let query = names.join("&");
    // What comes twice is one name that the operation does not have.
    let list = given.live("GET", format!("{PRODUCTS}?{query}&x0=1"));
    let answer = given.send(list).await.expect(400, "invalid_query");
    let unknown = names.iter().map(|name| Violation::new(name, "unknown"));
    assert_told(&answer, &unknown.collect());
    // The token endpoint has no list to tell them in: it tells some, and how many more there are.
    let exchange = Request::new("POST", format!("{TOKEN}?{query}")).json(&json!({}));
    let answer = given.send(exchange).await.expect(400, "invalid_request");
    let description = answer.json()["error_description"].clone();
    let description = description.as_str().unwrap_or_default();
    let told = description.matches("x").count();
    assert!(
        description.ends_with(&format!("; and {} more", 501 - told)),
        "{description}"
    );
}
