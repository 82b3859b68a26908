//! What a document means, once it has been read and nothing in it is in doubt.
//!
//! This is the seam between the two halves of the generator. Parsing makes a
//! [`Document`] or a list of problems; emission makes Rust from a [`Document`] and has
//! no errors of its own. So whatever the emitting half relies upon is promised here, and is refused
//! there:
//!
//! - every `$ref` is resolved: references to parameters, headers, responses and examples are gone,
//!   and those to schemas are [`Kind::Ref`]s that [`Document::schemas`] holds;
//! - references run in circles through lists, maps and variants only, so that every type has a size, and
//!   none leads to another reference;
//! - every component, operation, property, value of an enumeration and parameter has a Rust name of its own
//!   ([`crate::names`]);
//! - a scalar that is constrained in any way is a component, so that every check has a type. Inline
//!   schemas are references, plain booleans, integers, numbers and strings, and lists and maps of
//!   inline schemas; so is any value;
//! - `nullable` is a property of the component, the inline schema or the reference that has it, and
//!   never of a parameter, a header, a body or an answer;
//! - what `default` says passes the schema that it belongs to;
//! - an operation has one success; all its errors have one schema.
//!
//! # How the model stays small
//!
//! Documents say one thing in many ways. Whoever emits code sees one of them: the other ways become it
//! while the document is read, and [`Schema::json`] keeps what was written, for what is published.
//!
//! - A schema that needs a type and stands inline becomes a component, under a name that is made of its
//!   place ([`Schema::is_made`], [`crate::names::part`]). Emission knows no inline objects.
//! - `allOf` of one reference is that reference, with the `nullable` and the `default` beside it.
//! - A component that says what another says, and an `allOf` of several, are what they say: an object with the
//!   members of all parts. Properties beside a list of alternatives are in each alternative.
//! - An alternative that is null makes the whole nullable.
//! - A bound that the format of an integer implies is not a bound.
//! - `nullable` of a parameter says nothing, since no text is null.
//!
//! So a new way to say something is a change of the parsing half alone. A new thing to say is a [`Kind`],
//! or a field of one; the compiler then finds each place of the emitting half that has to know it.

mod schema;

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use crate::names;
pub use crate::pointer::Pointer;
pub use schema::{Alternative, Bound, Bounds, Format, Kind, Limit, Schema, Sign, Text, Width};

/// One OpenAPI document of the subset that [`crate`] states.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file that it was read from, as the caller named it.
    pub file: String,
    /// The name of the Rust module made from it: `catalog` for `openapi/catalog.yaml`.
    pub module: String,
    /// `info.title`.
    pub title: String,
    /// `info.version`.
    pub version: String,
    /// `info.description`.
    pub description: Option<String>,
    /// The tags, in the document's order. Operations use no others.
    pub tags: IndexMap<String, Tag>,
    /// All operations, in the document's order.
    pub operations: Vec<Operation>,
    /// `components.schemas`, in the document's order, and behind them the schemas that stand inline and
    /// need a type.
    pub schemas: IndexMap<String, Schema>,
    /// `components.securitySchemes`, in the document's order.
    pub security_schemes: IndexMap<String, SecurityScheme>,
    /// The whole document as it is published.
    pub source: Value,
}

/// A tag, and what the document tells about it.
#[derive(Clone, Debug)]
pub struct Tag {
    /// `description`.
    pub description: Option<String>,
}

/// How a caller proves who it is.
#[derive(Clone, Debug)]
pub struct SecurityScheme {
    /// Where the credential travels.
    pub kind: Credential,
    /// `description`.
    pub description: Option<String>,
}

/// Where a credential travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// `type: http`, `scheme: bearer`: in `Authorization: Bearer ...` (RFC 6750).
    Bearer,
    /// `type: apiKey`, `in: header`: in the header of this name.
    Header(String),
}

/// One method of one path.
#[derive(Clone, Debug)]
pub struct Operation {
    /// `operationId`, as published.
    pub id: String,
    /// The method.
    pub method: Method,
    /// The path template: `/api/v1/products/{id}`.
    pub path: String,
    /// `summary`.
    pub summary: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// The tags, each of which [`Document::tags`] has.
    pub tags: Vec<String>,
    /// `deprecated`.
    pub deprecated: bool,
    /// The security scheme that it asks for, which [`Document::security_schemes`] has; `None` when
    /// it is public.
    pub security: Option<String>,
    /// The parameters, those of the path item included, in the document's order.
    pub parameters: Vec<Parameter>,
    /// The request body, which is then required and JSON.
    pub body: Option<Body>,
    /// The one success.
    pub success: Response,
    /// Every other answer, the narrower status first. Each has a schema, and all the same.
    pub errors: Vec<Response>,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// The methods that the subset knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// GET
    Get,
    /// PUT
    Put,
    /// POST
    Post,
    /// PATCH
    Patch,
    /// DELETE
    Delete,
}

/// A parameter of an operation; never nullable, never an array or an object.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name, as it travels.
    pub name: String,
    /// Where it travels.
    pub location: Location,
    /// Whether it has to be there; always so in a path.
    pub required: bool,
    /// `description`.
    pub description: Option<String>,
    /// Its schema.
    pub schema: Schema,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// Where a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// In a segment of the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// A JSON request body. It is always required.
