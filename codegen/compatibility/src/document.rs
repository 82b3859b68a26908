//! An OpenAPI document, and navigation in it.
//!
//! A [`Node`] is a value and its place: code that navigates with it never sees a `$ref`. A reference
//! that leads nowhere, or in a cycle, resolves to null.

use std::path::Path;

use openapi_dropshot::Problem;
use openapi_dropshot::model::Pointer;
use semver::Version;
use serde_json::{Map, Value};

/// The methods that a path can have in OpenAPI 3.0.
pub const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// No honest document has references that lead to references this often.
const MOST_REFERENCES: usize = 32;

/// An OpenAPI 3.0 document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file name used in reports and problems.
    pub file: String,
    /// The whole document.
    pub json: Value,
    /// `info.version`.
    pub version: Version,
}

/// A value of a document, with the references that led to it resolved.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    root: &'a Value,
    /// The value; null if there is none.
    pub value: &'a Value,
    /// The JSON Pointer of the place.
    pub pointer: String,
}

/// One method of one path.
#[derive(Clone, Debug)]
pub struct Operation<'a> {
    /// The operationId; without one, method and path.
    pub name: String,
    /// Method and path: `GET /products/{id}`.
    pub route: String,
    /// The operation itself.
    pub node: Node<'a>,
    /// The path that it belongs to.
    pub item: Node<'a>,
}

impl Document {
    /// Reads a document from a file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not an OpenAPI 3.0 document with a version that follows
    /// Semantic Versioning.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        Self::new(&file.display().to_string(), openapi_dropshot::source(file)?)
    }

    /// Creates a document from JSON; `file` is its name in reports.
    ///
    /// # Errors
    /// If it is not an OpenAPI 3.0 document with a version that follows Semantic Versioning.
    pub fn new(file: &str, json: Value) -> Result<Self, Problem> {
        let problem = |pointer: &[&str], cause: String, remedy: &str| Problem {
            file: file.to_owned(),
            pointer: pointer
                .iter()
                .fold(Pointer::default(), |at, name| at.child(name)),
            cause,
            remedy: remedy.to_owned(),
        };
        let openapi = json["openapi"].as_str().unwrap_or_default();
        if !openapi.starts_with("3.0.") || !json["paths"].is_object() {
            let cause = "this is no OpenAPI 3.0 document".to_owned();
            let remedy = "name a document with `openapi: 3.0.3` and `paths`";
            return Err(problem(&[], cause, remedy));
        }
        let version = json["info"]["version"].as_str().unwrap_or_default();
        let version = Version::parse(version)
            .ok()
            .filter(|it| it.pre.is_empty() && it.build.is_empty())
            .ok_or_else(|| {
                let cause = format!("`{version}` is not a version that can be compared");
                let remedy = "write MAJOR.MINOR.PATCH (https://semver.org), as in `1.4.0`";
                problem(&["info", "version"], cause, remedy)
            })?;
        Ok(Self {
            file: file.to_owned(),
            json,
            version,
        })
    }

    /// `info.title`.
    #[must_use]
    pub fn title(&self) -> &str {
        self.json["info"]["title"].as_str().unwrap_or_default()
    }

    /// The whole document.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node {
            root: &self.json,
            value: &self.json,
            pointer: String::new(),
        }
    }

    /// Returns all operations, in the document's order.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let paths = self.root().at("paths").members();
        paths
            .into_iter()
            .flat_map(|(path, item)| {
                let methods = item.members().into_iter();
                let methods = methods.filter(|(method, _)| METHODS.contains(&method.as_str()));
                methods.map(move |(method, node)| Operation::of(&method, &path, node, &item))
            })
            .collect()
    }
}

impl<'a> Node<'a> {
    /// Returns the member of this name; null if there is none.
    #[must_use]
    pub fn at(&self, name: &str) -> Self {
        self.step(name, self.value.get(name).unwrap_or(&Value::Null))
    }

