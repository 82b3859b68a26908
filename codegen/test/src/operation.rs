//! The operations of a document, for the tests of what is served.
//!
//! A document is plain JSON here and never goes through the generator: a check of the generator's work must not rely
//! on the generator's reading. A missing member is null or empty, and so differs from one that is present.

use serde_json::Value;

/// The methods that a path item of OpenAPI 3.0 can have, as its keys spell them.
const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// The most references to follow from one place. More than these form a cycle.
const MAX_REFERENCES: usize = 64;

/// One operation, with all references above schemas resolved.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`.
    pub id: String,
    /// The method in upper case: `PATCH`.
    pub method: String,
    /// The path as published: `/books/{isbn}`.
    pub path: String,
    /// The JSON Pointer of the operation.
    pub pointer: String,
    /// The parameters, those of its path first.
    pub parameters: Vec<Parameter>,
    /// The JSON Pointer of its request body's schema, when it has a body.
    pub body: Option<String>,
}

/// One parameter of an operation.
#[derive(Debug)]
pub struct Parameter {
    /// Its name as published.
    pub name: String,
    /// `path`, `query` or `header`.
    pub location: String,
    /// Whether it must be sent.
    pub required: bool,
    /// The JSON Pointer of its schema.
    pub schema: String,
    /// The JSON Pointer of the parameter.
    pub pointer: String,
}

/// The operations of a document, in the order of its paths.
pub fn operations(json: &Value) -> Vec<Operation> {
    let paths = json["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, item)| {
            let methods = METHODS.into_iter().filter(|it| item.get(*it).is_some());
            methods.map(|method| Operation::of(json, path, method))
        })
        .collect()
}

impl Operation {
    fn of(json: &Value, path: &str, method: &str) -> Self {
        let item = format!("/paths/{}", escape(path));
        let pointer = format!("{item}/{method}");
        let published = &json["paths"][path][method];
        let body = published.get("requestBody").map(|_| {
            let (pointer, body) = resolve(json, &format!("{pointer}/requestBody"));
            let mut media = body["content"].as_object().into_iter().flatten();
            let media = media.next().map_or("application/json", |(media, _)| media);
            format!("{pointer}/content/{}/schema", escape(media))
        });
        Self {
            id: text(published, "operationId"),
            method: method.to_uppercase(),
            path: path.to_owned(),
            parameters: [&item, &pointer]
                .into_iter()
                .flat_map(|owner| parameters(json, &format!("{owner}/parameters")))
                .collect(),
            pointer,
            body,
        }
    }
}

fn parameters(json: &Value, list: &str) -> Vec<Parameter> {
    let listed = json.pointer(list).and_then(Value::as_array);
    (0..listed.map_or(0, Vec::len))
        .map(|index| {
            let (pointer, parameter) = resolve(json, &format!("{list}/{index}"));
            Parameter {
                name: text(parameter, "name"),
                location: text(parameter, "in"),
                required: parameter["required"] == true,
                schema: format!("{pointer}/schema"),
                pointer,
            }
        })
        .collect()
}

fn text(object: &Value, member: &str) -> String {
    object[member].as_str().unwrap_or_default().to_owned()
}

/// Follows references from a pointer to the value itself. A reference that leads nowhere gives null.
pub fn resolve<'a>(json: &'a Value, pointer: &str) -> (String, &'a Value) {
    let mut pointer = pointer.to_owned();
    for _ in 0..MAX_REFERENCES {
        let value = json.pointer(&pointer).unwrap_or(&Value::Null);
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => pointer = reference.trim_start_matches('#').to_owned(),
            None => return (pointer, value),
        }
    }
    (pointer, &Value::Null)
}

/// One segment of a JSON Pointer, escaped (RFC 6901, section 3).
pub fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
