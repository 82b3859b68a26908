//! Documents with random mistakes: whatever is wrong with one, the generator says so or makes
//! something of it, and never panics.
//!
//! `CODEGEN_MUTATIONS` says how many documents to try (default 400), `CODEGEN_SEED` which ones. The
//! seed is printed, and a failing case is repeated by it.

use std::fs;
use std::path::Path;

use openapi_dropshot::Document;
use serde_json::{Value, json};

/// SplitMix64: enough of a random generator for picking mistakes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn documents() -> Vec<Value> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    ["documents", "accepted"]
        .iter()
        .flat_map(|folder| fs::read_dir(tests.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|it| it == "yaml" || it == "json")
        })
        .map(|path| {
            Document::read(path)
                .unwrap_or_else(|problems| panic!("{problems}"))
                .source
        })
        .collect()
}

/// What takes the place of something else: values at the edge of what a keyword may have.
fn replacement(random: &mut Random) -> Value {
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
        json!({"$ref": "#/components/schemas/Failure"}),
        json!({"$ref": "#/components/schemas/Nothing"}),
        json!({"$ref": "#"}),
        json!({"$ref": 7}),
    ];
    random.pick(&values).clone()
}

fn name(random: &mut Random) -> String {
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
    ];
    (*random.pick(&names)).to_owned()
}

/// Walks to a random place and makes a mistake there.
fn mutate(value: &mut Value, random: &mut Random) {
    let deeper = random.below(8) != 0;
    match value {
        Value::Object(members) if deeper && !members.is_empty() => {
            let at = random.below(members.len());
            mutate(
                members
                    .values_mut()
                    .nth(at)
                    .expect("an index below the length"),
                random,
            );
        }
        Value::Array(items) if deeper && !items.is_empty() => {
            let at = random.below(items.len());
            mutate(&mut items[at], random);
        }
        Value::Object(members) if !members.is_empty() && random.below(3) != 0 => {
            let at = random.below(members.len());
            let old = members
                .keys()
                .nth(at)
                .expect("an index below the length")
                .clone();
            match random.below(3) {
                0 => drop(members.remove(&old)),
                1 => {
                    let moved = members.remove(&old).unwrap_or_default();
                    members.insert(name(random), moved);
                }
                _ => drop(members.insert(name(random), replacement(random))),
            }
        }
        Value::Array(items) if random.below(2) == 0 => {
            let copy = items.first().cloned().unwrap_or_default();
            items.push(copy);
        }
        _ => *value = replacement(random),
    }
}

#[test]
fn no_document_makes_the_generator_panic() {
    let seed = variable("CODEGEN_SEED", 1);
    let count = variable("CODEGEN_MUTATIONS", 400);
    println!("CODEGEN_SEED={seed} CODEGEN_MUTATIONS={count}");
    let documents = documents();
    let mut accepted = 0;
    for case in seed..seed + count {
        let mut random = Random(case);
        let mut document = random.pick(&documents).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut document, &mut random);
        }
        println!("CODEGEN_SEED={case} CODEGEN_MUTATIONS=1");
        if let Ok(document) = Document::parse("mutated", &document.to_string(), "mutated") {
            accepted += 1;
            openapi_dropshot::server(&document).unwrap_or_else(|problems| panic!("{problems}"));
            openapi_dropshot::client(&[document], None, None)
                .unwrap_or_else(|problems| panic!("{problems}"));
        }
    }
    // Otherwise nothing but refusals would have been tried.
    assert!(count < 100 || accepted > 0, "no document was accepted");
    println!("{accepted} of {count} documents were accepted");
}

#[test]
fn no_text_makes_the_generator_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let texts: Vec<String> = ["petstore.yaml", "parcels.yaml", "shapes.json"]
        .map(|file| fs::read_to_string(folder.join(file)).unwrap())
        .into();
    let mut random = Random(variable("CODEGEN_SEED", 1));
    for _ in 0..variable("CODEGEN_MUTATIONS", 400) {
        let mut text: Vec<char> = random.pick(&texts).chars().collect();
        for _ in 0..=random.below(4) {
            let from = random.below(text.len());
            let to = (from + random.below(40)).min(text.len());
            let put: Vec<char> = random
                .pick(&[
                    "", " ", "\n", "&a ", "*a", "- ", ": ", "{", "]", "\"", "!!x ", "\u{0}", "|",
                ])
                .chars()
                .collect();
            text.splice(from..to, put);
        }
        let text: String = text.into_iter().collect();
        // Accepted or refused: either is fine.
        let _ = Document::parse("mutated", &text, "mutated");
    }
}
