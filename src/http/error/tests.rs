//! Every problem, in the words of every document.

mod limits;

use std::time::Instant;

use http::header::CACHE_CONTROL;
use openapi_dropshot_runtime::constraint;
use serde_json::{Value, json};

use super::token::DESCRIPTION;
use super::*;
use crate::limit::{Limiter, Policy};

const REQUEST_ID: &str = "3f0f3d7e-52a7-4a53-9d3c-0c6a1f4be0a2";

fn of_cause(cause: Cause) -> Problem {
    let violation = Violation::new("/é", constraint::JSON, "says \"no\" \\ to \u{1F600}");
    let violations = if cause == Cause::Internal {
        Violations::default()
    } else {
        violation.into()
    };
    of_request_error(RequestError { cause, violations })
}

/// Every problem that there is, and the status and code of the table in docs/decisions.md, "Errors".
fn problems() -> Vec<(Problem, u16, &'static str)> {
    use domain::Error::*;
    let app = |error: domain::Error| of_domain(&error);
    vec![
        (of_cause(Cause::Body), 400, "invalid_body"),
        (of_cause(Cause::Query), 400, "invalid_query"),
        (of_cause(Cause::Path), 400, "invalid_path"),
        (of_cause(Cause::Header), 400, "invalid_header"),
        (of_cause(Cause::Method), 405, "method_not_allowed"),
        (of_cause(Cause::Timeout), 408, "request_timeout"),
        (of_cause(Cause::TooLarge), 413, "body_too_large"),
        (of_cause(Cause::MediaType), 415, "unsupported_media_type"),
        (of_cause(Cause::Internal), 500, "internal_error"),
        (app(InvalidToken), 401, "invalid_token"),
        (app(ScopeInsufficient), 403, "scope_insufficient"),
        (app(NotAMember), 403, "not_a_member"),
        (app(ProductNotFound), 404, "product_not_found"),
        (app(ItemNotFound), 404, "item_not_found"),
        (app(DuplicateSku), 409, "duplicate_sku"),
        (app(AlreadyArchived), 409, "already_archived"),
        (app(IdempotencyKeyReused), 409, "idempotency_key_reused"),
        (app(InvalidCursor), 400, "invalid_query"),
        (app(InvalidGrant), 400, "invalid_grant"),
        (app(InvalidClient), 400, "invalid_client"),
        (app(UnauthorizedClient), 400, "unauthorized_client"),
        (app(Unavailable("locked".into())), 503, "unavailable"),
        (app(Internal("no such table".into())), 500, "internal_error"),
        (app(Refused("no".into())), 500, "internal_error"),
        (rate_limited(), 429, "rate_limit_exceeded"),
        (
            unauthenticated(Credential::ApiKey, false),
            401,
            "invalid_token",
        ),
    ]
}

fn rate_limited() -> Problem {
    let limiter = Limiter::new(Policy {
        per_second: 1,
        burst: 1,
    });
    let now = Instant::now();
    limiter.take(1, now);
    let verdict = limiter.take(1, now);
    of_http(Error::RateLimited {
        verdict,
        who: Box::new(Caller::Unknown),
    })
}

fn json(body: impl serde::Serialize) -> Value {
    serde_json::to_value(body).unwrap()
}

#[test]
fn every_problem_has_its_status_and_code_in_both_documents() {
    let mobile = problems()
        .into_iter()
        .map(|it| it.0.into_mobile(REQUEST_ID));
    for ((problem, status, code), mobile) in problems().into_iter().zip(mobile) {
        let is_validation = matches!(problem.kind, Kind::Validation);
        let catalog = problem.into_catalog(REQUEST_ID);
        let error = &json(&catalog.body)["error"];
        assert_eq!(
            (catalog.status.as_u16(), &error["code"]),
            (status, &json!(code))
        );
        assert_eq!(error["request_id"], REQUEST_ID);
        assert_eq!(error.get("details").is_some(), is_validation, "{code}");
        assert_eq!(json(&mobile.body), json(&catalog.body));
        assert_eq!(mobile.headers, catalog.headers);
    }
}

