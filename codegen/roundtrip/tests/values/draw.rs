//! Draws random values that a schema admits, or nearly admits.
//!
//! Not drawn, since the runtime intentionally differs from JSON Schema here:
//!
//! - `1.0` and `1e0` for an integer: an integer has neither fraction nor exponent;
//! - numbers of more than 40 digits, which it refuses as too precise;
//! - leap seconds, and spellings of UUIDs and times that only one of the two formats' standards has.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;
use serde_json::{Map, Number, Value, json};

/// What `format: byte` requires.
pub fn is_base64(text: &str) -> bool {
    STANDARD.decode(text).is_ok()
}

/// A value for a component among these: three of four as drawn, the others with a mistake.
pub fn value(random: &mut Rng, schemas: &Value, name: &str) -> Value {
    let mut value = of(random, &schemas[name], schemas, 0);
    if random.u8(..4) == 0 {
        spoil(&mut value, random);
    }
    value
}

fn of(random: &mut Rng, schema: &Value, schemas: &Value, depth: usize) -> Value {
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or_default();
        return of(random, &schemas[name], schemas, depth);
    }
    if schema["nullable"] == true && random.u8(..6) == 0 {
        return Value::Null;
    }
    if random.u8(..40) == 0 {
        return stray(random);
    }
    if let Some(values) = schema["enum"].as_array().filter(|it| !it.is_empty()) {
        return values[random.usize(..values.len())].clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|it| of(random, it, schemas, depth));
        let first = parts.reduce(merged).unwrap_or_default();
        return merged(first, members(random, schema, schemas, depth).into());
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(parts) = schema[keyword].as_array() {
            return alternative(random, schema, parts, schemas, depth);
        }
    }
    match schema["type"].as_str() {
        Some("boolean") => random.bool().into(),
        Some("integer") => integer(random, schema),
        Some("number") => number(random, schema),
        Some("string") => string(random, schema).into(),
        Some("array") => list(random, schema, schemas, depth),
        Some("object") => members(random, schema, schemas, depth).into(),
        _ => stray(random),
    }
}

/// A value of one of these, with its tag if it has one.
fn alternative(
    random: &mut Rng,
    schema: &Value,
    parts: &[Value],
    schemas: &Value,
    depth: usize,
) -> Value {
    let part = &parts[random.usize(..parts.len())];
    let mut value = of(random, part, schemas, depth);
    let tag = schema["discriminator"]["propertyName"].as_str();
    if let (Some(tag), Some(members)) = (tag, value.as_object_mut()) {
        let mapping = schema["discriminator"]["mapping"].as_object();
        let mut names: Vec<&str> = mapping
            .into_iter()
            .flatten()
            .map(|(it, _)| it.as_str())
            .collect();
        if names.is_empty() && !members.contains_key(tag) {
            names.extend(part["$ref"].as_str().and_then(|it| it.rsplit('/').next()));
        }
        if !names.is_empty() && random.u8(..10) != 0 {
            members.insert(tag.to_owned(), names[random.usize(..names.len())].into());
        }
    }
    match schema["properties"].is_object() {
        true => merged(value, members(random, schema, schemas, depth).into()),
        false => value,
    }
}

fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            first.extend(second);
            first.into()
        }
        (first, _) => first,
    }
}

fn members(random: &mut Rng, schema: &Value, schemas: &Value, depth: usize) -> Map<String, Value> {
    let mut members = Map::new();
    let required = schema["required"].as_array();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.is_some_and(|it| it.iter().any(|it| it == name));
        let chance = if is_required { 30 } else { 2 };
        if (depth < 6 || is_required) && random.u8(..chance) != 0 {
            members.insert(name.clone(), of(random, property, schemas, depth + 1));
        }
    }
    let is_map = schema["additionalProperties"].is_object();
    let more = if is_map {
        random.usize(..4)
    } else {
        usize::from(random.u8(..8) == 0)
    };
    for at in 0..more {
        let name = ["m", "", "é", "type"][at];
        let value = match is_map {
            true => of(random, &schema["additionalProperties"], schemas, depth + 1),
            false => stray(random),
        };
        if !members.contains_key(name) {
            members.insert(name.to_owned(), value);
        }
    }
    members
}

