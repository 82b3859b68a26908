//! For every keyword of a schema, values on both sides of its boundary.
//!
//! The values are derived from the document alone. A keyword that this file does not know fails, so that no limit
//! can be added to a document without values on both sides.

use serde_json::{Value, json};
use test_support::document::Document;

/// A value to try.
#[derive(Clone, Debug)]
pub struct Try {
    /// The keyword under test.
    pub keyword: &'static str,
    /// The value as JSON text, because no number type can hold all decimals.
    pub literal: String,
    /// Whether the schema admits it.
    pub valid: bool,
}

fn admitted(keyword: &'static str, value: &Value) -> Try {
    literal(keyword, value.to_string(), true)
}

fn refused(keyword: &'static str, value: &Value) -> Try {
    literal(keyword, value.to_string(), false)
}

fn literal(keyword: &'static str, literal: String, valid: bool) -> Try {
    Try {
        keyword,
        literal,
        valid,
    }
}

/// The values to try for the scalar schema at a pointer.
pub fn tries(document: &Document, pointer: &str) -> Vec<Try> {
    let schema = document.at(pointer);
    let keywords = schema.as_object().expect("a schema is an object");
    let mut tries = Vec::new();
    for (keyword, value) in keywords {
        tries.extend(match keyword.as_str() {
            "type" => types(value, schema),
            "nullable" => vec![admitted("nullable", &Value::Null)],
            "enum" => enumeration(value),
            "minLength" | "maxLength" => lengths(keyword, value, schema),
            "pattern" => patterns(document, pointer, schema),
            "format" => formats(value),
            "minimum" | "maximum" => limits(keyword, value, schema),
            "description" | "default" | "example" | "title" => Vec::new(),
            other => panic!("no values are known for {other} at {pointer}"),
        });
    }
    tries
}

/// Numbers beyond a limit of the schema at a pointer, but by so little that a double cannot tell: decimals are
/// exact.
pub fn hairs(document: &Document, pointer: &str) -> Vec<Try> {
    let schema = document.at(pointer);
    let limit = |keyword: &str| schema[keyword].as_i64();
    let below = limit("minimum").map(|least| match least {
        0 => "-0.000000000000000000000000000001".to_owned(),
        least => format!("{}.999999999999999999999999", least - 1),
    });
    let above = limit("maximum").map(|most| format!("{most}.000000000000000000000001"));
    let hair = |keyword| move |text| literal(keyword, text, false);
    let hairs = [below.map(hair("minimum")), above.map(hair("maximum"))];
    hairs
        .into_iter()
        .flatten()
        .filter(|_| schema["type"] == json!("number"))
        .collect()
}

/// A value that the schema admits.
pub fn valid(document: &Document, pointer: &str) -> String {
    let tries = tries(document, pointer);
    let good = |attempt: &&Try| attempt.valid && attempt.literal != "null";
    let attempt = tries.iter().find(good);
    attempt
        .unwrap_or_else(|| panic!("no valid value is known for {pointer}"))
        .literal
        .clone()
}

fn types(kind: &Value, schema: &Value) -> Vec<Try> {
    let others = match kind.as_str() {
        Some("string") => vec![json!(1), json!(true), json!([]), json!({})],
        Some("number") => vec![json!("1"), json!(true), json!([1]), json!({})],
        Some("integer") => vec![json!("x"), json!(1.5)],
        other => panic!("no values are known for the type {other:?}"),
    };
    let null = (schema["nullable"] != json!(true)).then_some(Value::Null);
    let others = others.iter().chain(&null);
    others.map(|other| refused("type", other)).collect()
}

fn enumeration(values: &Value) -> Vec<Try> {
    let values = values.as_array().expect("an enum is a list");
    let first = values[0].as_str().expect("enums are texts");
    let swapped = match first == first.to_lowercase() {
        true => first.to_uppercase(),
        false => first.to_lowercase(),
    };
    let strangers = [format!("{first}x"), format!(" {first}"), swapped];
    let admitted = values.iter().map(|value| admitted("enum", value));
    admitted
        .chain(strangers.map(|other| refused("enum", &json!(other))))
        .collect()
}

