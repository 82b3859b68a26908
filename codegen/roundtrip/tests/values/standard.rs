//! Translates a component to JSON Schema 2020-12, so that a validator of that can judge its values.
//!
//! What OpenAPI 3.0 defines differently is translated; what the generator promises beyond that (`crate`'s page of
//! the subset) is expressed in keywords: the width of an integer, `format: ip` and `byte`, and the tag of a
//! discriminator, which has no effect in JSON Schema.

use serde_json::{Map, Value, json};

/// Returns the schema of a component among these.
pub fn component(schemas: &Value, name: &str) -> Value {
    let all = schemas.as_object().into_iter().flatten();
    let all: Map<String, Value> = all
        .map(|(name, it)| (name.clone(), translated(it, schemas)))
        .collect();
    json!({
        "$ref": format!("#/components/schemas/{name}"),
        "components": { "schemas": all },
    })
}

fn translated(schema: &Value, schemas: &Value) -> Value {
    let Some(members) = schema.as_object() else {
        return schema.clone();
    };
    let mut made = Map::new();
    for (keyword, value) in members {
        let value = match keyword.as_str() {
            "properties" => each(value, schemas),
            "items" | "additionalProperties" | "not" => translated(value, schemas),
            "oneOf" | "anyOf" | "allOf" => {
                let parts = value.as_array().into_iter().flatten();
                parts.map(|it| part(it, schema, schemas)).collect()
            }
            "type" | "required" | "minimum" | "maximum" | "multipleOf" | "minLength"
            | "maxLength" | "pattern" | "minItems" | "maxItems" | "uniqueItems"
            | "minProperties" | "maxProperties" | "enum" | "$ref" => value.clone(),
            // Handled below, or only documentation.
            _ => continue,
        };
        made.insert(keyword.clone(), value);
    }
    if schema["enum"] == json!([null]) {
        made.remove("type");
    }
    for (of, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if schema[of] == true
            && let Some(bound) = made.remove(bound)
        {
            made.insert(of.to_owned(), bound);
        }
    }
    let made = json!({ "allOf": [made, format(schema)] });
    match schema["nullable"] == true {
        true => json!({ "anyOf": [made, { "type": "null" }] }),
        false => made,
    }
}

fn each(schemas_of: &Value, schemas: &Value) -> Value {
    let all = schemas_of.as_object().into_iter().flatten();
    all.map(|(name, it)| (name.clone(), translated(it, schemas)))
        .collect::<Map<_, _>>()
        .into()
}

/// What a `format` means for values of its type.
fn format(schema: &Value) -> Value {
    let whole = |least: i128, most: i128| {
        // The ends of 64 bits are exact as integers.
        let text = format!("{{\"minimum\":{least},\"maximum\":{most}}}");
        serde_json::from_str(&text).unwrap()
    };
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("integer"), Some("int8")) => whole(i8::MIN.into(), i8::MAX.into()),
        (Some("integer"), Some("int16")) => whole(i16::MIN.into(), i16::MAX.into()),
        (Some("integer"), Some("int32")) => whole(i32::MIN.into(), i32::MAX.into()),
        (Some("integer"), Some("uint8")) => whole(0, u8::MAX.into()),
        (Some("integer"), Some("uint16")) => whole(0, u16::MAX.into()),
        (Some("integer"), Some("uint32")) => whole(0, u32::MAX.into()),
        (Some("integer"), Some("uint64" | "uint")) => whole(0, u64::MAX.into()),
        (Some("integer"), _) => whole(i64::MIN.into(), i64::MAX.into()),
        (Some("string"), Some("ip")) => json!({ "if": { "type": "string" }, "then": {
            "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }],
        } }),
        (Some("string"), Some(it @ ("uuid" | "date-time" | "date" | "ipv4" | "ipv6" | "byte"))) => {
            json!({ "format": it })
        }
        _ => json!({}),
    }
}

/// An alternative, which must have its tag if there is a discriminator. Null has none.
fn part(part: &Value, schema: &Value, schemas: &Value) -> Value {
    let plain = translated(part, schemas);
    let Some(tag) = schema["discriminator"]["propertyName"].as_str() else {
        return plain;
    };
    let target = part["$ref"].as_str().unwrap_or_default();
    let name = target.rsplit('/').next().unwrap_or_default();
    let mapping = schema["discriminator"]["mapping"].as_object();
    let mapped: Vec<&str> = mapping
        .into_iter()
        .flatten()
        .filter(|(_, to)| *to == target || *to == name)
        .map(|(value, _)| value.as_str())
        .collect();
    let listed = &schemas[name]["properties"][tag]["enum"];
    let values = match (mapped.is_empty(), listed.is_array()) {
        (false, _) => json!(mapped),
        (true, true) => listed.clone(),
        (true, false) => json!([name]),
    };
    let tagged = json!({ "allOf": [plain, {
        "type": "object",
        "required": [tag],
        "properties": { tag: { "enum": values } },
    }] });
    json!({ "anyOf": [tagged, { "allOf": [plain, { "type": "null" }] }] })
}
