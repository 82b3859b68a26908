//! Shows that the response validator refuses.
//!
//! Each test takes an answer that the catalog's document lists, breaks one thing about it, and
//! checks the validator's complaint.

use serde_json::{Value, json};
use test_support::document;
use test_support::edit::Edit;
use test_support::response_validator::{Received, problems};

const ID: &str = "01a1faef-295b-7c3e-9f21-6d0b8a4c5e17";
const REQUEST: &str = "3f0f3d7e-52a7-4a53-9d3c-0c6a1f4be0a2";

/// A request's method and path, with a listed answer to it.
struct Case {
    method: &'static str,
    path: String,
    received: Received,
}

impl Case {
    fn problems(&self) -> Vec<String> {
        problems(
            &document::catalog(),
            self.method,
            &self.path,
            &self.received,
        )
    }

    /// The same answer with another value of a header, or without it.
    fn header(mut self, name: &str, value: Option<&str>) -> Self {
        self.received.headers.retain(|(other, _)| other != name);
        let added = value.map(|value| (name.to_owned(), value.to_owned()));
        self.received.headers.extend(added);
        self
    }

    /// The same answer with its body edited.
    fn body(mut self, edit: impl FnOnce(Edit) -> Edit) -> Self {
        let edited = edit(Edit(self.received.json()));
        self.received.body = edited.0.to_string().into_bytes();
        self
    }

    fn status(mut self, status: u16) -> Self {
        self.received.status = status;
        self
    }
}

/// An answer with the headers common to every answer of the catalog.
fn answer(method: &'static str, path: &str, status: u16, body: Option<Value>) -> Case {
    let mut headers = vec![("x-request-id".to_owned(), REQUEST.to_owned())];
    if body.is_some() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    Case {
        method,
        path: path.to_owned(),
        received: Received {
            status,
            headers,
            body: body.map_or(Vec::new(), |body| body.to_string().into_bytes()),
        },
    }
}

fn read() -> Case {
    let product = json!({ "data": {
        "id": ID, "name": "Consulting", "unitPrice": 120.5, "currency": "EUR",
        "description": null, "sku": null, "taxRate": null, "status": "active",
        "createdAt": "2026-11-20T21:49:00.123Z", "updatedAt": "2026-11-20T21:49:00.123Z",
    } });
    answer("GET", &format!("/api/v1/products/{ID}"), 200, Some(product))
}

fn archived() -> Case {
    answer("DELETE", &format!("/api/v1/products/{ID}"), 204, None)
}

fn refused() -> Case {
    let error = json!({ "error": {
        "type": "authentication_error", "code": "invalid_token", "message": "No such key",
        "request_id": REQUEST,
    } });
    answer("GET", "/api/v1/products", 401, Some(error)).header("www-authenticate", Some("Bearer"))
}

fn not_allowed(method: &'static str) -> Case {
    let error = json!({ "error": {
        "type": "validation_error", "code": "method_not_allowed", "message": "No such method",
        "details": [{ "path": "", "constraint": "method", "message": "use one of GET, POST" }],
        "request_id": REQUEST,
    } });
    answer(method, "/api/v1/products", 405, Some(error)).header("allow", Some("GET, POST"))
}

#[test]
fn listed_answers_pass() {
    for case in [
        read(),
        archived(),
        refused(),
        not_allowed("PUT"),
        not_allowed("QUERY"),
    ] {
        assert_eq!(
            case.problems(),
            Vec::<String>::new(),
            "{} {}",
            case.method,
            case.path
        );
    }
}

/// Asserts that the validator has exactly one complaint about each case, with this text.
#[track_caller]
fn complains(cases: Vec<(Case, &str)>) {
    for (case, expected) in cases {
        let problems = case.problems();
        assert!(
            problems.len() == 1 && problems[0].contains(expected),
            "expected {expected:?}, got {problems:#?}"
        );
    }
}

#[test]
fn an_unlisted_status_fails() {
    complains(vec![
        (
            read().status(206),
            "status 206 is not listed for get_product (listed: 200, 400, 401",
        ),
        (
            archived().status(200),
            "status 200 is not listed for archive_product",
        ),
    ]);
}

#[test]
fn an_unlisted_invalid_or_missing_header_fails() {
    complains(vec![
        (
            read().header("etag", Some("1")),
            "header etag: 1 is not listed",
        ),
        (read().header("ratelimit", Some("many")), "violates pattern"),
        (
            refused().header("www-authenticate", Some("Bearer realm")),
            "violates pattern",
        ),
        (
            refused().header("www-authenticate", None),
            "www-authenticate is required and missing",
        ),
        (
            read().header("x-request-id", Some("two words")),
            "violates pattern",
        ),
    ]);
    let mut twice = read();
    let header = ("x-request-id".to_owned(), REQUEST.to_owned());
    twice.received.headers.push(header);
    complains(vec![(twice, "x-request-id came more than once")]);
}

