//! The meaning of a document, once it has been read and checked.
//!
//! This is the seam between the two halves of the generator. Parsing turns text into a [`Document`] or a list of
//! problems; emission turns a [`Document`] into Rust and has no errors of its own. So everything that emission relies
//! on is promised here, and parsing refuses documents that would break it:
//!
//! - every `$ref` is resolved: references to parameters, headers, responses and examples are gone, and those to
//!   schemas are [`Kind::Ref`]s that [`Document::schemas`] holds;
//! - references form cycles only through lists, maps and variants, so every type has a size, and none leads to
//!   another reference;
//! - every component, operation, property, value of an enumeration and parameter has a Rust name of its own
//!   ([`crate::names`]);
//! - a scalar that is constrained in any way is a component, so that every check has a type. Inline
//!   schemas are references, plain booleans, integers, numbers and strings, and lists and maps of
//!   inline schemas; so is any value;
//! - `nullable` is a property of the component, the inline schema, the reference or the body that has it,
//!   and never of a parameter, a header or an error;
//! - every `default` passes the schema that it belongs to;
//! - the successes of an operation differ in status alone, or are JSON or nothing; its errors always are JSON or
//!   nothing;
//! - the body of a form is an object.
//!
//! # How the model stays small
//!
//! Documents can say one thing in many ways. Emission sees only one of them: reading normalizes the others, and
//! [`Schema::json`] keeps the original for publication.
//!
//! - An inline schema that needs a type becomes a component, with a name derived from its place ([`Schema::is_made`],
//!   [`crate::names::part`]). Emission knows no inline objects.
//! - `allOf` of one reference is that reference, with the `nullable` and the `default` beside it.
//! - A component that repeats another, and an `allOf` of several, become what they mean: an object with the members
//!   of all parts. Properties beside a list of alternatives move into each alternative.
//! - An alternative that is null makes the whole nullable.
//! - A bound that the format of an integer implies is not a bound.
//! - `nullable` of a parameter has no effect, since no text is null.
//!
//! So a new way to say something changes only the parsing half. A new thing to say is a [`Kind`], or a field of one;
//! the compiler then finds each place in the emitting half that must handle it.

mod object;
mod operation;
mod schema;

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use crate::names;
pub use crate::pointer::Pointer;
pub use object::Others;
pub(crate) use operation::JSON;
pub(crate) use operation::one_of_bodies;
pub use operation::{
    Body, Content, Header, Link, Location, Method, Operation, OrNull, Parameter, Response, Status,
};
pub(crate) use schema::OfForm;
pub use schema::{Alternative, Bound, Bounds, Format, Kind, Limit, Schema, Sign, Text, Width};

/// An OpenAPI document of the subset described at [`crate`].
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
    /// The tags, in the document's order. Operations use no other tags.
    pub tags: IndexMap<String, Tag>,
    /// All operations, in the document's order.
    pub operations: Vec<Operation>,
    /// `components.schemas`, in the document's order, followed by the inline schemas that need a type.
    pub schemas: IndexMap<String, Schema>,
    /// `components.securitySchemes`, in the document's order.
    pub security_schemes: IndexMap<String, SecurityScheme>,
    /// The whole document as published.
    pub source: Value,
}

/// A tag, and how the document describes it.
#[derive(Clone, Debug)]
pub struct Tag {
    /// `description`.
    pub description: Option<String>,
}

/// How a caller proves its identity.
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
    /// `type: http`: in `Authorization`, after this scheme, in lower case (RFC 9110, section 11).
    Http(String),
    /// `type: apiKey`, `in: header`: in the header of this name.
    Header(String),
    /// `type: apiKey`, `in: query`: in the query, under this name.
    Query(String),
    /// `type: apiKey`, `in: cookie`: in the cookie of this name.
    Cookie(String),
    /// `type: oauth2`: as a bearer token, which may have these scopes.
    OAuth2(Vec<String>),
    /// `type: openIdConnect`: as a bearer token.
    OpenIdConnect,
}

/// A security scheme that an operation asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Required {
    /// The scheme, a key of [`Document::security_schemes`].
    pub scheme: String,
    /// The scopes that the credential must have.
    pub scopes: Vec<String>,
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
    /// Returns the schema itself, or the component that it refers to.
    #[must_use]
    pub fn resolve<'a>(&'a self, schema: &'a Schema) -> &'a Schema {
        match &schema.kind {
            // Every reference was resolved when the document was read, so the fallback is never used.
            Kind::Ref(name) => self.schemas.get(name).unwrap_or(schema),
            _ => schema,
        }
    }

    /// Returns the components that a component refers to, at any depth of its own text.
    #[must_use]
    pub fn references(&self, name: &str) -> Vec<&str> {
        self.schemas
            .get(name)
            .map(Schema::references)
            .unwrap_or_default()
    }

    /// Returns whether references lead from one component to another, or back to itself.
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

    /// Returns the components whose types must decide for themselves whether a value belongs to them: the
    /// alternatives that are told apart by trial, and everything these lead to.
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

    /// Returns whether the schema, or the component that it refers to, admits null.
    #[must_use]
    pub fn is_nullable(&self, schema: &Schema) -> bool {
        schema.nullable || self.resolve(schema).nullable
    }

    /// Returns the name of the function in the server's trait that makes error bodies of this component: the
    /// component's own name, or `..._answer` if an operation has that name.
    #[must_use]
    pub fn error_hook(&self, schema: &str) -> String {
        error_hook(&self.operations, schema)
    }

    /// Returns the descriptions of error bodies, in the order of first use.
    #[must_use]
    pub fn error_schemas(&self) -> Vec<String> {
        let all = self.operations.iter().filter_map(Operation::error_schema);
        all.collect::<IndexSet<_>>().into_iter().collect()
    }

    /// Reads and checks a file. The module is named after the file.
    ///
    /// # Errors
    /// All problems of the document, or that the file cannot be read.
    pub fn read(path: impl AsRef<std::path::Path>) -> Result<Self, crate::Problems> {
        crate::parse::file(path.as_ref())
    }

    /// Reads a file as [`read`](Document::read) does, but treats as documentation what no generated code can enforce,
    /// and reports it ([lenient reading](crate#lenient-reading)).
    ///
    /// ```no_run
    /// let (document, not_kept) = openapi_dropshot::Document::read_leniently("openapi.yaml")?;
    /// for problem in &not_kept {
    ///     eprintln!("warning: {problem}");
    /// }
    /// # drop(document);
    /// # Ok::<_, openapi_dropshot::Problems>(())
    /// ```
    ///
    /// # Errors
    /// All remaining problems of the document, or that the file cannot be read.
    pub fn read_leniently(
        path: impl AsRef<std::path::Path>,
    ) -> Result<(Self, Vec<crate::Problem>), crate::Problems> {
        crate::parse::lenient_file(path.as_ref())
    }

    /// Checks the text of a document as [`read_leniently`](Document::read_leniently) does.
    ///
    /// # Errors
    /// All remaining problems of the document.
    pub fn parse_leniently(
        file: &str,
        text: &str,
        module: &str,
    ) -> Result<(Self, Vec<crate::Problem>), crate::Problems> {
        crate::parse::lenient_document(file, text, module)
    }

    /// Checks the text of a document, YAML or JSON. `file` is its name in problems.
    ///
    /// # Errors
    /// All problems of the document.
    pub fn parse(file: &str, text: &str, module: &str) -> Result<Self, crate::Problems> {
        crate::parse::document(file, text, module)
    }
}
