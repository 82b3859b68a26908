//! A published document, indexed for the questions that tests ask.
//!
//! It is read as plain JSON and never through the generator: a check of the generator's work must not
//! rely on the generator's reading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::operation;
use crate::schema::Schemas;

pub use crate::operation::{Parameter, escape};

/// The folder of the repository, to which the paths in tests are relative.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .unwrap_or_default()
}

static CATALOG: LazyLock<Arc<Document>> = LazyLock::new(|| read_published("catalog"));
static MOBILE: LazyLock<Arc<Document>> = LazyLock::new(|| read_published("mobile"));

fn read_published(name: &str) -> Arc<Document> {
    let file = repository().join("openapi").join(format!("{name}.yaml"));
    Arc::new(Document::read(&file))
}

/// The published document of the product catalog API.
pub fn catalog() -> Arc<Document> {
    CATALOG.clone()
}

/// The published document of the mobile device-session API.
pub fn mobile() -> Arc<Document> {
    MOBILE.clone()
}

/// A document from the text of a YAML file.
///
/// # Panics
///
/// When the text is not YAML.
pub fn parse(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("this is no YAML: {error}"))
}

/// One OpenAPI document.
#[derive(Debug)]
pub struct Document {
    /// The name of its file without the extension: `catalog`.
    pub name: String,
    /// The whole document.
    pub json: Value,
    /// Its operations, in the order of its paths.
    pub operations: Vec<Operation>,
    /// Validators of its schemas.
    pub schemas: Schemas,
}

/// One operation, with all references above schemas resolved.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`.
    pub id: String,
    /// The method in upper case: `PATCH`.
    pub method: String,
    /// The path as published: `/api/v1/products/{id}`.
    pub path: String,
    /// The JSON Pointer of the operation.
    pub pointer: String,
    /// The parameters: what it takes besides its body.
    pub parameters: Vec<Parameter>,
    /// The JSON Pointer of its request body's schema, when it has a body.
    pub body: Option<String>,
    /// Its answers by status. Status classes (`4XX`) are left out: the published documents list each
    /// status, and documents with classes are not asked about answers.
    pub answers: BTreeMap<u16, DocumentedResponse>,
    /// Whether a credential is needed.
    pub secured: bool,
}

/// One answer that an operation lists.
#[derive(Debug)]
pub struct DocumentedResponse {
    /// The schemas of its body by media type; empty when it has no body.
    pub content: BTreeMap<String, String>,
    /// Its headers by name in lower case.
    pub headers: BTreeMap<String, Header>,
    /// The JSON Pointer of the answer.
    pub pointer: String,
}

/// One header of an answer.
#[derive(Debug)]
pub struct Header {
    /// Whether every such answer carries it.
    pub required: bool,
    /// The JSON Pointer of its schema.
    pub schema: String,
}

impl Document {
    /// Reads a document from a YAML file.
    ///
    /// # Panics
    ///
    /// When the file cannot be read or is not the OpenAPI that these tests understand: a test that
    /// skips what it does not understand proves nothing.
    pub fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Self::from_json(&name, parse(&text))
    }

    /// Indexes a document that is already read, for tests that break a copy of one.
    pub fn from_json(name: &str, json: Value) -> Self {
        let operations = operation::operations(&json);
        assert!(json["paths"].is_object(), "{name} has no paths");
        let operations = operations
            .into_iter()
            .map(|it| Operation::of(&json, it))
            .collect();
        let schemas = Schemas::of(&json);
        Self {
            name: name.to_owned(),
            json,
            operations,
            schemas,
        }
    }

    /// The operation with this id.
    pub fn operation(&self, id: &str) -> &Operation {
        self.operations
            .iter()
            .find(|operation| operation.id == id)
            .unwrap_or_else(|| panic!("{} has no operation {id}", self.name))
    }

    /// The operation that a request with this method and path (without its query) is for.
    pub fn operation_at(&self, method: &str, path: &str) -> Option<&Operation> {
        self.operations_at(path)
            .into_iter()
            .find(|operation| operation.method == method)
    }

    /// The operations of the published path that this one is an instance of; empty if the document
    /// has no such path.
    pub fn operations_at(&self, path: &str) -> Vec<&Operation> {
        self.operations
            .iter()
            .filter(|operation| matches(&operation.path, path))
            .collect()
    }

    /// The errors in the examples of an answer, as type and code (the type is empty at the token
    /// endpoint). They serve as the document's list of codes, because the schema of a code is an open
    /// string.
    pub fn errors(&self, answer: &DocumentedResponse) -> BTreeSet<(String, String)> {
        let media = format!("{}/content/application~1json", answer.pointer);
        let content = self.json.pointer(&media).unwrap_or(&Value::Null);
        let examples = content["examples"].as_object().into_iter().flatten();
        examples
            .map(|(name, _)| &self.at(&format!("{media}/examples/{}", escape(name)))["value"])
            .chain(content.get("example"))
            .filter_map(error_code)
            .collect()
    }

    /// The value at a JSON Pointer, after following references.
    pub fn at(&self, pointer: &str) -> &Value {
        self.resolve(pointer).1
    }

    /// The value at a JSON Pointer, after following references, and its own pointer.
    pub fn resolve(&self, pointer: &str) -> (String, &Value) {
        resolve(&self.json, pointer)
    }
}