#[test]
fn an_answer_without_a_request_id_fails() {
    let problems = read().header("x-request-id", None).problems();
    assert!(
        problems
            .iter()
            .any(|problem| problem == "header x-request-id is missing")
    );
}

#[test]
fn a_body_out_of_its_schema_fails() {
    let case = |edit: fn(Edit) -> Edit| read().body(edit);
    complains(vec![
        (
            case(|body| body.set("/data/status", json!("draft"))),
            "\"enum\" of \"/data/status\"",
        ),
        (
            case(|body| body.set("/data/unitPrice", json!("1"))),
            "\"type\" of \"/data/unitPrice\"",
        ),
        (
            case(|body| body.set("/data/id", json!("one"))),
            "\"format\" of \"/data/id\"",
        ),
        (
            case(|body| body.without("/data/sku")),
            "\"required\" of \"/data/sku\"",
        ),
        (
            case(|body| body.set("/data/taxRate", json!(101))),
            "\"maximum\" of \"/data/taxRate\"",
        ),
        (
            case(|body| body.set("/data/sku", json!(""))),
            "\"minLength\" of \"/data/sku\"",
        ),
    ]);
}

#[test]
fn null_is_valid_only_where_the_document_says_so() {
    let null = |member: &str| read().body(|body| body.set(member, json!(null))).problems();
    assert_eq!(null("/data/description"), Vec::<String>::new());
    assert_ne!(null("/data/name"), Vec::<String>::new());
}

#[test]
fn a_body_of_another_kind_fails() {
    let mut unparsable = read();
    unparsable.received.body = b"{\"data\":".to_vec();
    let mut unexpected = archived();
    unexpected.received.body = b"{}".to_vec();
    complains(vec![
        (unparsable, "the body is no JSON"),
        (unexpected, "a body of 2 bytes where none is listed"),
        (
            read().header("content-type", Some("text/html")),
            "the media type \"text/html\"",
        ),
    ]);
}

#[test]
fn an_error_that_names_another_request_fails() {
    let case = |id: Value| refused().body(|body| body.set("/error/request_id", id));
    complains(vec![(
        case(json!("other")),
        "the error names request other, the header 3f0f",
    )]);
    let mobile = document::mobile();
    let error =
        json!({ "error": "invalid_grant", "error_description": "No", "request_id": "other" });
    let token = answer("POST", "/api/auth/mobile/token", 400, Some(error))
        .header("cache-control", Some("no-store"));
    let problems = problems(&mobile, token.method, &token.path, &token.received);
    assert_eq!(
        problems,
        ["the error names request other, the header ".to_owned() + REQUEST]
    );
}

#[test]
fn a_method_that_is_not_published_has_one_answer_only() {
    let wrong = |status| not_allowed("PUT").status(status);
    complains(vec![
        (wrong(404), "the status is 405, not 404"),
        (
            not_allowed("PUT").header("allow", Some("GET")),
            "Allow is \"GET\"",
        ),
        (
            not_allowed("PUT").header("allow", Some("GET, POST, PUT")),
            "Allow is \"GET, POST, PUT\"",
        ),
        (not_allowed("PUT").header("allow", None), "Allow is \"\""),
        (
            not_allowed("PUT").body(|body| body.without("/error/code")),
            "\"required\" of \"/error/code\"",
        ),
    ]);
}

#[test]
fn an_error_that_no_example_shows_fails() {
    complains(vec![
        (
            refused().body(|body| body.set("/error/code", json!("no_idea"))),
            "no example shows the error authentication_error no_idea",
        ),
        (
            refused().body(|body| body.set("/error/type", json!("permission_error"))),
            "no example shows the error permission_error invalid_token",
        ),
    ]);
}

#[test]
fn details_belong_to_validation_errors_and_to_nothing_else() {
    let detail = json!([{ "path": "", "constraint": "json", "message": "is no JSON" }]);
    let with = refused().body(|body| body.set("/error/details", detail));
    let mut without = refused().status(400).header("www-authenticate", None);
    without = without.body(|body| {
        body.set("/error/type", json!("validation_error"))
            .set("/error/code", json!("invalid_query"))
    });
    complains(vec![
        (
            with,
            "details belong to a validation_error, and to no authentication_error",
        ),
        (without, "details belong to a validation_error"),
    ]);
}

#[test]
fn a_path_that_is_not_published_fails() {
    let mut case = read();
    case.path = "/api/v2/products".to_owned();
    complains(vec![(
        case,
        "catalog has no path that /api/v2/products is an instance of",
    )]);
}