#[derive(Clone, Debug)]
pub struct Body {
    /// `description`.
    pub description: Option<String>,
    /// The component that describes it.
    pub schema: String,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// Which statuses an answer has. The narrower is the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// This one: 200 to 299 or 400 to 599.
    Code(u16),
    /// `4XX` or `5XX`, by its first digit.
    Class(u16),
    /// `default`: those that nothing else says; of an error.
    Other,
}

/// An answer of one status, or of several that are errors.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: Status,
    /// `description`.
    pub description: String,
    /// The headers that it may carry, in the document's order.
    pub headers: Vec<Header>,
    /// The component that describes its JSON body; `None` for a success that has none.
    pub schema: Option<String>,
    /// What can be done next.
    pub links: Vec<Link>,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// What a reader of an answer can do next.
#[derive(Clone, Debug)]
pub struct Link {
    /// The operation, which [`Document::operations`] has.
    pub operation: String,
    /// The parameters of it that the link has values for, as published: `id` or `path.id`.
    pub parameters: Vec<String>,
    /// Whether the link has a request body.
    pub body: bool,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// A header of an answer; never nullable, never an array or an object.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name, as the document spells it.
    pub name: String,
    /// Whether every answer of this status carries it.
    pub required: bool,
    /// `description`.
    pub description: Option<String>,
    /// Its schema.
    pub schema: Schema,
}

impl std::fmt::Display for Status {
    /// As documents spell it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::Class(digit) => write!(f, "{digit}XX"),
            Self::Other => f.write_str("default"),
        }
    }
}

impl Method {
    /// As requests spell it: `GET`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

impl Operation {
    /// The Rust function named after the operation: `create_product`.
    #[must_use]
    pub fn function(&self) -> String {
        names::value(&self.id)
    }

    /// The stem of the Rust types named after the operation: `CreateProduct`.
    #[must_use]
    pub fn stem(&self) -> String {
        names::of_type(&self.id)
    }

    /// The component that describes every error body; `None` when the document lists no errors.
    #[must_use]
    pub fn error_schema(&self) -> Option<&str> {
        self.errors
            .first()
            .and_then(|answer| answer.schema.as_deref())
    }
}

/// See [`Document::error_hook`].
pub(crate) fn error_hook(operations: &[Operation], schema: &str) -> String {
    let name = names::value(schema);
    match operations.iter().any(|it| it.function() == name) {
        true => name + "_answer",
        false => name,
    }
}

impl Document {
    /// The schema itself, or the component that it refers to.
    #[must_use]
    pub fn resolve<'a>(&'a self, schema: &'a Schema) -> &'a Schema {
        match &schema.kind {
            // Every reference was resolved when the document was read, so the second half never
            // happens.
            Kind::Ref(name) => self.schemas.get(name).unwrap_or(schema),
            _ => schema,
        }
    }

    /// The components that a component refers to, at any depth of its own text.
    #[must_use]
    pub fn references(&self, name: &str) -> Vec<&str> {
        self.schemas
            .get(name)
            .map(Schema::references)
            .unwrap_or_default()
    }

    /// Whether references lead from one component to another, or around to itself.
    #[must_use]
    pub fn leads(&self, from: &str, to: &str) -> bool {
        let (mut seen, mut open) = (IndexSet::new(), self.references(from));
        while let Some(name) = open.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                open.extend(self.references(name));
            }
        }
        false
    }

    /// The components whose types decide by themselves whether a value is one of theirs: the alternatives that
    /// are told by trial, and all that these lead to.
    #[must_use]
    pub(crate) fn tried(&self) -> IndexSet<&str> {
        let alternatives = self.schemas.values().flat_map(Schema::tried);
        let (mut seen, mut open) = (IndexSet::new(), alternatives.collect::<Vec<_>>());
        while let Some(name) = open.pop() {
            if seen.insert(name) {
                open.extend(self.references(name));
            }
        }
        seen
    }

    /// Whether the schema, or the component that it refers to, admits null.
    #[must_use]
    pub fn is_nullable(&self, schema: &Schema) -> bool {
        schema.nullable || self.resolve(schema).nullable
    }

    /// The function of the server's trait that makes bodies of this component for errors: called like it, or
    /// `..._answer` where an operation is called like it.
    #[must_use]
    pub fn error_hook(&self, schema: &str) -> String {
        error_hook(&self.operations, schema)
    }

    /// The components that describe error bodies, in the order of their first use.
    #[must_use]
    pub fn error_schemas(&self) -> Vec<&str> {
        let all = self.operations.iter().filter_map(Operation::error_schema);
        all.collect::<IndexSet<_>>().into_iter().collect()
    }

    /// Reads a file and judges it. The module takes the name of the file.
    ///
    /// # Errors
    /// Everything that is wrong with the document, or that the file cannot be read.
    pub fn read(path: impl AsRef<std::path::Path>) -> Result<Self, crate::Problems> {
        crate::parse::file(path.as_ref())
    }

    /// Judges the text of a document, YAML or JSON. `file` is what problems call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str, module: &str) -> Result<Self, crate::Problems> {
        crate::parse::document(file, text, module)
    }
}
