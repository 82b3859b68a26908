//! A document of random schemas, all within the subset, for the tests of values.
//!
//! Schemas are drawn one by one, and refer to those before them. A schema that the generator refuses, as it
//! must some alternatives that nothing tells apart, is drawn again, so that what remains is as strange as it
//! can be.

use fastrand::Rng;
use openapi_dropshot::Document;
use serde_json::{Map, Value, json};

/// How many schemas the document has.
const SCHEMAS: usize = 120;

/// Returns the document of a seed.
pub fn document(seed: u64) -> Result<Document, String> {
    let mut random = Rng::with_seed(seed);
    let mut schemas = Map::new();
    let mut last = None;
    while schemas.len() < SCHEMAS {
        let name = format!("Random{}", schemas.len());
        schemas.insert(name.clone(), any(&mut random, schemas.len(), 0));
        match read(&schemas) {
            Ok(document) => last = Some(document),
            Err(_) => drop(schemas.remove(&name)),
        }
    }
    last.ok_or_else(|| "no schema was accepted".to_owned())
}

fn read(schemas: &Map<String, Value>) -> Result<Document, String> {
    let answers = json!({ "204": { "description": "Done." } });
    let source = json!({
        "openapi": "3.0.3",
        "info": { "title": "Random schemas", "version": "1" },
        "paths": { "/": { "get": { "operationId": "read", "responses": answers } } },
        "components": { "schemas": schemas },
    });
    Document::parse("random.json", &source.to_string(), "random")
        .map_err(|problems| problems.to_string())
}

/// A schema that may refer to the first `before`.
fn any(random: &mut Rng, before: usize, depth: usize) -> Value {
    if depth > 0 && before > 0 && random.u8(..4) == 0 {
        return json!({ "$ref": format!("#/components/schemas/Random{}", random.usize(..before)) });
    }
    let mut schema = match random.u8(..if depth < 3 { 12 } else { 5 }) {
        0 => json!({ "type": "boolean" }),
        1 => integer(random),
        2 => number(random),
        3 | 4 => string(random),
        5 => list(random, before, depth),
        6 | 7 => object(random, before, depth),
        8 => {
            let values = any(random, before, depth + 1);
            json!({ "type": "object", "additionalProperties": values })
        }
        9 => alternatives(random, before, depth),
        10 => tagged(random, before, depth),
        _ => json!({}),
    };
    let may_be_null = depth > 0 && schema.get("type").is_some();
    if may_be_null && random.u8(..5) == 0 {
        schema["nullable"] = true.into();
    }
    schema
}

fn integer(random: &mut Rng) -> Value {
    let mut schema = json!({ "type": "integer" });
    let formats = ["int8", "int32", "int64", "uint8", "uint32", "uint64"];
    if random.bool() {
        schema["format"] = formats[random.usize(..formats.len())].into();
    }
    bounds(&mut schema, random);
    if random.u8(..4) == 0 {
        schema["multipleOf"] = random.i32(1..5).into();
    }
    schema
}

fn number(random: &mut Rng) -> Value {
    let mut schema = json!({ "type": "number" });
    bounds(&mut schema, random);
    if random.u8(..4) == 0 {
        schema["multipleOf"] = json!([0.5, 2.0, 0.25][random.usize(..3)]);
    }
    schema
}

fn bounds(schema: &mut Value, random: &mut Rng) {
    if random.bool() {
        schema["minimum"] = random.i32(0..4).into();
        schema["exclusiveMinimum"] = random.bool().into();
    }
    if random.bool() {
        schema["maximum"] = random.i32(4..9).into();
        schema["exclusiveMaximum"] = random.bool().into();
    }
}

fn string(random: &mut Rng) -> Value {
    let mut schema = json!({ "type": "string" });
    let formats = [
        "uuid",
        "date-time",
        "date",
        "ip",
        "ipv4",
        "ipv6",
        "byte",
        "uri",
    ];
    match random.u8(..6) {
        0 => {}
        1 => schema["format"] = formats[random.usize(..formats.len())].into(),
        2 => schema["enum"] = json!(["a", "b c", "+1"][..random.usize(1..=3)]),
        3 => schema["pattern"] = json!(["^[a-c]*$", "b", r"^\d{2}$"][random.usize(..3)]),
        _ => {
            schema["minLength"] = random.usize(..3).into();
            schema["maxLength"] = random.usize(3..6).into();
        }
    }
    schema
}

fn list(random: &mut Rng, before: usize, depth: usize) -> Value {
    let mut schema = json!({ "type": "array", "items": any(random, before, depth + 1) });
    if random.bool() {
        schema["minItems"] = random.usize(..2).into();
        schema["maxItems"] = random.usize(2..4).into();
    }
    if random.u8(..3) == 0 {
        schema["uniqueItems"] = true.into();
    }
    schema
}

fn object(random: &mut Rng, before: usize, depth: usize) -> Value {
    let names = ["a", "b", "type", "x-y", "@id", "extra"];
    let mut properties = Map::new();
    for name in &names[..random.usize(..=names.len())] {
        properties.insert((*name).to_owned(), any(random, before, depth + 1));
    }
    let required = properties.keys().filter(|_| random.bool());
    let required: Vec<_> = required.cloned().collect();
    let mut schema = json!({ "type": "object", "properties": properties, "required": required });
    match random.u8(..6) {
        0 | 1 => schema["additionalProperties"] = false.into(),
        2 => schema["additionalProperties"] = any(random, before, depth + 1),
        _ => {}
    }
    if random.u8(..4) == 0 {
        schema["minProperties"] = random.usize(..2).into();
        schema["maxProperties"] = random.usize(2..5).into();
    }
    schema
}

fn alternatives(random: &mut Rng, before: usize, depth: usize) -> Value {
    let count = random.usize(2..4);
    let parts = std::iter::repeat_with(|| any(random, before, depth + 1));
    let mut parts: Vec<_> = parts.take(count).collect();
    // More often than elsewhere: it makes the whole nullable.
    if random.u8(..3) == 0 && parts[0].get("type").is_some() {
        parts[0]["nullable"] = true.into();
    }
    let keyword = ["oneOf", "anyOf"][random.usize(..2)];
    json!({ keyword: parts })
}

/// Alternatives that a property tells apart.
fn tagged(random: &mut Rng, before: usize, depth: usize) -> Value {
    let parts = ["one", "two", "three"].map(|tag| {
        let mut part = object(random, before, depth + 1);
        part["properties"]["kind"] = json!({ "type": "string", "enum": [tag] });
        let required = part["required"].as_array_mut();
        required.into_iter().for_each(|it| it.push("kind".into()));
        part
    });
    json!({ "oneOf": parts[..random.usize(2..=3)] })
}
