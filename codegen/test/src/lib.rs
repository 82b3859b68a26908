//! Whether a service is served as its OpenAPI document says, for the tests of whatever dropshot serves.
//!
//! dropshot describes an API by a document. [`assert_served_as_documented!`] compares that with the published one and
//! tells every difference:
//!
//! ```no_run
//! # mod shop { pub fn register(_: &mut dropshot::ApiDescription<()>) {} }
//! #[test]
//! fn the_shop_is_served_as_documented() {
//!     let mut api = dropshot::ApiDescription::new();
//!     shop::register(&mut api);
//!     openapi_dropshot_test::assert_served_as_documented!("shop.yaml", api);
//! }
//! ```
//!
//! The API may be made by `openapi-dropshot` from the document, or written by hand: nothing here depends on the generator.
//!
//! # How they are compared
//!
//! 1. dropshot knows errors only as `4XX` and `5XX`, so that the published error statuses are folded into those two.
//!    Statuses that fold into one and have different schemas cannot be what the traits answer, unless they answer any
//!    of these, and fail. Errors without a body are not told, and no answer to HEAD has one. dropshot tells both or
//!    neither, so that one that a document leaves out becomes the other. Several successes are one, of any of their
//!    bodies. Of bodies it knows JSON, forms, and bytes, which in an answer are anything; all of requests are required.
//!    Other media types, and bodies that may be left out, are written so, and of a list in a query what its items are.
//! 2. Both are brought into one writing: `required` is a set, which dropshot sorts; it writes every bound of a number
//!    with a fraction, and neither discriminators, nor a format of alternatives, nor an empty list of properties. It writes a description beside a
//!    `$ref` with an `allOf`, and the types that go without saying.
//! 3. `drift` compares the rest. Anything but a trivial difference fails, and so does what it gives up on, but for an
//!    `allOf` of several.
//! 4. What `drift` does not look at, or calls trivial, is compared exactly: operationIds, tags, parameters, the headers
//!    of successes, and of schemas `nullable` and `default`.
//!
//! # What is not compared
//!
//! dropshot says nothing about security, discriminators, the headers of errors, and which error has which status. A
//! service shows those by what it does, and its tests by calling it. Nor does it say what a lenient reading took as
//! documentation: such limits are told as differences.

mod document;
mod fold;
mod operation;
mod same;

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use document::Document;
use drift::ChangeClass;
use dropshot::ApiDescription;
use serde_json::{Map, Value};

pub use fold::folded;

/// Panics unless dropshot describes an API as the document does.
///
/// The document is a path from the folder of the package's `Cargo.toml`, the API an [`ApiDescription`] or a reference to
/// one. What the panic says has a line for each difference: the place, and what either document has there.
#[macro_export]
macro_rules! assert_served_as_documented {
    ($document:expr, $api:expr $(,)?) => {
        if let Err(drift) = $crate::compare(
            ::std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join($document),
            &$api,
        ) {
            panic!("{drift}");
        }
    };
}

/// Compares an API with the document at a path, as [`assert_served_as_documented!`] does.
///
/// # Errors
/// With what the assertion would say: every difference, or why the document cannot be read.
pub fn compare<C: dropshot::ServerContext>(
    document: impl AsRef<Path>,
    api: &ApiDescription<C>,
) -> Result<(), String> {
    let path = document.as_ref();
    let published = read(path)?;
    // Neither is compared: what a document is called says nothing of what is served.
    let (title, version) = ("", semver::Version::new(1, 0, 0));
    let emitted = api.openapi(title, version).json();
    let emitted = emitted.map_err(|error| format!("dropshot cannot describe the API: {error}"))?;
    let differences = differences(&published, &emitted);
    if differences.is_empty() {
        return Ok(());
    }
    let mut told = format!(
        "{}: what is served is not what is documented ({}):\n",
        path.display(),
        differences.len()
    );
    for difference in differences {
        // Writing to a string cannot fail.
        let _ = writeln!(told, "  {difference}");
    }
    told.push_str(
        "\"published\" is what the document says, \"emitted\" what dropshot says of the API",
    );
    Err(told)
}

/// A document of YAML or JSON, as one value.
///
/// # Errors
/// When the file cannot be read, or is no such document.
pub fn read(path: impl AsRef<Path>) -> Result<Value, String> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: it cannot be read: {error}", path.display()))?;
    let value: Value = serde_saphyr::from_str(&text)
        .map_err(|error| format!("{}: it is neither YAML nor JSON: {error}", path.display()))?;
    match value["paths"].is_object() {
        true => Ok(value),
        false => Err(format!(
            "{}: it has no `paths`, so that it is no OpenAPI document; name one",
            path.display()
        )),
    }
}

/// Every difference between a published document and the one that dropshot emits, in words; none when the service is
/// what is documented.
#[must_use]
pub fn differences(published: &Value, emitted: &Value) -> Vec<String> {
    let (mut folded, mut differences) = fold::folded(published);
    differences.retain(|problem| !tells_any(emitted, problem));
    let mut emitted = emitted.clone();
    rewrite(&mut folded);
    rewrite(&mut emitted);
    differences.extend(drift(&folded, &emitted));
    let (folded, emitted) = (Document::new(folded), Document::new(emitted));
    differences.extend(same::differences(&folded, &emitted));
    differences
}

/// Whether the operation that a problem of step 1 begins with answers any of several errors.
fn tells_any(emitted: &Value, problem: &str) -> bool {
    let document = Document::new(emitted.clone());
    let id = problem.split(" answers ").next();
    let mut operations = document.operations.iter();
    let operation = operations.find(|it| Some(it.id.as_str()) == id);
    operation.is_some_and(|it| {
        let error = document.at(&format!("{}/responses/4XX", it.pointer));
        error["content"]["application/json"]["schema"]["anyOf"].is_array()
    })
}

/// What has members of any name.
const MAPS: [&str; 6] = [
    "content",
    "headers",
    "paths",
    "properties",
    "responses",
    "schemas",
];

/// Step 2.
fn rewrite(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("discriminator");
            if members.contains_key("oneOf") || members.contains_key("anyOf") {
                members.remove("format");
            }
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
                    Value::Object(map) if MAPS.contains(&name.as_str()) => {
                        map.values_mut().for_each(rewrite);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A document with one component, which has a property of this name and schema.
    fn document(property: &str, schema: Value) -> Value {
        let thing = json!({ "$ref": "#/components/schemas/Thing" });
        let answer = json!({ "description": "Done.", "content": { "application/json": { "schema": thing } } });
        let get = json!({ "operationId": "get_thing", "responses": { "200": answer } });
        let properties = Map::from_iter([(property.to_owned(), schema)]);
        json!({
            "openapi": "3.0.3",
            "info": { "title": "Things", "version": "1" },
            "paths": { "/thing": { "get": get } },
            "components": { "schemas": { "Thing": { "type": "object", "properties": properties } } },
        })
    }

    #[test]
    fn a_property_is_compared_whatever_its_name() {
        for name in ["size", "discriminator", "properties", "schemas", "required"] {
            let published = document(name, json!({ "type": "string" }));
            assert_eq!(differences(&published, &published), [""; 0], "{name}");
            let emitted = document(name, json!({ "type": "integer" }));
            assert!(!differences(&published, &emitted).is_empty(), "{name}");
        }
    }
}
