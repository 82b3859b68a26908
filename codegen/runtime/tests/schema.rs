//! Checking values against schemas: every keyword, on both sides of its boundary.

use openapi_dropshot_runtime::json::parse;
use openapi_dropshot_runtime::schema::*;

macro_rules! property {
    ($name:literal, $required:literal, $schema:expr) => {
        Property {
            name: $name,
            required: $required,
            schema: Schema {
                kind: Kind::Ref($schema),
                nullable: false,
            },
        }
    };
}

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
static AMOUNT: Schema = number("0", Some("1000000000000"), false);
static RATE: Schema = number("0", None, true);
static COUNT: Schema = Schema {
    kind: Kind::Integer(Bounds {
        minimum: Some(bound("1", false)),
        maximum: Some(bound("9", true)),
    }),
    nullable: false,
};
static KIND: Schema = text(&["GOODS", "SERVICES"], None, false);
static NOTE: Schema = text(&[], None, true);
static ID: Schema = text(&[], Some(Format::Uuid), false);
static TIME: Schema = text(&[], Some(Format::DateTime), false);
static FLAG: Schema = Schema {
    kind: Kind::Boolean,
    nullable: false,
};
static TAGS: Schema = Schema {
    kind: Kind::Array(Array {
        items: &NAME,
        min_items: 1,
        max_items: Some(3),
        unique_items: true,
    }),
    nullable: false,
};
static PRODUCT: Schema = Schema {
    kind: Kind::Object(Object {
        properties: &[
            property!("name", true, &NAME),
            property!("price", true, &AMOUNT),
            property!("note", false, &NOTE),
            property!("tags", false, &TAGS),
        ],
        additional: false,
    }),
    nullable: false,
};
static OPEN: Schema = Schema {
    kind: Kind::Object(Object {
        properties: &[property!("kind", true, &KIND)],
        additional: true,
    }),
    nullable: false,
};
static EITHER: Schema = Schema {
    kind: Kind::OneOf(OneOf {
        discriminator: "kind",
        variants: &[("GOODS", &OPEN), ("SERVICES", &OPEN)],
    }),
    nullable: false,
};

const fn bound(value: &'static str, exclusive: bool) -> Bound {
    Bound { value, exclusive }
}

const fn number(least: &'static str, most: Option<&'static str>, exclusive: bool) -> Schema {
    let maximum = match most {
        Some(most) => Some(bound(most, exclusive)),
        None => None,
    };
    let minimum = Some(bound(least, exclusive));
    Schema {
        kind: Kind::Number(Bounds { minimum, maximum }),
        nullable: false,
    }
}

const fn text(
    enumeration: &'static [&'static str],
    format: Option<Format>,
    nullable: bool,
) -> Schema {
    let kind = Kind::String(Text {
        min_length: 0,
        max_length: None,
        pattern: None,
        format,
        enumeration,
    });
    Schema { kind, nullable }
}

/// Path and constraint of each violation.
fn found(schema: &'static Schema, json: &str) -> Vec<(String, &'static str)> {
    let value = parse(json.as_bytes()).unwrap();
    check(schema, &value)
        .into_iter()
        .map(|it| (it.path, it.constraint))
        .collect()
}

fn message(schema: &'static Schema, json: &str) -> String {
    let violations = check(schema, &parse(json.as_bytes()).unwrap());
    violations
        .into_iter()
        .map(|it| it.message)
        .collect::<Vec<_>>()
        .join("; ")
}

fn accepts(schema: &'static Schema, values: &[&str]) {
    for value in values {
        assert_eq!(found(schema, value), [], "{value}");
    }
}

fn refuses(schema: &'static Schema, constraint: &'static str, values: &[&str]) {
    for value in values {
        assert_eq!(
            found(schema, value),
            [(String::new(), constraint)],
            "{value}"
        );
    }
}

