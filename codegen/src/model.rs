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
//! - `nullable` is a property of the component, the inline schema, the reference or the body that has it,
//!   and never of a parameter, a header or an error;
//! - what `default` says passes the schema that it belongs to;
//! - the successes of an operation differ in status alone, or are JSON or nothing; so are its errors, always;
//! - a body of a form is an object.
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
pub(crate) use schema::OfForm;
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
    /// The scheme, which [`Document::security_schemes`] has.
    pub scheme: String,
    /// What the credential has to be good for.
    pub scopes: Vec<String>,
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
    /// The alternatives of who may call it, each of all its schemes, and the one of nobody empty; none when
    /// it is public.
    pub security: Vec<Vec<Required>>,
    /// The parameters, those of the path item included, in the document's order.
    pub parameters: Vec<Parameter>,
    /// The request body.
    pub body: Option<Body>,
    /// The success, of which there may be [more](Operation::further).
    pub success: Response,
    /// Others of 2xx, with the same headers.
    pub further: Vec<Response>,
    /// Every other answer, the narrower status first.
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
    /// HEAD
    Head,
}

/// A parameter of an operation; never nullable, never an object, and an array, of single values, only in a
/// query.
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

/// A request body.
#[derive(Clone, Debug)]
pub struct Body {
    /// `description`.
    pub description: Option<String>,
    /// How it is written.
    pub content: Content,
    /// Whether it may be null where it stands; only of JSON.
    pub nullable: bool,
    /// Whether it has to be there; always so where it is bytes, a text or multipart, or may be null.
    pub required: bool,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// How a body is written, and which component describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// `application/json`: this component.
    Json(String),
    /// `application/x-www-form-urlencoded`, of a request: this component, an object of single values.
    Form(String),
    /// `text/plain`: this component, a string.
    Text(String),
    /// `multipart/form-data`, of a request: parts that the handler reads.
    Multipart,
    /// Bytes of this media type, which may be `*/*`.
    Bytes(String),
}

impl Content {
    /// The media type, as the document names it.
    #[must_use]
    pub fn media_type(&self) -> &str {
        match self {
            Self::Json(_) => "application/json",
            Self::Form(_) => "application/x-www-form-urlencoded",
            Self::Text(_) => "text/plain",
            Self::Multipart => "multipart/form-data",
            Self::Bytes(media_type) => media_type,
        }
    }

    /// The component that describes it.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        match self {
            Self::Json(name) | Self::Form(name) | Self::Text(name) => Some(name),
            Self::Multipart | Self::Bytes(_) => None,
        }
    }
}

/// Which statuses an answer has. The narrower is the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// This one: 101, 200 to 399 or 400 to 599.
    Code(u16),
    /// `4XX` or `5XX`, by its first digit.
    Class(u16),
    /// `default`: those that nothing else says, of an error; of a success, which is then the only answer, all.
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
    /// How its body is written; `None` where it has none, as all answers to HEAD. An error's is JSON.
    pub content: Option<Content>,
    /// Whether it may be null where it stands; only of a success in JSON.
    pub nullable: bool,
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
            Self::Head => "HEAD",
        }
    }
}

impl Response {
    /// The component that describes its body.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.content.as_ref().and_then(Content::schema)
    }

    /// Whether it makes a websocket of the connection.
    #[must_use]
    pub fn is_upgrade(&self) -> bool {
        self.status == Status::Code(101)
    }
}

impl Operation {
    /// `operationId`, as progenitor should see it: the function, where the id is no name.
    #[must_use]
    pub fn plain_id(&self) -> String {
        match names::is_plain(&self.id) {
            true => self.id.clone(),
            false => self.function(),
        }
    }

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

    /// What the hook that admits its callers is named after: the schemes, as in `key and token or public`;
    /// `None` when it is public.
    #[must_use]
    pub fn admission(&self) -> Option<String> {
        let all = |required: &Vec<Required>| {
            let names: Vec<_> = required.iter().map(|it| it.scheme.as_str()).collect();
            match names.as_slice() {
                [] => "public".to_owned(),
                names => names.join(" and "),
            }
        };
        let alternatives: IndexSet<_> = self.security.iter().map(all).collect();
        let alternatives: Vec<_> = alternatives.into_iter().collect();
        (!alternatives.is_empty()).then(|| alternatives.join(" or "))
    }

    /// Every success.
    pub fn successes(&self) -> impl Iterator<Item = &Response> {
        std::iter::once(&self.success).chain(&self.further)
    }

    /// Every answer, the successes first.
    pub fn answers(&self) -> impl Iterator<Item = &Response> {
        self.successes().chain(&self.errors)
    }

    /// The components that describe the bodies of successes, and `None` for no body, where these differ; else nothing.
    #[must_use]
    pub fn success_bodies(&self) -> IndexSet<Option<&str>> {
        let bodies: IndexSet<_> = self.successes().map(Response::schema).collect();
        if bodies.len() > 1 {
            bodies
        } else {
            IndexSet::new()
        }
    }

    /// The components that describe error bodies, in the order of the errors, and `None` for those without.
    #[must_use]
    pub fn error_bodies(&self) -> IndexSet<Option<&str>> {
        self.errors.iter().map(Response::schema).collect()
    }

    /// What describes every error body: a component, or several, as in `failure or nothing`; `None` when no
    /// error has a body.
    #[must_use]
    pub fn error_schema(&self) -> Option<String> {
        one_of_bodies(&self.error_bodies())
    }

    /// What describes the body of any success, where these differ: `thing or nothing`.
    #[must_use]
    pub fn success_schema(&self) -> Option<String> {
        one_of_bodies(&self.success_bodies())
    }
}

/// The name of what is any of these bodies; `None` when none is there.
pub(crate) fn one_of_bodies(bodies: &IndexSet<Option<&str>>) -> Option<String> {
    let has_some = bodies.iter().any(Option::is_some);
    let names = bodies.iter().map(|it| it.unwrap_or("nothing"));
    has_some.then(|| names.collect::<Vec<_>>().join(" or "))
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

    /// What describes error bodies, in the order of first use.
    #[must_use]
    pub fn error_schemas(&self) -> Vec<String> {
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

    /// Reads a file as [`read`](Document::read) does, but takes as documentation what no generated code can keep, and
    /// says what that is ([lenient reading](crate#lenient-reading)).
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
    /// Everything else that is wrong with the document, or that the file cannot be read.
    pub fn read_leniently(
        path: impl AsRef<std::path::Path>,
    ) -> Result<(Self, Vec<crate::Problem>), crate::Problems> {
        crate::parse::lenient_file(path.as_ref())
    }

    /// Judges the text of a document as [`read_leniently`](Document::read_leniently) does.
    ///
    /// # Errors
    /// Everything else that is wrong with it.
    pub fn parse_leniently(
        file: &str,
        text: &str,
        module: &str,
    ) -> Result<(Self, Vec<crate::Problem>), crate::Problems> {
        crate::parse::lenient_document(file, text, module)
    }

    /// Judges the text of a document, YAML or JSON. `file` is what problems call it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(file: &str, text: &str, module: &str) -> Result<Self, crate::Problems> {
        crate::parse::document(file, text, module)
    }
}
