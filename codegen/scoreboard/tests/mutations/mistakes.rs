//! The mistakes: things that a document may contain although it should not, or that few contain.

use fastrand::Rng;
use serde_json::{Value, json};

/// A replacement for a value: values at the edge of what a keyword may have.
fn replacement(random: &mut Rng) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1),
        json!(0.1),
        json!(1e300),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(""),
        json!("a"),
        json!("type"),
        json!("self"),
        json!("Self"),
        json!("é"),
        json!("a b"),
        json!("../x"),
        json!("{x}"),
        json!("/{x}/{y}"),
        json!("204"),
        json!("default"),
        json!("string"),
        json!("integer"),
        json!("number"),
        json!("object"),
        json!("array"),
        json!("boolean"),
        json!("uuid"),
        json!("date-time"),
        json!("password"),
        json!("int32"),
        json!("^(a+)+$"),
        json!("["),
        json!([]),
        json!({}),
        json!([null]),
        json!(["a", "a"]),
        json!([1]),
        json!({"type": "string"}),
        json!({"type": "number", "nullable": true}),
        json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        json!({"type": "object", "properties": {}}),
        json!("uint16"),
        json!("ipv6"),
        json!("date"),
        json!({"type": "object", "additionalProperties": {"type": "integer", "format": "uint8"}}),
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "enum": ["a", "b"]}}}),
        json!({"allOf": [{"$ref": "#/components/schemas/Record"}], "nullable": true}),
        json!({"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["b"]}]}),
        json!({"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/components/schemas/Record"}}]}),
        json!({"anyOf": [
            {"type": "object", "required": ["t"], "properties": {"t": {"type": "string", "enum": ["1", "x y"]}}},
            {"type": "object", "required": ["t"], "properties": {"t": {"type": "string", "enum": ["self"]}}},
        ]}),
        json!({"type": "string", "enum": [null]}),
        json!({"type": "object"}),
        json!({"not": {}}),
        json!({"type": "string", "enum": ["+1", "", "-1", "Self"]}),
        json!({"type": "object", "required": ["@a"], "properties": {"@a": {}, "a": {"nullable": true}, "_": {}}}),
        json!({"allOf": [{"$ref": "#/components/schemas/Thing"}, {"type": "object", "properties": {"a": {}}}]}),
        json!({"anyOf": [{"$ref": "#/components/schemas/Record"}, {"$ref": "#/components/schemas/Thing"}]}),
        json!({"oneOf": [{"type": "string", "format": "uuid"}, {"type": "string", "pattern": "^a"}, {}]}),
        json!({"properties": {"a": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"properties": {"b": {}}}]}),
        json!({"type": "object", "properties": {"extra": {}}, "additionalProperties": {"type": "number"}}),
        json!({"type": "object", "nullable": true, "required": ["a"], "properties": {"a": {"type": "string"}}}),
        json!({"oneOf": [{"type": "string", "nullable": true}, {"$ref": "#/components/schemas/Record"}]}),
        json!({"$ref": "#/components/schemas/Failure"}),
        json!({"$ref": "#/components/schemas/Nothing"}),
        json!({"$ref": "#"}),
        json!({"$ref": 7}),
    ];
    random.choice(values).unwrap_or_default()
}

fn name(random: &mut Rng) -> String {
    let names = [
        "type",
        "self",
        "Self",
        "gen",
        "try",
        "Option",
        "Default",
        "a",
        "A",
        "x-y",
        "x_y",
        "xY",
        "1",
        "",
        "é",
        "$ref",
        "nullable",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "minLength",
        "maxItems",
        "uniqueItems",
        "pattern",
        "enum",
        "default",
        "required",
        "items",
        "properties",
        "additionalProperties",
        "oneOf",
        "anyOf",
        "discriminator",
        "allOf",
        "x-rust-type",
        "4XX",
        "default",
        "description",
        "security",
        "deprecated",
        "get",
        "put",
        "200",
        "204",
        "299",
        "404",
        "parameters",
        "headers",
        "encoding",
        "content",
        "schema",
    ];
    random.choice(names).unwrap_or_default().to_owned()
}

/// Walks to a random place and makes a mistake there.
pub fn mutate(value: &mut Value, random: &mut Rng) {
    let deeper = random.usize(..8) != 0;
    match value {
        Value::Object(members) if deeper && !members.is_empty() => {
            let at = random.usize(..members.len());
            mutate(
                members
                    .values_mut()
                    .nth(at)
                    .expect("an index below the length"),
                random,
            );
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = random.usize(..items.len());
            mutate(&mut items[at], random);
        }
        Value::Object(members) if !members.is_empty() && random.usize(..3) != 0 => {
            let at = random.usize(..members.len());
            let old = members
                .keys()
                .nth(at)
                .expect("an index below the length")
                .clone();
            match random.usize(..3) {
                0 => drop(members.remove(&old)),
                1 => {
                    let moved = members.remove(&old).unwrap_or_default();
                    members.insert(name(random), moved);
                }
                _ => drop(members.insert(name(random), replacement(random))),
            }
        }
        Value::Array(items) if random.usize(..2) == 0 => {
            let copy = items.first().cloned().unwrap_or_default();
            items.push(copy);
        }
        _ => *value = replacement(random),
    }
}
