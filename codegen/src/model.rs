//! What a document means, once it has been read and nothing in it is in doubt.
//!
//! This is the seam between the two halves of the generator. Parsing makes a
//! [`Document`] or a list of problems; emission makes Rust from a [`Document`] and has
//! no errors of its own. So whatever the emitting half relies upon is promised here, and is refused
//! there:
//!
//! - every `$ref` is resolved: references to parameters, headers, responses and examples are gone,
//!   and those to schemas are [`Kind::Ref`]s that [`Document::schemas`] holds;
//! - references do not run in circles, and none leads to another reference;
//! - every component, operation, property and parameter has a Rust name of its own
//!   ([`crate::names`]);
//! - a scalar that is constrained in any way is a named component, so that every check has a type.
//!   Inline schemas are references, plain booleans, integers, numbers and strings, and arrays of
//!   inline schemas;
//! - `nullable` is a property of the component or inline schema that has it, and never of a
//!   parameter, a header, a body or an answer;
//! - what `default` says passes the schema that it belongs to;
//! - an operation has one success, and at least one error; all its errors have one schema.

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use crate::names;
pub use crate::pointer::Pointer;

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
    /// `components.schemas`, in the document's order.
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
    /// Every other answer, by ascending status; never empty. Each has a schema, and all the same.
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

/// An answer of one status.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, 200 to 299 or 400 to 599.
    pub status: u16,
    /// `description`.
    pub description: String,
    /// The headers that it may carry, in the document's order.
    pub headers: Vec<Header>,
    /// The component that describes its JSON body; `None` for 204, which has none, and for nothing
    /// else.
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

/// A schema, and where it stands.
#[derive(Clone, Debug)]
pub struct Schema {
    /// What it admits, null left aside.
    pub kind: Kind,
    /// Whether it admits null besides. A reference is not nullable itself: see
    /// [`Document::is_nullable`].
    pub nullable: bool,
    /// `description`.
    pub description: Option<String>,
    /// `default`, which passes the schema and is never null.
    pub default: Option<Value>,
    /// The schema as it is published, references unresolved.
    pub json: Value,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// What a schema admits.
#[derive(Clone, Debug)]
pub enum Kind {
    /// true and false.
    Boolean,
    /// A whole number of 64 bits, or of 32.
    Integer {
        /// `format: int32`: no bound of its own leads beyond 32 bits.
        narrow: bool,
        /// The bounds; each a whole number within the range of `i64`.
        bounds: Bounds,
    },
    /// A decimal number, held exactly.
    Number {
        /// The bounds.
        bounds: Bounds,
    },
    /// Text.
    String(Text),
    /// A list.
    Array {
        /// What each item is.
        items: Box<Schema>,
        /// `minItems`.
        min_items: Option<u64>,
        /// `maxItems`.
        max_items: Option<u64>,
        /// `uniqueItems`.
        unique_items: bool,
    },
    /// An object; always a component.
    Object {
        /// The properties, in the document's order.
        properties: IndexMap<String, Schema>,
        /// The names of those that have to be there, each of them a property.
        required: Vec<String>,
        /// Whether members that `properties` does not name are tolerated (and ignored).
        additional: bool,
    },
    /// One of several objects, told apart by one property; always a component.
    OneOf {
        /// The property that tells them apart. Every variant has it, required, as a string
        /// enumeration of exactly the values that lead to this variant.
        discriminator: String,
        /// From the values of that property to the components, in the document's order.
        mapping: IndexMap<String, String>,
    },
    /// The component of this name.
    Ref(String),
}

/// `minimum` and `maximum`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The lower bound.
    pub minimum: Option<Bound>,
    /// The upper bound.
    pub maximum: Option<Bound>,
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// A decimal literal without exponent: `-1`, `0.5`, `1000000000000`.
    pub value: String,
    /// Whether the value itself is outside.
    pub exclusive: bool,
}

/// What is said about text. Lengths count Unicode code points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// `minLength`.
    pub min_length: Option<u64>,
    /// `maxLength`.
    pub max_length: Option<u64>,
    /// `pattern`: an ECMA-262 regular expression, not anchored, that compiles.
    pub pattern: Option<String>,
    /// `format`.
    pub format: Option<Format>,
    /// `enum`, null left aside; empty when any text will do.
    pub enumeration: Vec<String>,
}

/// The formats of text that the subset knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `uuid`: RFC 9562, 36 characters.
    Uuid,
    /// `date-time`: RFC 3339.
    DateTime,
    /// `password`: a secret. Checked like any text, never shown by `Debug`.
    Password,
    /// `uri`: told to readers; any text passes.
    Uri,
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

    /// The component that describes every error body. Every operation has one.
    #[must_use]
    pub fn error_schema(&self) -> Option<&str> {
        self.errors
            .first()
            .and_then(|answer| answer.schema.as_deref())
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

    /// Whether the schema, or the component that it refers to, admits null.
    #[must_use]
    pub fn is_nullable(&self, schema: &Schema) -> bool {
        self.resolve(schema).nullable
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
