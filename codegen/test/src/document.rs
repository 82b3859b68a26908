//! A document, indexed by its operations, as the comparison asks about it.
//!
//! It is plain JSON and never goes through the generator: what checks the generator's work must not stand on the
//! generator's reading. What a document lacks is null or empty here, and so a difference from one that has it.

use serde_json::Value;

/// The methods that a path item of OpenAPI 3.0 can have, as its keys spell them.
const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// The most references that are followed from one place. More are a circle.
const MAX_REFERENCES: usize = 64;

/// A document with its operations, in the order of its paths.
pub(crate) struct Document {
    json: Value,
    pub(crate) operations: Vec<Operation>,
}

/// One operation, with all references resolved that stand above schemas.
pub(crate) struct Operation {
    /// `operationId`.
    pub(crate) id: String,
    /// The method in upper case: `PATCH`.
    pub(crate) method: String,
    /// The path as published: `/books/{isbn}`.
    pub(crate) path: String,
    /// The JSON Pointer of the operation.
    pub(crate) pointer: String,
    /// What it takes beside its body: that of its path first.
    pub(crate) parameters: Vec<Parameter>,
    /// The JSON Pointer of its request body's schema, when it has a body.
    pub(crate) body: Option<String>,
}

/// One parameter of an operation.
pub(crate) struct Parameter {
    /// Its name as published.
    pub(crate) name: String,
    /// `path`, `query` or `header`.
    pub(crate) location: String,
    /// Whether it must be sent.
    pub(crate) required: bool,
    /// The JSON Pointer of its schema.
    pub(crate) schema: String,
    /// The JSON Pointer of the parameter.
    pub(crate) pointer: String,
}

impl Document {
    /// Indexes a document.
    pub(crate) fn new(json: Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in json["paths"].as_object().into_iter().flatten() {
            for method in METHODS {
                if item.get(method).is_some() {
                    operations.push(Operation::of(&json, path, method));
                }
            }
        }
        Self { json, operations }
    }

    /// What stands at a JSON Pointer, after following references.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.resolve(pointer).1
    }

    /// What stands at a JSON Pointer, after following references, and where that is.
    pub(crate) fn resolve(&self, pointer: &str) -> (String, &Value) {
        resolve(&self.json, pointer)
    }
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

/// Follows references from a pointer to the place where something stands itself. Where they lead nowhere is null.
fn resolve<'a>(json: &'a Value, pointer: &str) -> (String, &'a Value) {
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
pub(crate) fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
