//! Methods that a published path does not have.

use std::collections::BTreeSet;

use test_support::caller::{Answer, Request};
use test_support::document::{self, Document};
use test_support::given;

use crate::given::{Given, given};

/// The methods of docs/decisions.md, B6.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
];

/// An instance of each published path.
fn paths(document: &Document) -> BTreeSet<String> {
    let id = "01a1faef-295b-7c3e-9f21-6d0b8a4c5e17";
    let concrete = |path: &str| path.replace("{id}", id).replace("{targetType}", "file");
    let paths: BTreeSet<_> = document
        .operations
        .iter()
        .map(|operation| concrete(&operation.path))
        .collect();
    assert!(paths.iter().all(|path| !path.contains('{')), "{paths:?}");
    paths
}

/// The answers of all published paths to the methods that they do not have.
async fn absent(given: &Given) -> Vec<(String, &'static str, Answer)> {
    let mut answers = Vec::new();
    for document in [document::catalog(), document::mobile()] {
        for path in paths(&document) {
            let absent = METHODS
                .into_iter()
                .filter(|method| document.operation_at(method, &path).is_none());
            for method in absent {
                // The response validator asserts the status, `Allow`, and the body in the error shape of the path.
                let answer = given.send(Request::new(method, &path)).await;
                answers.push((path.clone(), method, answer));
            }
        }
    }
    answers
}

#[tokio::test]
async fn a_method_that_a_path_does_not_have_answers_405_before_authentication() {
    let given = given!(given());
    let answers = absent(&given).await;
    assert!(answers.len() > 25, "{} methods are absent", answers.len());
    for (path, method, answer) in answers {
        assert_eq!(answer.status(), 405, "{method} {path}");
        let expected = match (method, path.ends_with("/token")) {
            ("HEAD", _) => "",
            (_, true) => "invalid_request",
            (_, false) => "method_not_allowed",
        };
        assert_eq!(
            answer.code(),
            expected,
            "{method} {path}: {}",
            answer.text()
        );
        if expected == "method_not_allowed" {
            assert_eq!(answer.json()["error"]["type"], "validation_error");
            let constraints = answer.violations().into_iter().map(|it| it.constraint);
            assert_eq!(constraints.collect::<Vec<_>>(), ["method"]);
        }
    }
}

#[tokio::test]
async fn a_credential_does_not_change_a_405() {
    let given = given!(given());
    let request = given
        .live("PUT", "/api/v1/products")
        .json(&serde_json::json!({}));
    given.send(request).await.expect(405, "method_not_allowed");
}

#[tokio::test]
async fn every_405_of_the_token_endpoint_says_not_to_store_it() {
    let given = given!(given());
    for (path, method, answer) in absent(&given).await {
        if path.ends_with("/token") {
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{method}");
        }
    }
}

#[tokio::test]
async fn a_path_that_is_close_to_a_published_one_is_told_that_one() {
    let given = given!(given());
    let message = async |method: &str, path: &str| {
        let caller = &given.service.caller;
        let received = caller.send_unchecked(Request::new(method, path)).await;
        let received = received.expect("an answer comes");
        assert_eq!(received.status, 404, "{method} {path}");
        received.json()["message"].as_str().map(str::to_owned)
    };
    let hint = "Not Found: the published path closest to this one is ";
    for (path, meant) in [
        ("/api/v1/api/v1/products", "/api/v1/products"),
        ("/products?limit=1", "/api/v1/products"),
        ("/v1/products", "/api/v1/products"),
        ("/api/v1/product", "/api/v1/products"),
        ("/api/v1/products/", "/api/v1/products"),
        ("/api/v1/api/v1/products/1", "/api/v1/products/{id}"),
        ("/api/v1/api/auth/mobile/token", "/api/auth/mobile/token"),
    ] {
        for method in ["GET", "POST", "get"] {
            let expected = Some(format!("{hint}{meant}"));
            assert_eq!(message(method, path).await, expected, "{method} {path}");
        }
    }
    for path in ["/api/v1/nothing", "/nothing", "/favicon.ico"] {
        assert_eq!(
            message("GET", path).await.as_deref(),
            Some("Not Found"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_keep_the_answers_of_the_framework() {
    let given = given!(given());
    for (method, path, status) in [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("PROPFIND", "/api/v1/products", 405),
    ] {
        let caller = &given.service.caller;
        let received = caller.send_unchecked(Request::new(method, path)).await;
        assert_eq!(
            received.expect("an answer comes").status,
            status,
            "{method} {path}"
        );
    }
}
