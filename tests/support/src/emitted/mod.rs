//! The document that the running traits describe themselves with, against the published one.
//!
//! 1. dropshot knows errors only as `4XX` and `5XX`, so that the published error statuses are folded into those
//!    two. Statuses that fold into one and have different schemas cannot be what the traits answer, unless they answer
//!    any of these, and fail. Errors without a body are not told, and no answer to HEAD has one. dropshot tells both
//!    or neither, so that one that a document leaves out becomes the other. Several successes are one, of any of their
//!    bodies. Of bodies it knows JSON, forms, and bytes, which in an answer are anything; all of requests are
//!    required. Other media types, and bodies that may be left out, are written so, and of a list in a query what its
//!    items are.
//! 2. Both are brought into one writing: `required` is a set, which dropshot sorts; it writes every
//!    bound of a number with a fraction, and neither discriminators nor an empty list of properties. It writes a
//!    description beside a `$ref` with an `allOf`, and the types that go without saying.
//! 3. `drift` compares the rest. Anything but a trivial difference fails, and so does what it gives
//!    up on, but for an `allOf` of several.
//! 4. What `drift` does not look at, or calls trivial, is compared exactly: operationIds, tags,
//!    parameters, the headers of successes, and of schemas `nullable` and `default`.
//!
//! dropshot says nothing about security, discriminators and the headers of errors. Those are proven
//! by behaviour: by the answers of `tests/contract`, and other media types by those of
//! `codegen/roundtrip/tests/behaviour/media.rs`.

mod fold;
mod same;

use std::panic::{AssertUnwindSafe, catch_unwind};

use drift::ChangeClass;
use serde_json::{Map, Value};

use crate::document::Document;

pub use fold::folded;

/// Every difference between the published document and the emitted one, in words.
pub fn differences(published: &Value, emitted: &Value) -> Vec<String> {
    let (mut folded, mut differences) = fold::folded(published);
    differences.retain(|problem| !tells_any(emitted, problem));
    let mut emitted = emitted.clone();
    rewrite(&mut folded);
    rewrite(&mut emitted);
    differences.extend(drift(&folded, &emitted));
    let folded = Document::from_json("published", folded);
    let emitted = Document::from_json("emitted", emitted);
    differences.extend(same::differences(&folded, &emitted));
    differences
}

/// Whether the operation that a problem of step 1 begins with answers any of several errors.
fn tells_any(emitted: &Value, problem: &str) -> bool {
    let document = Document::from_json("emitted", emitted.clone());
    let id = problem.split(" answers ").next();
    let mut operations = document.operations.iter();
    let operation = operations.find(|it| Some(it.id.as_str()) == id);
    operation.is_some_and(|it| {
        let error = document.at(&format!("{}/responses/4XX", it.pointer));
        error["content"]["application/json"]["schema"]["anyOf"].is_array()
    })
}

/// Step 2.
fn rewrite(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("discriminator");
            if members
                .get("properties")
                .is_some_and(|it| it == &Value::Object(Map::new()))
            {
                members.remove("properties");
            }
            for (name, member) in members.iter_mut() {
                match member {
                    Value::Array(names) if name == "required" => {
                        names.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                    }
                    member => rewrite(member),
                }
            }
            imply(members);
            collapse(members);
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Number(number) => {
            if let Some(whole) = number
                .as_f64()
                .filter(|it| it.fract() == 0.0 && it.abs() < 1e15)
            {
                *value = (whole as i64).into();
            }
        }
        _ => {}
    }
}

/// Writes the type that goes without saying, among values that are texts or where other parts are objects.
fn imply(members: &mut Map<String, Value>) {
    let texts = members.get("enum").and_then(Value::as_array);
    let has_texts = texts.is_some_and(|it| it.iter().all(Value::is_string));
    let properties = members.get("properties").and_then(Value::as_object);
    let has_members = members.get("required").is_some_and(Value::is_array)
        || properties.is_some_and(|it| it.values().all(Value::is_object));
    if !members.contains_key("type") && (has_texts || has_members) {
        let implied = if has_texts { "string" } else { "object" };
        members.insert("type".to_owned(), implied.into());
    }
}

/// A reference beside which something is only told is that reference, and dropshot writes it as an `allOf` of it.
fn collapse(members: &mut Map<String, Value>) {
    let parts = members.get("allOf").and_then(Value::as_array);
    let only = parts
        .filter(|it| it.len() == 1)
        .and_then(|it| it[0].get("$ref"));
    let is_told = |name: &String| {
        name == "allOf" || name.starts_with("x-") || same::TEXTS.contains(&name.as_str())
    };
    let only = only.filter(|_| members.keys().all(is_told));
    let reference = only.or(members.get("$ref").filter(|it| it.is_string()));
    if let Some(reference) = reference.cloned() {
        *members = Map::from_iter([("$ref".to_owned(), reference)]);
    }
}

/// What `drift` does not compare. Step 4 does.
const UNHANDLED: &str = "allOf with multiple schemas is unhandled";

/// Step 3.
fn drift(published: &Value, emitted: &Value) -> Vec<String> {
    let compared = catch_unwind(AssertUnwindSafe(|| drift::compare(published, emitted)));
    let changes = match compared {
        Ok(Ok(changes)) => changes,
        Ok(Err(error)) => return vec![format!("drift cannot compare: {error:#}")],
        Err(_) => return vec!["drift gave up on a difference".to_owned()],
    };
    changes
        .iter()
        .flat_map(|change| {
            let paths: Vec<_> = change
                .paths
                .iter()
                .map(|path| path.new.to_string())
                .collect();
            change
                .changes
                .iter()
                .filter(|info| info.class != ChangeClass::Trivial && info.message != UNHANDLED)
                .map(move |info| {
                    format!(
                        "{} {}: {}",
                        paths.join(", "),
                        info.new_subpath,
                        info.message
                    )
                })
        })
        .collect()
}
