//! A document, and how to move in it.
//!
//! A [`Node`] is a value and its place: code that moves along it never sees a
//! `$ref`. A reference that leads nowhere, or in a circle, leads to null.

use std::path::Path;

use openapi_dropshot::Problem;
use openapi_dropshot::model::Pointer;
use semver::Version;
use serde_json::{Map, Value};

/// The methods that a path of OpenAPI 3.0 can have.
pub const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// No honest document has references that lead to references this often.
const MOST_REFERENCES: usize = 32;

/// An OpenAPI 3.0 document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, as reports and problems call it.
    pub file: String,
    /// The whole document.
    pub json: Value,
    /// `info.version`.
    pub version: Version,
}

/// A value of a document, past the references that led to it.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    root: &'a Value,
    /// What is there; null when nothing is.
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
    /// When the file cannot be read, or holds no OpenAPI 3.0 document with a version by Semantic
    /// Versioning.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        Self::new(&file.display().to_string(), openapi_dropshot::source(file)?)
    }

    /// Takes a document that is at hand; `file` is what reports call it.
    ///
    /// # Errors
    /// When it is no OpenAPI 3.0 document with a version by Semantic Versioning.
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

    /// All operations, in the document's order.
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
    /// The member of this name; null where there is none.
    #[must_use]
    pub fn at(&self, name: &str) -> Self {
        self.step(name, self.value.get(name).unwrap_or(&Value::Null))
    }

    /// The member of this name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Self> {
        Some(self.step(name, self.value.get(name)?))
    }

    /// The members of an object, in the document's order; none of anything else.
    #[must_use]
    pub fn members(&self) -> Vec<(String, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members
            .map(|(name, value)| (name.clone(), self.step(name, value)))
            .collect()
    }

    /// The items of an array, in their order; none of anything else.
    #[must_use]
    pub fn items(&self) -> Vec<Self> {
        let items = self.value.as_array().into_iter().flatten();
        items
            .enumerate()
            .map(|(index, value)| self.step(&index.to_string(), value))
            .collect()
    }

    /// The text of a member; empty where there is none.
    #[must_use]
    pub fn text(&self, name: &str) -> &'a str {
        self.value[name].as_str().unwrap_or_default()
    }

    /// Whether a member is true.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.value[name] == Value::Bool(true)
    }

    /// The value, and that of each member where the node leads past a reference to it.
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

    /// The place of a member, whether there is one or not.
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

    /// Method and path without the names of variables, which do not travel.
    #[must_use]
    pub fn anonymous_route(&self) -> String {
        let segments = self.route.split('/').map(|segment| {
            let variable = segment.starts_with('{') && segment.ends_with('}');
            if variable { "{}" } else { segment }
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// The parameters, each by what it is known by to the service: those of the path by their place
    /// in it, headers by their name in lower case. The operation's own come before those of its path.
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

    /// The ways to authenticate, each an object of security schemes with their scopes: those of the
    /// operation, or else those of the document. One that needs nothing is an empty object.
    #[must_use]
    pub fn security(&self) -> Vec<Value> {
        let own = self.node.value.get("security");
        let listed = own.or(self.node.root.get("security"));
        let ways = listed.and_then(Value::as_array).cloned();
        ways.filter(|ways| !ways.is_empty())
            .unwrap_or_else(|| vec![Value::Object(Map::new())])
    }
}

/// One segment of a JSON Pointer, escaped (RFC 6901, section 3).
pub fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}