/// The type and code of an error body; the token endpoint's errors have no type.
pub fn error_code(body: &Value) -> Option<(String, String)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match &body["error"] {
        Value::Object(error) => Some((text(error.get("type")?)?, text(error.get("code")?)?)),
        code => Some((String::new(), text(code)?)),
    }
}

/// Whether a concrete path is an instance of a published one.
fn matches(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            (Some(variable), Some(segment)) if variable.starts_with('{') => {
                if segment.is_empty() {
                    return false;
                }
            }
            (Some(literal), Some(segment)) if literal == segment => {}
            _ => return false,
        }
    }
}

/// Follows references from a pointer to the value itself.
fn resolve<'a>(json: &'a Value, pointer: &str) -> (String, &'a Value) {
    let (place, value) = operation::resolve(json, pointer);
    assert!(
        json.pointer(&place).is_some(),
        "the document has nothing at {place}"
    );
    (place, value)
}

impl Operation {
    fn of(json: &Value, indexed: operation::Operation) -> Self {
        let operation::Operation {
            id,
            method,
            path,
            pointer,
            parameters,
            body,
        } = indexed;
        assert!(!id.is_empty(), "{pointer} has no operationId");
        for schema in parameters.iter().map(|it| &it.schema).chain(&body) {
            resolve(json, schema);
        }
        let (_, published) = resolve(json, &pointer);
        let answers = published["responses"]
            .as_object()
            .unwrap_or_else(|| panic!("{id} lists no answers"))
            .keys()
            .filter_map(|status| {
                let answer = answer(json, &format!("{pointer}/responses/{status}"));
                Some((status.parse().ok()?, answer))
            })
            .collect();
        let security = published.get("security").or(json.get("security"));
        let secured = security
            .and_then(Value::as_array)
            .is_some_and(|security| !security.is_empty());
        Self {
            id,
            method,
            path,
            pointer,
            parameters,
            body,
            answers,
            secured,
        }
    }
}

fn answer(json: &Value, pointer: &str) -> DocumentedResponse {
    let (pointer, answer) = resolve(json, pointer);
    let keys = |member: &str| {
        let members = answer.get(member).and_then(Value::as_object);
        members.map_or(Vec::new(), |members| members.keys().cloned().collect())
    };
    DocumentedResponse {
        content: keys("content")
            .into_iter()
            .map(|media| {
                let schema = format!("{pointer}/content/{}/schema", escape(&media));
                (media, schema)
            })
            .collect(),
        headers: keys("headers")
            .into_iter()
            .map(|name| {
                let (pointer, header) =
                    resolve(json, &format!("{pointer}/headers/{}", escape(&name)));
                let header = Header {
                    required: header["required"].as_bool().unwrap_or_default(),
                    schema: format!("{pointer}/schema"),
                };
                (name.to_lowercase(), header)
            })
            .collect(),
        pointer,
    }
}
