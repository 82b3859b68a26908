//! Random values, judged by the runtime, by the `jsonschema` crate, and by the generated types.
//!
//! The schemas are the components of the documents that show what is accepted, and random ones
//! (`CODEGEN_SCHEMAS_SEED`, at build time). `CODEGEN_VALUES` sets how many values to try, `CODEGEN_SEED` which ones;
//! the seed is printed.
//!
//! 1. The runtime accepts what the schema, translated to JSON Schema by [`standard`], admits, and nothing else.
//!    [`standard`] documents where the two differ intentionally, and [`draw`] which values are therefore not tried.
//! 2. The type reads whatever the runtime accepts, and writes it as it was, except for members that an open object
//!    does not know and other spellings of the same time or address.

mod draw;
mod standard;

use std::net::IpAddr;

use jsonschema::{Draft, Validator};
use openapi_dropshot_runtime::{json, schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

include!(concat!(env!("OUT_DIR"), "/components.rs"));

struct Source {
    document: &'static str,
    components: Vec<Component>,
}

struct Component {
    name: &'static str,
    schema: &'static schema::Schema,
    read: fn(&str) -> Result<Value, String>,
}

/// Reads a text into the type of a component, and writes it again.
fn reread<T: DeserializeOwned + Serialize>(text: &str) -> Result<Value, String> {
    let value: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// A component, and what else judges its values.
struct Judged {
    component: Component,
    schemas: std::rc::Rc<Value>,
    validator: Validator,
}

fn judged() -> Vec<Judged> {
    let mut all = Vec::new();
    for source in sources() {
        let document: Value = serde_json::from_str(source.document).unwrap();
        let schemas = std::rc::Rc::new(document["components"]["schemas"].clone());
        for component in source.components {
            let validator = jsonschema::options()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true)
                .with_format("byte", draw::is_base64)
                .build(&standard::component(&schemas, component.name))
                .unwrap();
            all.push(Judged {
                component,
                schemas: schemas.clone(),
                validator,
            });
        }
    }
    all
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn values_are_judged_as_jsonschema_does_and_accepted_ones_are_read() {
    let seed = variable("CODEGEN_SEED", 1);
    let count = variable("CODEGEN_VALUES", 5_000);
    println!("CODEGEN_SEED={seed} CODEGEN_VALUES={count}");
    let all = judged();
    let mut accepted = 0;
    let mut wrong = Vec::new();
    for case in seed..seed + count {
        let mut random = fastrand::Rng::with_seed(case);
        let judged = &all[random.usize(..all.len())];
        let value = draw::value(&mut random, &judged.schemas, judged.component.name);
        let text = value.to_string();
        let of_value = json::parse(text.as_bytes()).unwrap();
        let violations = schema::check(judged.component.schema, &of_value);
        accepted += u64::from(violations.is_empty());
        let problem = match (violations.is_empty(), judged.validator.is_valid(&value)) {
            // No type of a component holds its null: what refers to it does.
            (true, true) if value.is_null() => None,
            (true, true) => read(&judged.component, &value, &text).err(),
            (false, false) => None,
            (true, false) => Some("accepted, and jsonschema refuses it".to_owned()),
            (false, true) => Some(format!("refused, and jsonschema does not: {violations:?}")),
        };
        let (name, at) = (
            judged.component.name,
            &judged.schemas[judged.component.name],
        );
        wrong.extend(problem.map(|it| format!("CODEGEN_SEED={case}: {name}: {text}\n{it}\n{at}")));
    }
    let first = &wrong[..wrong.len().min(20)];
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        first.join("\n\n")
    );
    // Otherwise hardly anything but refusals, or nothing but acceptances, would have been tried.
    println!("{accepted} of {count} values were accepted");
    assert!(count < 100 || (count / 5..count * 4 / 5).contains(&accepted));
}

fn read(component: &Component, value: &Value, text: &str) -> Result<(), String> {
    let written = (component.read)(text).map_err(|error| format!("not read: {error}"))?;
    match says_the_same(value, &written) {
        true => Ok(()),
        false => Err(format!("written as {written}")),
    }
}

/// Whether the value written equals the value read, as far as the type knows its members.
fn says_the_same(read: &Value, written: &Value) -> bool {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => written
            .iter()
            .all(|(name, it)| read.get(name).is_some_and(|read| says_the_same(read, it))),
        (Value::Array(read), Value::Array(written)) => {
            read.len() == written.len()
                && read.iter().zip(written).all(|(a, b)| says_the_same(a, b))
        }
        (Value::Number(read), Value::Number(written)) => read.as_f64() == written.as_f64(),
        (Value::String(read), Value::String(written)) => {
            read == written
                || read.to_lowercase() == written.to_lowercase()
                || read
                    .parse::<IpAddr>()
                    .is_ok_and(|it| written.parse() == Ok(it))
                || chrono::DateTime::parse_from_rfc3339(read)
                    .is_ok_and(|it| chrono::DateTime::parse_from_rfc3339(written) == Ok(it))
        }
        _ => read == written,
    }
}