    /// Returns the member of this name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Self> {
        Some(self.step(name, self.value.get(name)?))
    }

    /// Returns the members of an object, in the document's order; none for anything else.
    #[must_use]
    pub fn members(&self) -> Vec<(String, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members
            .map(|(name, value)| (name.clone(), self.step(name, value)))
            .collect()
    }

    /// Returns the items of an array, in order; none for anything else.
    #[must_use]
    pub fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().into_iter().flatten();
        items
            .enumerate()
            .map(|(index, value)| self.step(&index.to_string(), value))
            .collect()
    }

    /// Returns the text of a member; empty if there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &'a str {
        self.value[name].as_str().unwrap_or_default()
    }

    /// Returns whether a member is true.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.value[name] == Value::Bool(true)
    }

    /// Returns the value with each member that is a reference replaced by its target.
    #[must_use]
    pub fn expanded(&self) -> Value {
        if !self.value.is_object() {
            return self.value.clone();
        }
        let members = self.members().into_iter();
        Value::Object(
            members
                .map(|(name, node)| (name, node.value.clone()))
                .collect(),
        )
    }

    /// Returns the place of a member, whether it exists or not.
    #[must_use]
    pub fn place_of(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, escape(name))
    }

    fn step(&self, name: &str, value: &'a Value) -> Self {
        let (mut value, mut pointer) = (value, self.place_of(name));
        for _ in 0..MOST_REFERENCES {
            let Some(reference) = value["$ref"].as_str() else {
                return Self {
                    root: self.root,
                    value,
                    pointer,
                };
            };
            pointer = reference.trim_start_matches('#').to_owned();
            value = self.root.pointer(&pointer).unwrap_or(&Value::Null);
        }
        Self {
            root: self.root,
            value: &Value::Null,
            pointer,
        }
    }
}

impl<'a> Operation<'a> {
    fn of(method: &str, path: &str, node: Node<'a>, item: &Node<'a>) -> Self {
        let route = format!("{} {path}", method.to_uppercase());
        let name = match node.text("operationId") {
            "" => route.clone(),
            id => id.to_owned(),
        };
        Self {
            name,
            route,
            node,
            item: item.clone(),
        }
    }

    /// Returns method and path without the names of variables, which are not sent.
    #[must_use]
    pub fn anonymous_route(&self) -> String {
        let segments = self.route.split('/').map(|segment| {
            let variable = segment.starts_with('{') && segment.ends_with('}');
            if variable { "{}" } else { segment }
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// Returns the parameters, each under the name that identifies it to the service: those of the
    /// path by their position in it, headers by their name in lower case. The operation's own come
    /// before those of its path.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, Node<'a>)> {
        let mut found: Vec<(String, Node<'a>)> = Vec::new();
        for owner in [&self.node, &self.item] {
            for parameter in owner.at("parameters").items() {
                let key = self.key(&parameter);
                if found.iter().all(|(other, _)| *other != key) {
                    found.push((key, parameter));
                }
            }
        }
        found
    }

    fn key(&self, parameter: &Node<'_>) -> String {
        let name = parameter.text("name");
        match parameter.text("in") {
            "path" => {
                let variable = format!("{{{name}}}");
                let place = self.route.split('/').position(|it| it == variable);
                format!("path {place:?}")
            }
            "header" => format!("header {}", name.to_lowercase()),
            location => format!("{location} {name}"),
        }
    }

    /// Returns the ways to authenticate, each an object of security schemes with their scopes: those
    /// of the operation, or else those of the document. Anonymous access is an empty object.
    #[must_use]
    pub fn security(&self) -> Vec<Value> {
        let own = self.node.value.get("security");
        let listed = own.or(self.node.root.get("security"));
        let ways = listed.and_then(Value::as_array).cloned();
        ways.filter(|ways| !ways.is_empty())
            .unwrap_or_else(|| vec![Value::Object(Map::new())])
    }
}

/// Escapes a segment of a JSON Pointer (RFC 6901, section 3).
pub fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