#[test]
fn lengths_count_code_points() {
    accepts(&NAME, &[r#""a""#, r#""abc""#, r#""ééé""#, r#""😀😀😀""#]);
    refuses(&NAME, "minLength", &[r#""""#]);
    refuses(
        &NAME,
        "maxLength",
        &[r#""abcd""#, r#""😀😀😀😀""#, r#""e\u0301e\u0301""#],
    );
}

#[test]
fn a_pattern_refuses_u0000_anywhere() {
    refuses(&NAME, "pattern", &[r#""\u0000""#, r#""a\u0000b""#]);
}

#[test]
fn bounds_are_exact_and_include_their_ends_unless_exclusive() {
    accepts(
        &AMOUNT,
        &[
            "0",
            "-0",
            "-0.0e7",
            "0.1",
            "1e12",
            "1000000000000.000",
            "0.000000000000000000001",
        ],
    );
    refuses(
        &AMOUNT,
        "minimum",
        &["-1", "-1e-400", "-0.000000000000000000000000000001"],
    );
    refuses(
        &AMOUNT,
        "maximum",
        &["1000000000000.000000000000000000000001", "1e13", "1e400"],
    );
    accepts(&RATE, &["1e-400"]);
    refuses(&RATE, "minimum", &["0", "0.000"]);
}

#[test]
fn precision_is_refused_before_bounds() {
    let nines = "9".repeat(41);
    refuses(
        &AMOUNT,
        "precision",
        &[
            "1e999999999",
            "-1e401",
            "1e-401",
            &nines,
            &format!("0.{nines}"),
        ],
    );
    assert!(!message(&AMOUNT, &nines).contains("999"));
}

#[test]
fn an_integer_has_neither_fraction_nor_exponent() {
    accepts(&COUNT, &["1", "8"]);
    refuses(&COUNT, "type", &["1.0", "1e0", "\"1\"", "true"]);
    refuses(&COUNT, "minimum", &["0", "-9223372036854775809"]);
    refuses(&COUNT, "maximum", &["9", "99999999999999999999999999"]);
}

#[test]
fn types_are_told_apart_and_null_is_one() {
    for (schema, wrong) in [
        (&NAME, ["1", "true", "null", "[]", "{}"]),
        (&AMOUNT, ["\"1\"", "true", "null", "[]", "{}"]),
        (&FLAG, ["\"true\"", "1", "null", "[]", "{}"]),
        (&TAGS, ["\"a\"", "1", "null", "true", "{}"]),
        (&PRODUCT, ["\"a\"", "1", "null", "[]", "true"]),
        (&EITHER, ["\"a\"", "1", "null", "[]", "true"]),
    ] {
        refuses(schema, "type", &wrong);
    }
    accepts(&NOTE, &["null", r#""x""#]);
    assert_eq!(
        message(&NOTE, "1"),
        "must be a string or null, but is a number"
    );
}

#[test]
fn an_enumeration_is_exact_admits_no_other_type_and_never_shows_a_long_value() {
    accepts(&KIND, &[r#""GOODS""#]);
    refuses(&KIND, "enum", &[r#""goods""#, r#""""#, r#""GOODS ""#]);
    assert_eq!(
        message(&KIND, r#""goods""#),
        "must be one of GOODS, SERVICES, but is \"goods\""
    );
    for (value, kind) in [("1", "a number"), ("null", "null"), ("[]", "an array")] {
        let both = ["type", "enum"].map(|constraint| (String::new(), constraint));
        assert_eq!(found(&KIND, value), both, "{value}");
        let told = format!("must be one of GOODS, SERVICES, but is {kind}");
        assert!(message(&KIND, value).ends_with(&told));
    }
    let secret = "s".repeat(43);
    assert!(message(&KIND, &format!("\"{secret}\"")).ends_with("but is a text of 43 characters"));
}

#[test]
fn formats_are_checked() {
    accepts(
        &ID,
        &[
            r#""0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47""#,
            r#""0190F3A2-7B64-7C1E-9D5A-3F0C8E2B1A47""#,
        ],
    );
    refuses(
        &ID,
        "format",
        &[
            r#""""#,
            r#""0190f3a27b647c1e9d5a3f0c8e2b1a47""#,
            r#""{0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47}""#,
            r#""0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a4""#,
            r#""urn:uuid:0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47""#,
        ],
    );
    accepts(
        &TIME,
        &[
            r#""2026-11-20T21:49:00.123Z""#,
            r#""2026-11-20t21:49:00+02:00""#,
        ],
    );
    refuses(
        &TIME,
        "format",
        &[
            r#""2026-11-20""#,
            r#""2026-11-20 21:49:00Z""#,
            "\"2026-11-20T21:49:00\u{2212}02:00\"",
            r#""2026-02-30T00:00:00Z""#,
            // In UTC, these are in the years 10000 and -1.
            r#""9999-12-31T23:59:59-23:59""#,
            r#""0000-01-01T00:00:00+23:59""#,
        ],
    );
}

#[test]
fn lists_have_a_size_and_may_ask_for_different_items() {
    accepts(&TAGS, &[r#"["a"]"#, r#"["a","b","c"]"#]);
    refuses(&TAGS, "minItems", &["[]"]);
    refuses(&TAGS, "maxItems", &[r#"["a","b","c","d"]"#]);
    refuses(&TAGS, "uniqueItems", &[r#"["a","a"]"#, r#"["a","\u0061"]"#]);
}

#[test]
fn all_violations_come_at_once_at_their_places() {
    let body = r#"{"price":-1,"note":1,"tags":["a","","long!"],"a/b~c":1}"#;
    let expected = [
        ("/name", "required"),
        ("/price", "minimum"),
        ("/note", "type"),
        ("/tags/1", "minLength"),
        ("/tags/2", "maxLength"),
        ("/a~1b~0c", "additionalProperties"),
    ];
    let found = found(&PRODUCT, body);
    let found: Vec<_> = found
        .iter()
        .map(|(path, constraint)| (path.as_str(), *constraint))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn an_open_object_ignores_what_it_does_not_know() {
    accepts(&OPEN, &[r#"{"kind":"GOODS","x":1}"#]);
}

#[test]
fn the_discriminator_selects_what_a_value_is_held_against() {
    accepts(
        &EITHER,
        &[r#"{"kind":"GOODS"}"#, r#"{"kind":"SERVICES","x":[]}"#],
    );
    for (body, constraints) in [
        ("{}", &["required"][..]),
        (r#"{"kind":1}"#, &["type", "enum"]),
        (r#"{"kind":"x"}"#, &["enum"]),
    ] {
        let expected: Vec<_> = constraints
            .iter()
            .map(|it| ("/kind".to_owned(), *it))
            .collect();
        assert_eq!(found(&EITHER, body), expected, "{body}");
    }
}

const fn limited(schema: &'static Schema, limits: &'static [Limit]) -> Schema {
    Schema {
        kind: Kind::Limited(schema, limits),
        nullable: false,
    }
}

static CENTS: Schema = limited(&AMOUNT, &[Limit::MultipleOf("0.01")]);
static ONE_OR_TWO: Schema = limited(&AMOUNT, &[Limit::Values(&["1", "2"])]);
static YES: Schema = limited(&FLAG, &[Limit::Values(&["true"])]);
static SOME: Schema = limited(&OPEN, &[Limit::MinProperties(2), Limit::MaxProperties(3)]);
static DATE: Schema = text(&[], Some(Format::Date), false);

static TEXT_OR_NUMBER: Schema = Schema {
    kind: Kind::Union(&[
        Alternative {
            sign: Sign::Text(&["GOODS", "SERVICES"]),
            schema: &KIND,
        },
        Alternative {
            sign: Sign::Number,
            schema: &AMOUNT,
        },
    ]),
    nullable: false,
};
static LETTER: Schema = Schema {
    kind: Kind::Union(&[Alternative {
        sign: Sign::Text(&[
            "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
        ]),
        schema: &NOTE,
    }]),
    nullable: false,
};

#[test]
fn limits_of_numbers_booleans_and_objects_are_kept() {
    accepts(&CENTS, &["0", "1.01", "1.010"]);
    refuses(&CENTS, "multipleOf", &["1.001"]);
    accepts(&ONE_OR_TWO, &["1", "2.0"]);
    refuses(&ONE_OR_TWO, "enum", &["3"]);
    accepts(&YES, &["true"]);
    refuses(&YES, "enum", &["false"]);
    accepts(
        &SOME,
        &[
            r#"{"kind":"GOODS","x":1}"#,
            r#"{"kind":"GOODS","x":1,"y":1}"#,
        ],
    );
    refuses(&SOME, "minProperties", &[r#"{"kind":"GOODS"}"#]);
    refuses(
        &SOME,
        "maxProperties",
        &[r#"{"kind":"GOODS","x":1,"y":1,"z":1}"#],
    );
}

#[test]
fn a_message_says_what_is_allowed_and_what_came_but_no_long_number() {
    let (long, longer) = (
        "0.".to_owned() + &"1".repeat(38),
        "0.".to_owned() + &"1".repeat(39),
    );
    for (schema, json, expected) in [
        (&NAME, r#""""#, "must have at least 1 character, but has 0"),
        (
            &NAME,
            r#""abcd""#,
            "must have at most 3 characters, but has 4",
        ),
        (&AMOUNT, "-1", "must be at least 0, but is -1"),
        (
            &AMOUNT,
            &format!("-{}", &longer),
            "must be at least 0, but is not",
        ),
        (
            &ID,
            r#""1""#,
            "must be a UUID, like 0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47",
        ),
        (&DATE, r#""1""#, "must be a date, like 2026-11-20"),
        (&CENTS, "0.001", "must be a multiple of 0.01, but is 0.001"),
        (
            &CENTS,
            &long,
            &format!("must be a multiple of 0.01, but is {long}"),
        ),
        (
            &CENTS,
            &longer,
            "must be a multiple of 0.01, but is a number",
        ),
        (&ONE_OR_TWO, "3", "must be one of 1, 2, but is 3"),
        (&YES, "false", "must be one of true, but is a boolean"),
        (
            &SOME,
            r#"{"kind":"GOODS"}"#,
            "must have at least 2 members, but has 1",
        ),
        (
            &SOME,
            r#"{"kind":"GOODS","x":1,"y":1,"z":1}"#,
            "must have at most 3 members, but has 4",
        ),
        (
            &TEXT_OR_NUMBER,
            "true",
            "must be one of GOODS, SERVICES or a number, but is a boolean",
        ),
        (
            &LETTER,
            "true",
            "must be one of a, b, c, d, e, f, g, h, i, j, k, l, ..., but is a boolean",
        ),
    ] {
        assert_eq!(message(schema, json), expected, "{json}");
    }
}
