//! The most, the longest and the costliest violations that a request can have: all fit into both documents, and reporting
//! them costs little.

use std::time::{Duration, Instant};

use openapi_dropshot_runtime::schema::{Kind, Schema, check};
use openapi_dropshot_runtime::{MAX_BYTES, Operation, json};

use super::*;

/// The longest address that the HTTP server takes, in bytes.
const MAX_ADDRESS: usize = 65_534;

fn of_body(body: &str) -> Problem {
    assert!(body.len() <= MAX_BYTES);
    let schema = catalog::CREATE_PRODUCT.body.unwrap().schema.unwrap();
    let violations = match json::parse(body.as_bytes()) {
        Ok(value) => check(schema, &value),
        Err(violation) => violation.into(),
    };
    of_request_error(RequestError {
        cause: Cause::Body,
        violations,
    })
}

fn problem(cause: Cause, violations: impl IntoIterator<Item = Violation>) -> Problem {
    let violations = violations.into_iter().collect();
    of_request_error(RequestError { cause, violations })
}

/// The answer, in the words of the catalog.
fn written(problem: Problem) -> Vec<u8> {
    serde_json::to_vec(&problem.into_catalog(REQUEST_ID).body).unwrap()
}

/// Asserts that the answer is valid, and returns its body.
fn valid(problem: Problem) -> Value {
    let text = written(problem);
    let wrong = check(
        &catalog::schemas::ErrorResponse,
        &json::parse(&text).unwrap(),
    );
    assert_eq!(*wrong, [], "of {} violations", wrong.total());
    assert!(text.len() < 64 * 1024, "{} bytes", text.len());
    serde_json::from_slice(&text).unwrap()
}

/// Returns as many different names as fit into `bytes` bytes, the shortest first, each with `more` bytes besides.
fn shortest_names(bytes: usize, more: usize) -> Vec<String> {
    let letters: Vec<char> = ('!'..='~')
        .filter(|it| !"\"\\&=+%#;".contains(*it))
        .collect();
    let one = letters.iter().map(char::to_string);
    let two = letters
        .iter()
        .flat_map(|a| letters.iter().map(move |b| format!("{a}{b}")));
    let three = two.clone().map(|it| format!("{it}."));
    let mut left = bytes;
    std::iter::once(String::new())
        .chain(one)
        .chain(two)
        .chain(three)
        .take_while(|name| {
            let fits = left.checked_sub(name.len() + more);
            left = fits.unwrap_or_default();
            fits.is_some()
        })
        .collect()
}

