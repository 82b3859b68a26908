//! The schemas of a document as validators, which report what a value violates.
//!
//! The validators come from the crate `jsonschema`, which knows nothing of the generator: they
//! check independently every request that the server accepts or refuses, and every answer.
//!
//! OpenAPI 3.0 schemas are JSON Schema of draft 4 except for a few keywords; of those the documents
//! use `nullable` (a second type) and `discriminator` (a hint, the `oneOf` decides).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Value, json};

/// One violation in a value: where, and of which keyword, in the form in which the service reports
/// it: for `required` and `additionalProperties` the path is that of the member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// A JSON Pointer into the body, or the name of a parameter or header.
    pub path: String,
    /// The keyword of the schema.
    pub constraint: String,
}

impl Violation {
    /// A violation of `constraint` at `path`.
    pub fn new(path: impl Into<String>, constraint: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            constraint: constraint.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} of {:?}", self.constraint, self.path)
    }
}

/// The validators of one document, made on first use.
pub struct Schemas {
    /// The document, its schemas converted to JSON Schema in place, so that references still hold.
    converted: Value,
    made: Mutex<BTreeMap<String, Arc<Validator>>>,
}

impl fmt::Debug for Schemas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Schemas")
    }
}

impl Schemas {
    pub(crate) fn of(document: &Value) -> Self {
        let mut converted = document.clone();
        if let Some(Value::Object(schemas)) = converted.pointer_mut("/components/schemas") {
            schemas.values_mut().for_each(convert);
        }
        convert_inline(&mut converted);
        Self {
            converted,
            made: Mutex::default(),
        }
    }

    /// What `value` violates of the schema at this JSON Pointer; empty when it is valid.
    pub fn violations(&self, pointer: &str, value: &Value) -> BTreeSet<Violation> {
        self.validator(pointer)
            .iter_errors(value)
            .flat_map(|error| violations(&error))
            .collect()
    }

    /// Whether `value` is valid under the schema at this JSON Pointer.
    pub fn accepts(&self, pointer: &str, value: &Value) -> bool {
        self.validator(pointer).is_valid(value)
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut made = self.made.lock().expect("no thread panicked in here");
        if let Some(validator) = made.get(pointer) {
            return validator.clone();
        }
        // The whole document stands beside the reference, so that every reference resolves.
        let mut root = self.converted.clone();
        root["allOf"] = json!([{ "$ref": format!("#{}", percent_encode(pointer)) }]);
        let validator = jsonschema::options()
            .with_draft(Draft::Draft4)
            .with_format("uuid", |text: &str| {
                text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
            })
            .with_format("int32", |_: &str| true)
            .with_format("int64", |_: &str| true)
            .with_format("password", |_: &str| true)
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .build(&root)
            .unwrap_or_else(|error| panic!("the schema at {pointer}: {error}"));
        let validator = Arc::new(validator);
        made.insert(pointer.to_owned(), validator.clone());
        validator
    }
}

/// Encodes a pointer for a URI's fragment, in which the braces of path templates are not allowed.
fn percent_encode(pointer: &str) -> String {
    pointer.replace('{', "%7B").replace('}', "%7D")
}

fn violations(error: &ValidationError) -> Vec<Violation> {
    let path = error.instance_path().to_string();
    let member = |name: &str| format!("{path}/{}", crate::document::escape(name));
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![Violation::new(
                member(property.as_str().unwrap_or_default()),
                "required",
            )]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|name| Violation::new(member(name), "additionalProperties"))
            .collect(),
        kind => vec![Violation::new(path, kind.keyword())],
    }
}

/// Converts the schemas in parameters, headers and bodies: everything under a member `schema` of
/// the paths and the other components.
fn convert_inline(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "schema" => convert(member),
                    // Already converted, or not schemas.
                    "schemas" | "example" | "examples" => {}
                    _ => convert_inline(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(convert_inline),
        _ => {}
    }
}

/// Turns one schema of OpenAPI 3.0 into JSON Schema of draft 4, in place.
fn convert(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if members.remove("nullable") == Some(Value::Bool(true)) {
        if let Some(kind) = members.remove("type") {
            members.insert("type".to_owned(), json!([kind, "null"]));
        }
        if let Some(Value::Array(values)) = members.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    }
    for (name, member) in members {
        match (name.as_str(), member) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(convert);
            }
            ("items" | "additionalProperties" | "not", schema) => convert(schema),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(convert);
            }
            _ => {}
        }
    }
}
