//! All violations of a body are counted at once, however many, and the first hundred reported; the report is less than
//! 64 KiB, whatever the body, at a cost proportional to it.

use std::time::{Duration, Instant};

use openapi_dropshot_runtime::json::parse;
use openapi_dropshot_runtime::schema::*;
use openapi_dropshot_runtime::{MAX_BYTES, MAX_PATH, Violation, Violations};

static NAME: Schema = Schema {
    kind: Kind::String(Text {
        min_length: 1,
        max_length: Some(3),
        pattern: Some(Pattern::new("^[^\\u0000]*$")),
        format: None,
        enumeration: &[],
    }),
    nullable: false,
};
static PRICE: Schema = Schema {
    kind: Kind::Number(Bounds {
        minimum: Some(Bound {
            value: "0",
            exclusive: false,
        }),
        maximum: None,
    }),
    nullable: false,
};
static TAGS: Schema = Schema {
    kind: Kind::Array(Array {
        items: &NAME,
        min_items: 0,
        max_items: Some(3),
        unique_items: true,
    }),
    nullable: false,
};
static PROPERTIES: [Property; 3] = [
    property("name", &NAME),
    property("price", &PRICE),
    property("tags", &TAGS),
];
static PRODUCT: Schema = Schema {
    kind: Kind::Object(Object {
        properties: &PROPERTIES,
        additional: false,
    }),
    nullable: false,
};

const fn property(name: &'static str, schema: &'static Schema) -> Property {
    Property {
        name,
        required: false,
        schema: Schema {
            kind: Kind::Ref(schema),
            nullable: false,
        },
    }
}

fn violations(body: &str) -> Violations {
    match parse(body.as_bytes()) {
        Ok(value) => check(&PRODUCT, &value),
        Err(violation) => violation.into(),
    }
}

fn unknown_members(count: usize) -> String {
    let members: Vec<String> = (0..count).map(|index| format!("\"{index}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn the_first_hundred_unknown_members_are_told_and_all_are_counted() {
    for (count, told) in [(99, 99), (100, 100), (101, 100), (10_000, 100)] {
        let violations = violations(&unknown_members(count));
        assert_eq!(violations.total(), count);
        let paths = (0..told).map(|index| format!("/{index}"));
        assert!(violations.iter().map(|it| it.path.clone()).eq(paths));
    }
}

#[test]
fn the_first_items_of_a_long_list_are_told_and_all_are_counted() {
    let items = vec!["0"; 30_000].join(",");
    let violations = violations(&format!("{{\"tags\":[{items}]}}"));
    // The list is too long, and its items are all the same.
    assert_eq!(violations.total(), 30_002);
    let told: Vec<_> = violations.iter().map(|it| it.constraint).collect();
    assert_eq!(told[..3], ["maxItems", "uniqueItems", "type"]);
    assert_eq!(violations[99].path, "/tags/97");
}

#[test]
fn a_name_is_told_whole_or_by_its_length() {
    for (name, token) in [
        ("x".repeat(65), "x".repeat(65)),
        ("x".repeat(MAX_PATH - 1), "x".repeat(MAX_PATH - 1)),
        ("é".repeat(MAX_PATH - 1), "é".repeat(MAX_PATH - 1)),
        ("~/".repeat(63), "~0~1".repeat(63)),
        (String::new(), String::new()),
    ] {
        let violations = violations(&format!("{{\"{name}\":0}}"));
        let message = "is not a known member";
        let expected = Violation::new(format!("/{token}"), "additionalProperties", message);
        assert_eq!(*violations, [expected]);
    }
    for name in [
        "x".repeat(MAX_PATH),
        "é".repeat(30_000),
        "~/".repeat(64),
        "~".repeat(60_000),
    ] {
        let violations = violations(&format!("{{\"{name}\":0}}"));
        let length = name.chars().count();
        let message =
            format!("has a member, with a name of {length} characters, that is not a known member");
        let expected = Violation::new("", "additionalProperties", message);
        assert_eq!(*violations, [expected]);
    }
}

/// Bodies of about this many bytes, each a different way to cost more than it should.
fn costly(bytes: usize) -> Vec<(&'static str, String)> {
    let text = |bytes| "x".repeat(bytes);
    vec![
        ("unknown members", unknown_members(bytes / 9)),
        (
            "long names that grow when they are written",
            format!(
                "{{{}}}",
                (0..bytes / 180)
                    .map(|index| format!("\"{}{index:04}\":0", "\u{7f}\\\"~".repeat(42)))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        ),
        (
            "names of control characters",
            format!(
                "{{{}}}",
                (0..bytes / 140)
                    .map(|index| format!("\"{}{index:04}\":0", "\\u0001".repeat(20)))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        ),
        ("one long name", format!("{{\"{}\":0}}", text(bytes))),
        (
            "one name of tildes",
            format!("{{\"{}\":0}}", "~".repeat(bytes)),
        ),
        (
            "one name of escapes",
            format!("{{\"{}\":0}}", "\\u002f".repeat(bytes / 6)),
        ),
        (
            "a few long names that differ at their end",
            format!(
                "{{{}}}",
                (0..15)
                    .map(|index| format!("\"{}{index:02}\":0", text(bytes / 15)))
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        ),
        (
            "items of the wrong type",
            format!("{{\"tags\":[{}0]}}", "0,".repeat(bytes / 2)),
        ),
        (
            "items that are too short",
            format!("{{\"tags\":[{}\"\"]}}", "\"\",".repeat(bytes / 3)),
        ),
        (
            "a text that nearly matches",
            format!("{{\"name\":\"{}\\u0000\"}}", text(bytes)),
        ),
        (
            "a number of many digits",
            format!("{{\"price\":-{}}}", "9".repeat(bytes)),
        ),
        (
            "the last member twice",
            unknown_members(bytes / 9).replace('}', ",\"0\":0}"),
        ),
        (
            "nesting",
            format!(
                "{{\"tags\":[{}0]}}",
                format!("{}{},", "[".repeat(98), "]".repeat(98)).repeat(bytes / 197)
            ),
        ),
    ]
}

#[test]
fn what_is_told_takes_less_than_64_kib_in_json() {
    for (case, body) in costly(MAX_BYTES) {
        let told = violations(&body);
        let json: Vec<_> = told
            .iter()
            .map(|it| {
                serde_json::json!({ "path": it.path, "constraint": it.constraint, "message": it.message })
            })
            .collect();
        let length = serde_json::to_string(&json).unwrap().len();
        assert!(!told.is_empty() && told.len() <= 100, "{case}");
        assert!(length <= 60 * 1024, "{case}: {length}");
    }
}

/// The shortest of several times that reading and checking takes.
fn time(body: &str) -> Duration {
    let times = (0..10).map(|_| {
        let start = Instant::now();
        let told = violations(body);
        let time = start.elapsed();
        assert!(!told.is_empty());
        time
    });
    times.min().unwrap_or_default()
}

/// A body sixty-four times as long takes about 64 times as long to check; it would take 4,096 times if the cost were
/// quadratic. A factor of ten is left to the machine, which may be busy.
#[test]
fn telling_takes_time_in_proportion_to_the_body() {
    let (small, large) = (costly(MAX_BYTES / 64), costly(MAX_BYTES));
    for ((case, small), (_, large)) in small.iter().zip(&large) {
        // Anything so quick that the clock's resolution decides is quick enough.
        let least = time(small).max(Duration::from_micros(10));
        let ratio = time(large).as_secs_f64() / least.as_secs_f64();
        assert!(ratio < 640.0, "{case}: {ratio:.1} times");
    }
}