fn list(random: &mut Rng, schema: &Value, schemas: &Value, depth: usize) -> Value {
    let least = schema["minItems"].as_u64().unwrap_or(0);
    let most = schema["maxItems"].as_u64().unwrap_or(least + 2);
    let most = if depth < 6 { most } else { least };
    let count = match random.u8(..20) {
        0 => least.saturating_sub(1),
        1 => most + 1,
        _ => random.u64(least..=most),
    };
    (0..count)
        .map(|_| of(random, &schema["items"], schemas, depth + 1))
        .collect()
}

fn integer(random: &mut Rng, schema: &Value) -> Value {
    let of = schema["multipleOf"].as_i64().unwrap_or(1);
    let ends = [schema["minimum"].as_i64(), schema["maximum"].as_i64()];
    let near = ends[random.usize(..2)].unwrap_or(0);
    let extremes = [
        i64::MIN,
        i64::MAX,
        -128,
        127,
        128,
        255,
        256,
        1 << 31,
        1 << 32,
    ];
    match random.u8(..12) {
        0 => extremes[random.usize(..extremes.len())].into(),
        1 => u64::MAX.into(),
        2 => (near + random.i64(-2..3)).into(),
        _ => ((near + random.i64(-2..6)) / of * of).into(),
    }
}

fn number(random: &mut Rng, schema: &Value) -> Value {
    let ends = [schema["minimum"].as_f64(), schema["maximum"].as_f64()];
    let near = ends[random.usize(..2)].unwrap_or(0.0);
    let value = near + f64::from(random.i32(-4..8)) / 4.0;
    // Whole numbers are written without a fraction, since an integer may also be meant.
    match value.fract() == 0.0 {
        true => (value as i64).into(),
        false => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}

fn string(random: &mut Rng, schema: &Value) -> String {
    let some: &[&str] = match schema["format"].as_str() {
        Some("uuid") => &[
            "0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47",
            "0190F3A2-7b64-7c1e-9d5a-3f0c8e2b1a47",
            "0190f3a2",
        ],
        Some("date-time") => &[
            "2026-11-20T21:49:00.123Z",
            "2026-02-28t21:49:00+02:00",
            "2026-02-30T00:00:00Z",
            "2026-11-20",
        ],
        Some("date") => &["2026-11-20", "2024-02-29", "2025-02-29", "2026-1-1"],
        Some("ip" | "ipv4" | "ipv6") => &[
            "192.0.2.1",
            "::1",
            "2001:DB8::1",
            "192.0.2.256",
            "192.0.2.01",
            "1::2::3",
        ],
        Some("byte") => &["", "YWI=", "YWJj", "YWI", "YW==I", "Y"],
        _ => &[
            "",
            "a",
            "b",
            "abc",
            "cab",
            "17",
            "éé",
            "😀",
            "a\u{301}",
            "longer than it may be",
            "x\u{0}",
        ],
    };
    let one = some[random.usize(..some.len())];
    let least = schema["minLength"].as_u64().unwrap_or(0) as usize;
    let most = schema["maxLength"]
        .as_u64()
        .map_or(least + 3, |it| it as usize);
    if schema["format"].is_null() && random.bool() && most < 1000 {
        let letters = random.usize(least.saturating_sub(1)..=most + 1);
        return "a".repeat(letters);
    }
    one.to_owned()
}

/// Any value at all.
fn stray(random: &mut Rng) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(0.5),
        json!(""),
        json!("a"),
        json!("one"),
        json!([]),
        json!([1, "a"]),
        json!({}),
        json!({ "a": null, "kind": "one" }),
    ];
    all[random.usize(..all.len())].clone()
}

/// Makes a mistake somewhere.
fn spoil(value: &mut Value, random: &mut Rng) {
    match value {
        Value::Object(members) if !members.is_empty() && random.u8(..4) != 0 => {
            let at = random.usize(..members.len());
            let name = members.keys().nth(at).cloned().unwrap_or_default();
            match random.u8(..3) {
                0 => drop(members.remove(&name)),
                _ => spoil(&mut members[&name], random),
            }
        }
        Value::Array(items) if !items.is_empty() && random.u8(..4) != 0 => {
            let at = random.usize(..items.len());
            match random.u8(..3) {
                0 => items.push(items[at].clone()),
                _ => spoil(&mut items[at], random),
            }
        }
        _ => *value = stray(random),
    }
}
