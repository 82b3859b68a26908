//! All violations of a body are told at once, however many, with names that are whole, however long; and
//! telling them costs no more than in proportion to the body.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use codegen_runtime::json::parse;
use codegen_runtime::schema::*;
use codegen_runtime::{MAX_BYTES, Violation};

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

fn violations(body: &str) -> Vec<Violation> {
    match parse(body.as_bytes()) {
        Ok(value) => check(&PRODUCT, &value),
        Err(violation) => vec![violation],
    }
}

fn unknown_members(count: usize) -> String {
    let members: Vec<String> = (0..count).map(|index| format!("\"{index}\":0")).collect();
    format!("{{{}}}", members.join(","))
}

#[test]
fn ten_thousand_unknown_members_are_all_told() {
    let paths: BTreeSet<String> = violations(&unknown_members(10_000))
        .into_iter()
        .map(|violation| violation.path)
        .collect();
    let expected = (0..10_000).map(|index| format!("/{index}"));
    assert_eq!(paths, expected.collect());
}

#[test]
fn every_item_of_a_long_list_is_told() {
    let items = vec!["0"; 30_000].join(",");
    let violations = violations(&format!("{{\"tags\":[{items}]}}"));
    let of_items = violations.iter().filter(|it| it.constraint == "type");
    assert!(
        of_items.map(|it| &it.path).eq(&(0..30_000)
            .map(|index| format!("/tags/{index}"))
            .collect::<Vec<_>>())
    );
    // The list is too long, and its items are all the same.
    assert_eq!(violations.len(), 30_002);
}

#[test]
fn a_name_is_told_whole() {
    for (name, token) in [
        ("x".repeat(65), "x".repeat(65)),
        ("é".repeat(30_000), "é".repeat(30_000)),
        ("~/".repeat(30_000), "~0~1".repeat(30_000)),
        (String::new(), String::new()),
    ] {
        let violations = violations(&format!("{{\"{name}\":0}}"));
        let told: Vec<_> = violations
            .iter()
            .map(|it| (&it.path, it.constraint))
            .collect();
        assert_eq!(told, [(&format!("/{token}"), "additionalProperties")]);
        assert!(violations[0].message.len() < 50);
    }
}

/// Bodies of about this many bytes, each a different way to cost more than it should.
fn costly(bytes: usize) -> Vec<(&'static str, String)> {
    let text = |bytes| "x".repeat(bytes);
    vec![
        ("unknown members", unknown_members(bytes / 9)),
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
fn what_is_told_is_no_longer_than_forty_times_the_body() {
    for (case, body) in costly(MAX_BYTES) {
        let told = violations(&body);
        let length: usize = told.iter().map(|it| it.path.len() + it.message.len()).sum();
        assert!(!told.is_empty(), "{case}");
        assert!(length < 40 * body.len(), "{case}: {length}");
    }
}

/// The least time of several that it takes to read and check.
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

/// Sixty-four times the body takes about 64 times as long; it would be 4,096 if the cost were quadratic.
/// Ten times is left to the machine, which may be busy.
#[test]
fn telling_takes_time_in_proportion_to_the_body() {
    let (small, large) = (costly(MAX_BYTES / 64), costly(MAX_BYTES));
    for ((case, small), (_, large)) in small.iter().zip(&large) {
        // What is so quick that the clock decides is quick enough.
        let least = time(small).max(Duration::from_micros(10));
        let ratio = time(large).as_secs_f64() / least.as_secs_f64();
        assert!(ratio < 640.0, "{case}: {ratio:.1} times");
    }
}
