//! All violations at once: the first hundred are listed, with whole names, and all of them are counted.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::document::escape;
use test_support::given;
use test_support::schema::Violation;

use crate::given::{Given, PRODUCTS, TOKEN, given, product};

/// Creates a product with these members besides the required ones.
async fn create_with(given: &Given, names: &[String]) -> Answer {
    let Value::Object(mut body) = product() else {
        unreachable!("a product is an object")
    };
    body.extend(names.iter().map(|name| (name.clone(), json!(0))));
    given
        .send(given.live("POST", PRODUCTS).json(&Value::Object(body)))
        .await
}

/// Asserts that exactly these violations are reported, each once.
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

/// Asserts that the first hundred of these are listed, and that the message counts all of them.
fn assert_counted(answer: &Answer, message: &str, expected: &[Violation]) {
    let listed = expected.len().min(100);
    assert_told(answer, &expected[..listed].iter().cloned().collect());
    let expected = match expected.len() {
        ..=100 => message.to_owned(),
        all => format!("{message}; {all} violations, of which {listed} are listed"),
    };
    assert_eq!(answer.json()["error"]["message"], expected);
}

#[tokio::test]
async fn a_hundred_violations_are_listed_and_the_message_says_how_many_there_were() {
    let given = given!(given());
    for count in [99, 100, 101, 5_000] {
        // Sorted by name, which is the order in which they are sent.
        let names: Vec<_> = (0..count).map(|index| format!("x{index:04}")).collect();
        let answer = create_with(&given, &names).await;
        let answer = answer.expect(400, "invalid_body");
        let unknown: Vec<_> = unknown_members(&names).into_iter().collect();
        assert_counted(&answer, "Validation failed", &unknown);
    }
}

#[tokio::test]
async fn an_unknown_member_is_told_by_its_whole_name_or_by_the_length_of_it() {
    let given = given!(given());
    for name in ["x".repeat(64), "x".repeat(255), "é".repeat(255)] {
        let answer = create_with(&given, std::slice::from_ref(&name)).await;
        assert_told(
            &answer.expect(400, "invalid_body"),
            &unknown_members(&[name]),
        );
    }
    for name in ["x".repeat(256), "x".repeat(60_000), "~/é".repeat(15_000)] {
        let length = name.chars().count();
        let answer = create_with(&given, &[name])
            .await
            .expect(400, "invalid_body");
        let whole = Violation::new("", "additionalProperties");
        assert_told(&answer, &BTreeSet::from([whole]));
        let message =
            format!("has a member, with a name of {length} characters, that is not a known member");
        assert_eq!(answer.json()["error"]["details"][0]["message"], message);
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
async fn unknown_parameters_are_told_by_their_whole_names_and_counted() {
    let given = given!(given());
    let mut names: Vec<_> = (0..500).map(|index| format!("x{index}")).collect();
    names.insert(1, "y".repeat(257));
    let query = names.join("&");
    // A repeated parameter counts as one unknown name.
    let list = given.live("GET", format!("{PRODUCTS}?{query}&x0=1"));
    let answer = given.send(list).await.expect(400, "invalid_query");
    names[1] = String::new();
    let unknown = names.iter().map(|name| Violation::new(name, "unknown"));
    let unknown: Vec<_> = unknown.collect();
    assert_counted(&answer, "The query is not valid", &unknown);
    let message =
        "has a parameter, with a name of 257 characters, that is not a parameter of this operation";
    assert_eq!(answer.json()["error"]["details"][1]["message"], message);
    // The token endpoint has no list for them: it reports some, and how many more there are.
    let exchange = Request::new("POST", format!("{TOKEN}?{query}")).json(&json!({}));
    let answer = given.send(exchange).await.expect(400, "invalid_request");
    let description = answer.json()["error_description"].clone();
    let description = description.as_str().unwrap_or_default();
    let told = description.matches("not a parameter").count();
    assert!(
        description.ends_with(&format!("; and {} more", 501 - told)),
        "{description}"
    );
}
