//! The strict parser of JSON texts.

use std::time::{Duration, Instant};

use openapi_dropshot_runtime::Violation;
use openapi_dropshot_runtime::json::{MAX_DEPTH, Value, parse};
use proptest::prelude::*;

fn refusal(text: &[u8]) -> Violation {
    match parse(text) {
        Err(violation) => violation,
        Ok(value) => panic!("{:?} was read as {value:?}", String::from_utf8_lossy(text)),
    }
}

fn canonical(text: &str) -> String {
    let mut canonical = String::new();
    parse(text.as_bytes())
        .unwrap()
        .write_canonical(&mut canonical);
    canonical
}

#[test]
fn every_kind_of_value_is_read() {
    let text = br#" {"a": [null, true, false, -1.50e2, "x\u00e9\n"], "": {}, "b": []} "#;
    let Ok(Value::Object(members)) = parse(text) else {
        panic!("not an object")
    };
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
    assert_eq!(names, ["a", "", "b"]);
    let expected = [
        Value::Null,
        Value::Boolean(true),
        Value::Boolean(false),
        Value::Number("-1.50e2"),
        Value::String("xé\n".into()),
    ];
    assert_eq!(members[0].1, Value::Array(expected.into()));
}

#[test]
fn strings_without_escapes_are_borrowed() {
    let text = r#"["plain", "with \"escapes\\"]"#;
    let Ok(Value::Array(items)) = parse(text.as_bytes()) else {
        panic!("not an array")
    };
    assert!(matches!(
        &items[0],
        Value::String(std::borrow::Cow::Borrowed("plain"))
    ));
    assert_eq!(items[1], Value::String("with \"escapes\\".into()));
}

#[test]
fn what_is_not_json_is_refused() {
    for text in [
        "",
        " ",
        "{",
        "[",
        "\"",
        "nul",
        "nulls",
        "tru",
        "True",
        "NaN",
        "Infinity",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "--1",
        "1 2",
        "{} {}",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\":1 \"b\":2}",
        "'a'",
        "\"a",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\",
        "\"\t\"",
        "\"\u{1}\"",
        "/* c */ 1",
        "1 // c",
        "\u{feff}1",
        "[1]]",
        "{}}",
        "\u{a0}1",
    ] {
        let violation = refusal(text.as_bytes());
        assert_eq!(
            (violation.path.as_str(), violation.constraint),
            ("", "json"),
            "{text}"
        );
    }
}

#[test]
fn lone_surrogates_are_refused_and_pairs_are_read() {
    for text in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\u0041""#,
        r#""\udc00\ud800""#,
    ] {
        assert_eq!(refusal(text.as_bytes()).constraint, "json", "{text}");
    }
    assert_eq!(parse(br#""\ud83d\ude00""#), Ok(Value::String("😀".into())));
}

#[test]
fn invalid_utf8_is_refused_where_it_stands() {
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\x80\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\xff",
    ] {
        let message = refusal(bytes).message;
        assert!(message.contains("is not UTF-8 at line 1"), "{message}");
    }
}

#[test]
fn a_member_may_not_come_twice_in_small_and_large_objects() {
    for count in [1, 15, 16, 17, 1000] {
        let members: Vec<String> = (0..count)
            .map(|index| format!("\"m{index}\":{index}"))
            .collect();
        let members = members.join(",");
        assert!(parse(format!("{{{members}}}").as_bytes()).is_ok());
        let last = format!("m{}", count - 1);
        for (again, name) in [("m0", "m0"), ("\\u006d0", "m0"), (&last, &last)] {
            let text = format!("{{{members},\"{again}\":0}}");
            assert!(
                refusal(text.as_bytes())
                    .message
                    .contains(&format!("the member \"{name}\" twice")),
                "{count}"
            );
        }
    }
    assert!(
        parse(br#"{"a":{"a":1},"b":{"a":1}}"#).is_ok(),
        "objects have names of their own"
    );
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert!(
        refusal(nested(MAX_DEPTH + 1).as_bytes())
            .message
            .contains("deeper than 100")
    );
    assert!(
        refusal("[{\"a\":".repeat(30_000).as_bytes())
            .message
            .contains("deeper than 100")
    );
}

#[test]
fn a_position_names_line_and_column() {
    let message = refusal("{\n  \"é\": tru\n}".as_bytes()).message;
    assert!(message.ends_with("at line 2, column 8"), "{message}");
}

#[test]
fn long_names_are_not_repeated_in_messages() {
    let secret = "s".repeat(43);
    let message = refusal(format!("{{\"{secret}\":1,\"{secret}\":2}}").as_bytes()).message;
    assert!(!message.contains("ss"), "{message}");
}

#[test]
fn one_value_has_one_canonical_text() {
    for (one, other) in [
        (
            r#"{"b":1,"a":[1.0,"é"]}"#,
            r#" { "a" : [ 10e-1 , "\u00e9" ], "b": 1.00 } "#,
        ),
        ("-0.0", "0"),
        (r#""\/""#, r#""/""#),
    ] {
        assert_eq!(canonical(one), canonical(other));
    }
    for (one, other) in [
        ("{}", r#"{"a":null}"#),
        ("[1,2]", "[2,1]"),
        ("1", "\"1\""),
        ("1e500", "1e501"),
    ] {
        assert_ne!(canonical(one), canonical(other));
    }
}

#[test]
fn a_canonical_text_is_json_of_the_same_value() {
    for text in [
        r#""\"""#,
        r#""\\""#,
        r#""\n""#,
        r#"["a,b","a","b"]"#,
        r#"{"\"":{},"a":[1e0,[]]}"#,
    ] {
        assert_eq!(canonical(text), text, "{text}");
    }
}

#[test]
fn reading_takes_linear_time() {
    let many: String = (0..6_000)
        .map(|index| format!("\"{index:05}\":0,"))
        .collect();
    let texts = [
        format!("{{{many}\"\":0}}"),
        format!("\"{}\"", "\\n".repeat(32_000)),
        format!("[{}1]", "1,".repeat(32_000)),
        format!("1e{}", "9".repeat(64_000)),
    ];
    for text in texts {
        let start = Instant::now();
        assert!(parse(text.as_bytes()).is_ok());
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{:?}",
            &text[..10]
        );
    }
}

proptest! {
    /// Where this parser and serde_json's have the same rule, they agree on it.
    #[test]
    fn whatever_is_read_is_json(text in r#"[\[\]{},:" \\u0-9a-f.eE+-]{0,24}|\PC{0,12}"#) {
        let accepted = serde_json::from_str::<serde_json::Value>(&text);
        match (parse(text.as_bytes()), accepted) {
            (Ok(_), accepted) => {
                // serde_json refuses numbers that f64 cannot hold.
                prop_assert!(accepted.is_ok() || text.contains(['e', 'E']), "{}", text);
            }
            (Err(violation), Ok(_)) => {
                prop_assert!(violation.message.contains("twice"), "{}: {}", text, violation.message);
            }
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
    }
}
