use std::time::{Duration, Instant};

use http::{Method, Request};

use super::*;
use crate::operation::{Listed, Parameter, Status};
use crate::schema::{Alternative, Bounds, Kind, Schema, Sign, Text};

pub(crate) const LIST_AS_IS: Operation = Operation {
    id: "list",
    method: Method::GET,
    path: "/list",
    summary: None,
    description: None,
    tags: &[],
    deprecated: false,
    security: &[],
    parameters: &[Parameter {
        name: "limit",
        location: Location::Query,
        required: false,
        description: None,
        schema: Schema {
            kind: Kind::Integer(Bounds {
                minimum: None,
                maximum: None,
            }),
            nullable: false,
        },
        default: None,
    }],
    body: None,
    success: Listed {
        status: Status::Code(200),
        description: "A list.",
        headers: &[],
        component: None,
        json_type: None,
    },
    further: &[],
    errors: &[],
};

pub(crate) static LIST: Operation = LIST_AS_IS;

fn violations(query: &str) -> Violations {
    let request = Request::get(format!("/list?{query}")).body(()).unwrap();
    let (head, ()) = request.into_parts();
    Parameters::read(&LIST, Location::Query, &head)
        .err()
        .map(|error| error.violations)
        .unwrap_or_default()
}

fn unknown(count: usize) -> String {
    let names: Vec<_> = (0..count).map(|index| format!("x{index}")).collect();
    names.join("&")
}

#[test]
fn minus_zero_is_an_integer() {
    let request = Request::get("/list?limit=-0").body(()).unwrap();
    let (head, ()) = request.into_parts();
    let parameters = Parameters::read(&LIST, Location::Query, &head).unwrap();
    assert_eq!(parameters.required::<i64>("limit").unwrap(), 0);
}

#[test]
fn a_boolean_is_one_of_two_texts_and_what_is_neither_stays_a_text() {
    let flag = Schema {
        kind: Kind::Boolean,
        nullable: false,
    };
    for (text, value) in [
        ("true", Value::Boolean(true)),
        ("false", Value::Boolean(false)),
        ("True", Value::String("True".into())),
    ] {
        assert_eq!(flag.read_text(text), value);
    }
}

#[test]
fn every_unknown_name_is_told_once_and_whole() {
    let long = "y".repeat(256);
    for (query, names) in [
        ("x=1&x=2&limit=1&x", vec!["x"]),
        ("=&&x%26y=%ff", vec!["", "x&y"]),
        (long.as_str(), vec![long.as_str()]),
    ] {
        let told = violations(query);
        let told: Vec<_> = told.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(told, names);
    }
}

#[test]
fn a_name_that_is_too_long_is_told_by_its_length() {
    let told = violations(&"y".repeat(257));
    let message =
        "has a parameter, with a name of 257 characters, that is not a parameter of this operation";
    let expected = Violation::new("", constraint::UNKNOWN, message);
    assert_eq!(*told, [expected]);
}

#[test]
fn a_hundred_unknown_names_are_told_and_all_are_counted_once() {
    for (count, told) in [(99, 99), (100, 100), (101, 100), (900, 100)] {
        let twice = format!("{}&{}", unknown(count), unknown(count));
        let violations = violations(&twice);
        assert_eq!((violations.total(), violations.len()), (count, told));
    }
}

#[test]
fn behind_a_thousand_pairs_that_are_refused_nothing_is_read() {
    for query in [unknown(4_000), "x&".repeat(4_000), "limit&".repeat(4_000)] {
        let told = violations(&format!("{query}&y")).total();
        assert!((1..=1_000).contains(&told), "{told}");
    }
    let told = violations(&format!("{}&y", "x&".repeat(999)));
    assert_eq!(told.len(), 2);
    let told = violations(&format!("{}&y", "x&".repeat(1_000)));
    assert_eq!(told.len(), 1);
}

#[test]
fn a_repeated_parameter_is_told_once() {
    let told = violations("limit=1&limit=2&limit=3");
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].path.as_str(), told[0].constraint),
        ("limit", constraint::REPEATED)
    );
}

/// The shortest of several times that it takes to refuse a query.
fn time(query: &str) -> Duration {
    let times = (0..10).map(|_| {
        let start = Instant::now();
        assert!(!violations(query).is_empty());
        start.elapsed()
    });
    times.min().unwrap()
}

/// A query sixty-four times as long takes about 64 times as long to refuse; it would take 4,096 times if
/// the cost were quadratic. A factor of ten is left to the machine, which may be busy.
#[test]
fn telling_takes_time_in_proportion_to_the_query() {
    let queries = |bytes: usize| {
        [
            unknown(bytes / 7),
            "x&".repeat(bytes / 2),
            "%2B".repeat(bytes / 3),
            format!("{}{}", unknown(bytes / 14), "&limit".repeat(bytes / 12)),
        ]
    };
    for (small, large) in queries(1_000).iter().zip(&queries(64_000)) {
        // Anything so quick that the clock's resolution decides is quick enough.
        let least = time(small).max(Duration::from_micros(10));
        let ratio = time(large).as_secs_f64() / least.as_secs_f64();
        assert!(ratio < 640.0, "{small:.20}: {ratio:.1} times");
    }
}

static WORD: Schema = Schema {
    kind: Kind::String(Text {
        min_length: 0,
        max_length: Some(3),
        pattern: None,
        format: None,
        enumeration: &[],
    }),
    nullable: false,
};

static FIND: Operation = Operation {
    id: "find",
    parameters: &[Parameter {
        name: "which",
        location: Location::Query,
        required: true,
        description: None,
        schema: Schema {
            kind: Kind::Union(&[Alternative {
                sign: Sign::Fits { alone: true },
                schema: &WORD,
            }]),
            nullable: false,
        },
        default: None,
    }],
    ..LIST_AS_IS
};

#[test]
fn one_of_several_texts_is_read_by_way_of_its_json() {
    let read = |query: &str| {
        let request = Request::get(format!("/find?{query}")).body(()).unwrap();
        let (head, ()) = request.into_parts();
        let parameters = Parameters::read(&FIND, Location::Query, &head)?;
        // As the types of unions read.
        parameters.required::<Box<serde_json::value::RawValue>>("which")
    };
    assert_eq!(read("which=5%22").unwrap().get(), r#""5\"""#);
    let violations = read("which=long").unwrap_err().violations;
    let told: Vec<_> = violations
        .iter()
        .map(|it| (&*it.path, it.constraint))
        .collect();
    assert_eq!(told, [("which", "oneOf")]);
}