#[test]
fn every_problem_has_an_error_of_rfc_6749_that_nobody_may_store() {
    for (problem, status, code) in problems() {
        let answer = problem.into_token(REQUEST_ID);
        let expected = match (status, code) {
            (400, "invalid_grant" | "invalid_client" | "unauthorized_client") => code,
            (400 | 405 | 408 | 413 | 415, _) => "invalid_request",
            (429, _) => "rate_limit_exceeded",
            (503, _) => "temporarily_unavailable",
            _ => "server_error",
        };
        assert_eq!(json(&answer.body)["error"], expected, "{status} {code}");
        assert_eq!(answer.headers[CACHE_CONTROL], "no-store");
    }
}

#[test]
fn an_unknown_grant_type_is_unsupported_and_a_missing_one_is_invalid() {
    for (constraint, code) in [
        ("enum", "unsupported_grant_type"),
        ("required", "invalid_request"),
        ("type", "invalid_request"),
    ] {
        let violations = Violation::new("/grant_type", constraint, "is wrong").into();
        let problem = of_request_error(RequestError {
            cause: Cause::Body,
            violations,
        });
        assert_eq!(json(problem.into_token(REQUEST_ID).body)["error"], code);
    }
}

#[test]
fn a_description_has_the_characters_of_rfc_6749_and_an_end() {
    let answer = of_cause(Cause::Body).into_token(REQUEST_ID);
    assert_eq!(
        json(answer.body)["error_description"],
        "/? says 'no' / to ?"
    );
}

#[test]
fn a_description_tells_as_many_violations_as_fit_and_counts_the_rest() {
    let description = |violations: Vec<Violation>| {
        let violations = violations.into_iter().collect();
        let cause = Cause::Body;
        let answer = of_request_error(RequestError { cause, violations }).into_token(REQUEST_ID);
        let text = json(answer.body)["error_description"].clone();
        text.as_str().unwrap().to_owned()
    };
    let wrong = Violation::new("/x", "maxLength", "is wrong");
    assert_eq!(
        description(vec![wrong.clone(); 2]),
        "/x is wrong; /x is wrong"
    );
    let many = description(vec![wrong.clone(); 10_000]);
    let told = many.matches("/x is wrong; ").count();
    assert!(many.ends_with(&format!("; and {} more", 10_000 - told)));
    assert!((DESCRIPTION - 50..=DESCRIPTION).contains(&many.len()));
    let long = Violation::new(format!("/{}", "x".repeat(60_000)), "maxLength", "is wrong");
    assert_eq!(
        description(vec![long, wrong]),
        format!("/{}... is wrong; /x is wrong", "x".repeat(63))
    );
}

#[test]
fn a_message_says_how_many_violations_there_were_where_not_all_are_listed() {
    let message = |count| {
        let wrong = Violation::new("/x", "maxLength", "is wrong");
        let violations = std::iter::repeat_n(wrong, count).collect();
        let cause = Cause::Body;
        let answer = of_request_error(RequestError { cause, violations }).into_catalog(REQUEST_ID);
        let error = json(answer.body)["error"].take();
        let listed = error["details"].as_array().map_or(0, Vec::len);
        (error["message"].as_str().unwrap().to_owned(), listed)
    };
    assert_eq!(message(100), ("Validation failed".to_owned(), 100));
    let cut = "Validation failed; 4711 violations, of which 100 are listed";
    assert_eq!(message(4711), (cut.to_owned(), 100));
}

#[test]
fn a_challenge_says_whether_a_credential_came() {
    let challenge =
        |sent| unauthenticated(Credential::ApiKey, sent).headers[WWW_AUTHENTICATE].clone();
    assert_eq!(challenge(false), "Bearer");
    assert_eq!(challenge(true), "Bearer error=\"invalid_token\"");
}

#[test]
fn what_will_pass_says_when_to_come_back() {
    assert_eq!(
        of_domain(&domain::Error::unavailable("locked")).headers[RETRY_AFTER],
        "1"
    );
    let headers = rate_limited().headers;
    assert_eq!(headers[RETRY_AFTER], "1");
    assert_eq!(headers["ratelimit"], "\"default\";r=0;t=1");
}