/// Characters that patterns may admit, of one to four bytes each: a length counts code points.
const FILLS: [char; 4] = ['a', '7', 'é', '😀'];

fn lengths(keyword: &str, limit: &Value, schema: &Value) -> Vec<Try> {
    let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.expect("a length is a number");
    let fills = FILLS
        .into_iter()
        .filter(|fill| matches(schema, &fill.to_string().repeat(50)));
    fills
        .flat_map(|fill| {
            let text = |length: usize| json!(fill.to_string().repeat(length));
            match keyword {
                "minLength" if limit > 0 => vec![
                    admitted("minLength", &text(limit)),
                    refused("minLength", &text(limit - 1)),
                ],
                "minLength" => vec![admitted("minLength", &text(0))],
                _ => vec![
                    admitted("maxLength", &text(limit)),
                    refused("maxLength", &text(limit + 1)),
                ],
            }
        })
        .collect()
}

/// Whether the schema's pattern admits a text, according to the independent validator.
fn matches(schema: &Value, text: &str) -> bool {
    let only_pattern =
        json!({ "type": "string", "pattern": schema.get("pattern").unwrap_or(&json!("")) });
    let validator = Document::from_json(
        "pattern",
        json!({ "paths": {}, "s": { "schema": only_pattern } }),
    );
    validator.schemas.accepts("/s/schema", &json!(text))
}

fn patterns(document: &Document, pointer: &str, schema: &Value) -> Vec<Try> {
    let least = schema["minLength"].as_u64().unwrap_or(1).max(1);
    let filling = "a".repeat(usize::try_from(least).unwrap_or(1) - 1);
    let strange = ['\0', ' ', '\n', '/', 'é', '\u{7f}'];
    let tries: Vec<_> = strange
        .into_iter()
        .map(|character| format!("{filling}{character}"))
        .map(|text| match matches(schema, &text) {
            true => admitted("pattern", &json!(text)),
            false => refused("pattern", &json!(text)),
        })
        .collect();
    let both = [true, false].map(|valid| tries.iter().any(|attempt| attempt.valid == valid));
    let ordinary = document
        .schemas
        .accepts(pointer, &json!(filling.clone() + "a"));
    assert!(
        both[1] && (both[0] || ordinary),
        "one side of the pattern at {pointer} is missing"
    );
    tries
}

fn formats(format: &Value) -> Vec<Try> {
    match format.as_str() {
        Some("uuid") => {
            let id = "01a1faef-295b-7c3e-9f21-6d0b8a4c5e17";
            let strange = [
                "one".to_owned(),
                id.replace('-', ""),
                format!("{{{id}}}"),
                format!("urn:uuid:{id}"),
                format!("{}g", &id[..35]),
            ];
            [id.to_owned(), id.to_uppercase()]
                .iter()
                .map(|id| admitted("format", &json!(id)))
                .chain(strange.iter().map(|text| refused("format", &json!(text))))
                .collect()
        }
        // The width of a number, within which its limits keep it; and a hint for people.
        Some("int32" | "int64" | "password") => Vec::new(),
        other => panic!("no values are known for the format {other:?}"),
    }
}

fn limits(keyword: &str, limit: &Value, schema: &Value) -> Vec<Try> {
    let whole = limit
        .as_i64()
        .expect("the documents limit numbers by whole numbers");
    let least = keyword == "minimum";
    let keyword = if least { "minimum" } else { "maximum" };
    let beyond = whole + if least { -1 } else { 1 };
    let mut tries = vec![admitted(keyword, limit), refused(keyword, &json!(beyond))];
    if schema["type"] == json!("number") {
        tries.push(literal(keyword, format!("{whole}.00"), true));
        tries.push(literal(keyword, format!("{whole}e0"), true));
    }
    tries
}
