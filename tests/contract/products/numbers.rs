//! Exact decimals.

use test_support::given;
use test_support::number::same;

use crate::given::{Given, PRODUCTS, given};

fn with_price(price: &str) -> String {
    format!(r#"{{"name":"contract test","currency":"EUR","unitPrice":{price}}}"#)
}

/// The price as an answer spells it.
fn price(text: &str) -> String {
    let (_, rest) = text
        .split_once("\"unitPrice\":")
        .expect("a product has a price");
    let end = rest.find([',', '}']).expect("an object ends");
    rest[..end].trim().to_owned()
}

async fn created(given: &Given, literal: &str) -> String {
    let create = given.live("POST", PRODUCTS).text(with_price(literal));
    price(&given.send(create).await.expect_status(201).text())
}

#[tokio::test]
async fn what_is_read_back_equals_what_was_sent_as_a_decimal() {
    let given = given!(given());
    for literal in [
        "0",
        "-0",
        "0.1",
        "0.10",
        "12.5e1",
        "1E+2",
        "999999999999.999999999999999999999999999",
        "0.1234567890123456789012345678901234567890",
        "1e-400",
        "1000000000000",
        "900719925474.0993",
    ] {
        let shown = created(&given, literal).await;
        assert!(same(&shown, literal), "{literal} became {shown}");
    }
}

#[tokio::test]
async fn too_many_digits_and_too_large_exponents_are_refused_cheaply() {
    let given = given!(given());
    let many = format!("0.{}", "1".repeat(41));
    let huge = format!("1{}", "0".repeat(60_000));
    for literal in [
        many.as_str(),
        "1e999999999",
        "1e-999999999",
        "1e401",
        "1e-401",
        huge.as_str(),
    ] {
        let begun = std::time::Instant::now();
        let create = given.live("POST", PRODUCTS).text(with_price(literal));
        let answer = given.send(create).await.expect(400, "invalid_body");
        let violations = answer.violations();
        let violation = violations.first().expect("details tell what is wrong");
        assert_eq!(violation.path, "/unitPrice");
        let expected = if literal == huge {
            "maximum"
        } else {
            "precision"
        };
        let named = violations
            .iter()
            .any(|it| it.constraint == expected || it.constraint == "precision");
        assert!(named, "{violations:?}");
        assert!(
            begun.elapsed().as_secs() < 5,
            "{literal:.20} took {:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test]
async fn forty_digits_are_taken_and_zeros_do_not_count() {
    let given = given!(given());
    let forty = format!("0.{}", "1".repeat(40));
    let zeros = format!("1.{}", "0".repeat(100));
    for literal in [forty, zeros] {
        let shown = created(&given, &literal).await;
        assert!(same(&shown, &literal), "{literal} became {shown}");
    }
}