/// A body of as many unknown members as there can be.
fn most_members() -> String {
    let names = shortest_names(MAX_BYTES - 1, r#""":0,"#.len());
    let members: Vec<_> = names.iter().map(|name| format!("\"{name}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

/// A body of one unknown member with the longest name that there can be.
fn longest_name() -> String {
    format!("{{\"{}\":0}}", "~".repeat(MAX_BYTES - r#"{"":0}"#.len()))
}

#[test]
fn as_many_violations_as_a_body_can_have_fit_into_the_documents() {
    let body = most_members();
    let told = valid(of_body(&body));
    let members: serde_json::Map<String, Value> = serde_json::from_str(&body).unwrap();
    assert!(members.len() > 9_000);
    // The three required ones are missing, too.
    let expected = format!(
        "Validation failed; {} violations, of which 100 are listed",
        members.len() + 3
    );
    assert_eq!(told["error"]["message"], expected);
    assert_eq!(told["error"]["details"].as_array().unwrap().len(), 100);
}

#[test]
fn as_many_violations_as_an_address_can_have_fit_into_the_documents() {
    // An unknown parameter is at least one byte and a separator: here even the same name is reported each time.
    let violation = Violation::new(
        "",
        constraint::UNKNOWN,
        "is not a parameter of this operation",
    );
    let problem = || problem(Cause::Query, vec![violation.clone(); MAX_ADDRESS / 2]);
    valid(problem());
    problem().into_mobile(REQUEST_ID);
    problem().into_token(REQUEST_ID);
}

#[test]
fn the_longest_paths_of_a_body_fit_into_the_documents() {
    for name in ["x".repeat(255), "~".repeat(127), "\u{10FFFF}".repeat(255)] {
        let told = valid(of_body(&format!("{{\"{name}\":0}}")));
        let details = told["error"]["details"].as_array().unwrap();
        let path = details.last().unwrap()["path"].as_str().unwrap();
        assert!((255..=256).contains(&path.chars().count()), "{path}");
    }
    let told = valid(of_body(&longest_name()));
    let last = &told["error"]["details"][3];
    let message = "has a member, with a name of 65530 characters, that is not a known member";
    assert_eq!(
        (&last["path"], &last["message"]),
        (&json!(""), &json!(message))
    );
    of_body(&longest_name()).into_mobile(REQUEST_ID);
    of_body(&longest_name()).into_token(REQUEST_ID);
}

#[test]
fn names_that_grow_when_they_are_written_do_not_make_a_long_answer() {
    // Each takes a byte, or two with its escape, and becomes up to six.
    for text in [
        "\u{7f}",
        "\\\\",
        "\\\"",
        "~",
        "\\u0001",
        "\\n",
        "é",
        "\u{10FFFF}",
    ] {
        let room = MAX_BYTES / 120 - 20;
        let name = text.repeat((room / text.len()).min(250));
        let members: Vec<_> = (0..115).map(|at| format!("\"{at:03}{name}\":0")).collect();
        valid(of_body(&format!("{{{}}}", members.join(","))));
    }
}

/// Values whose violations have long messages.
fn awkward() -> Vec<String> {
    let digits = "9".repeat(39);
    let escaped = "\u{10FFFF}".repeat(32);
    vec![
        "null".into(),
        "true".into(),
        "[]".into(),
        "{}".into(),
        format!("-{digits}"),
        format!("{digits}.5"),
        "9".repeat(1_000),
        "1e999999999".into(),
        "\"\"".into(),
        format!("\"{escaped}\""),
        format!("\"{}\\u0000\"", "x".repeat(5_000)),
    ]
}

/// Returns the violations of awkward values, by a schema and by all in it.
fn provoked(schema: &Schema) -> Vec<Violation> {
    let inner = match &schema.kind {
        Kind::Ref(schema) => provoked(schema),
        Kind::Array(rules) => provoked(rules.items),
        Kind::Object(rules) => {
            let properties = rules.properties.iter();
            properties.flat_map(|it| provoked(&it.schema)).collect()
        }
        Kind::OneOf(rules) => {
            let kinds = awkward().into_iter().flat_map(|kind| {
                let body = format!("{{\"{}\":{kind}}}", rules.discriminator);
                check(schema, &json::parse(body.as_bytes()).unwrap())
            });
            let variants = rules.variants.iter();
            kinds
                .chain(variants.flat_map(|it| provoked(it.1)))
                .collect()
        }
        _ => Vec::new(),
    };
    let own = awkward();
    let own = own
        .iter()
        .flat_map(|value| check(schema, &json::parse(value.as_bytes()).unwrap()));
    inner.into_iter().chain(own).collect()
}

#[test]
fn every_message_fits_into_the_documents_whatever_came() {
    let operations = catalog::OPERATIONS.iter().chain(mobile::OPERATIONS);
    let schemas = |operation: &&'static Operation| {
        let parameters = operation.parameters.iter().map(|it| &it.schema);
        parameters
            .chain(operation.body.and_then(|it| it.schema))
            .collect::<Vec<_>>()
    };
    let violations: Vec<_> = operations.flat_map(schemas).flat_map(provoked).collect();
    assert!(violations.len() > 100);
    // Each by itself, so that none is left out.
    for violation in violations {
        valid(problem(Cause::Body, [violation.clone()]));
        problem(Cause::Body, [violation.clone()]).into_mobile(REQUEST_ID);
        problem(Cause::Body, vec![violation]).into_token(REQUEST_ID);
    }
    let name = "\u{10FFFF}".repeat(32);
    valid(of_body(&format!("{{\"{name}\":0,\"{name}\":0}}")));
    valid(of_body("\u{10FFFF}"));
}

/// Returns the shortest of several times.
fn time<T>(mut work: impl FnMut() -> T) -> Duration {
    let times = (0..20).map(|_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed()
    });
    times.min().unwrap()
}

/// `cargo test --release --lib limits -- --ignored --nocapture`
#[test]
#[ignore = "measures: say so, and in a release build"]
fn what_bad_bodies_cost() {
    let text = |length: usize| "x".repeat(length);
    let bodies = [
        ("as many unknown members as fit", most_members()),
        ("one long name", format!("{{\"{}\":0}}", text(65_000))),
        ("one long name of tildes", longest_name()),
        (
            "a text that nearly matches",
            format!("{{\"name\":\"{}\\u0000\"}}", text(65_000)),
        ),
        (
            "a number of many digits",
            format!("{{\"unitPrice\":-{}}}", "9".repeat(65_000)),
        ),
        (
            "a currency of many letters",
            format!("{{\"currency\":\"{}\"}}", text(65_000)),
        ),
        ("a list", format!("{{\"name\":[{}0]}}", "0,".repeat(32_000))),
    ];
    println!(
        "µs: reading by serde_json, reading and checking, all with writing; bytes of the answer"
    );
    for (case, body) in bodies {
        let read = time(|| serde_json::from_str::<Value>(&body).is_ok());
        let checked = time(|| of_body(&body));
        let answered = time(|| written(of_body(&body)));
        let length = written(of_body(&body)).len();
        let [read, checked, answered] = [read, checked, answered].map(|it| it.as_micros());
        println!("{case:>32} {read:>6} {checked:>6} {answered:>6} {length:>8}");
    }
}
