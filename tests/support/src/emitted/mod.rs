//! The document that the running traits describe themselves with, against the published one.
//!
//! 1. dropshot knows errors only as `4XX` and `5XX`, so that the published error statuses are folded
//!    into those two. Statuses that fold into one and have different schemas cannot be what the
//!    traits answer, unless they answer any of these, and fail. Errors without a body are not told. dropshot tells both or neither, so that one that a document leaves out
//!    becomes the other. Of bodies it knows JSON, forms, and bytes, which in an answer are anything; all of
//!    requests are required. Other media types, and bodies that may be left out, are written so, and of a list in a
//!    query what its items are.
//! 2. Both are brought into one writing: `required` is a set, which dropshot sorts; it writes every
//!    bound of a number with a fraction, and neither discriminators nor an empty list of properties.
//! 3. `drift` compares the rest. Anything but a trivial difference fails, and so does what it gives
//!    up on.
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
            for (name, member) in members {
                match member {
                    Value::Array(names) if name == "required" => {
                        names.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                    }
                    member => rewrite(member),
                }
            }
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
                .filter(|info| info.class != ChangeClass::Trivial)
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
