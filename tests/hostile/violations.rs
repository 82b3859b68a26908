//! A body with many violations gets an answer of less than 64 KiB, whatever it holds.

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::given;
use test_support::service::Service;

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

/// The largest answer allowed, without its head.
const MAX_ANSWER: usize = 64 * 1024;

/// The largest body allowed.
const MAX_BODY: usize = 64 * 1024;

/// An object of `count` different unknown members, each named with this text `repeats` times and a
/// number.
fn members(count: usize, text: &str, repeats: usize) -> String {
    let text = text.repeat(repeats);
    let members: Vec<_> = (0..count).map(|at| format!("\"{at}{text}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

/// Bodies that are short for the violations they cause, each in another way.
fn bodies() -> Vec<(&'static str, String)> {
    let bodies = vec![
        ("as many members as fit", members(7_000, "", 0)),
        ("a hundred names that are long", members(100, "x", 250)),
        ("a hundred names of tildes", members(100, "~", 125)),
        ("a hundred names of quotes", members(100, "\\\"", 250)),
        ("names of control characters", members(100, "\\u0001", 100)),
        ("names beyond what is written", members(100, "\u{7f}", 640)),
        ("one name of 60,000 characters", members(1, "x", 60_000)),
        ("one name of 60,000 tildes", members(1, "~", 60_000)),
        ("one name of escaped slashes", members(1, "\\u002f", 10_000)),
        (
            "names of four bytes a character",
            members(60, "\u{10FFFF}", 250),
        ),
        (
            "a list where an object belongs",
            format!("[{}0]", "0,".repeat(32_000)),
        ),
        (
            "a list where a text belongs",
            format!("{{\"name\":[{}0]}}", "{},".repeat(20_000)),
        ),
    ];
    for (case, body) in &bodies {
        assert!(body.len() <= MAX_BODY, "{case}: {} bytes", body.len());
    }
    bodies
}

fn assert_short(answer: &Answer, case: &str) {
    let length = answer.text().len();
    assert!(
        length < MAX_ANSWER,
        "{case}: {length} bytes, which begin {:.300}",
        answer.text()
    );
}

#[tokio::test]
async fn whatever_a_body_holds_its_answer_is_short() {
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    for (case, body) in bodies() {
        for (method, path) in [
            ("POST", "/api/v1/products"),
            (
                "PATCH",
                "/api/v1/products/01a1faef-295b-7c3e-9f21-6d0b8a4c5e17",
            ),
        ] {
            let request = Request::new(method, path).bearer(&team.live);
            let answer = service.caller.send(request.text(body.clone())).await;
            let answer = answer.expect(400, "invalid_body");
            assert_short(&answer, case);
            let error = &answer.json()["error"];
            let details = error["details"].as_array().map_or(0, Vec::len);
            assert!((1..=100).contains(&details), "{case}: {details}");
        }
        let request = Request::new("POST", "/api/auth/mobile/token").text(body);
        let answer = service.caller.send(request).await;
        let answer = answer.expect(400, "invalid_request");
        assert!(answer.text().len() < 2_000, "{case}: {}", answer.text());
    }
}

#[tokio::test]
async fn whatever_a_query_holds_its_answer_is_short() {
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    // hyper accepts a target of at most 65,534 bytes.
    let queries = [
        (
            "many names",
            (0..9_000).map(|at| format!("{at}&")).collect::<String>(),
        ),
        ("one long name", "x".repeat(60_000)),
        (
            "names that become longer",
            (0..100)
                .map(|at| format!("{at}{}&", "%01".repeat(200)))
                .collect(),
        ),
    ];
    for (case, query) in queries {
        let list = Request::new("GET", format!("/api/v1/products?{query}")).bearer(&team.live);
        let answer = service.caller.send(list).await;
        assert_short(&answer.expect(400, "invalid_query"), case);
    }
}

#[tokio::test]
async fn the_message_says_how_many_violations_there_were() {
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    let create = |body: String| {
        let request = Request::new("POST", "/api/v1/products").bearer(&team.live);
        service.caller.send(request.text(body))
    };
    // Besides the unknown members, three are missing.
    for (unknown, message) in [
        (97, "Validation failed"),
        (
            98,
            "Validation failed; 101 violations, of which 100 are listed",
        ),
        (
            5_000,
            "Validation failed; 5003 violations, of which 100 are listed",
        ),
    ] {
        let answer = create(members(unknown, "", 0)).await;
        let error = answer.expect(400, "invalid_body").json()["error"].take();
        assert_eq!(error["message"], message);
        assert_eq!(error["details"].as_array().map(Vec::len), Some(100));
    }
    let answer = create(members(1, "x", 60_000)).await;
    let details = answer.expect(400, "invalid_body").json()["error"]["details"].take();
    let last: &Value = &details[3];
    let expected = json!({
        "path": "",
        "constraint": "additionalProperties",
        "message": "has a member, with a name of 60001 characters, that is not a known member",
    });
    assert_eq!(last, &expected);
}
