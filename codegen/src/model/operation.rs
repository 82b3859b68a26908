//! Operations: what is sent, and what is answered.

use indexmap::IndexSet;

use crate::names;

use super::{Pointer, Required, Schema};

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
    /// The tags, each of which [`Document::tags`](super::Document::tags) has.
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
    /// Whether it may be null; only of JSON.
    pub null: OrNull,
    /// Whether it has to be there; always so where it is bytes, a text or multipart, or may be null.
    pub required: bool,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// Whether a body may be null, and what says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrNull {
    /// It is never null.
    #[default]
    Never,
    /// What stands beside the reference to its component.
    Here,
    /// Its component.
    ByComponent,
}

/// How a body is written, and which component describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON: this component.
    Json {
        /// The component.
        component: String,
        /// `application/json`, or what says in `+json` that it is that, too (RFC 6839, section 3.1).
        media_type: String,
    },
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
            Self::Json { media_type, .. } => media_type,
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
            Self::Json {
                component: name, ..
            }
            | Self::Form(name)
            | Self::Text(name) => Some(name),
            Self::Multipart | Self::Bytes(_) => None,
        }
    }

    /// The media type, if it is JSON by another name than `application/json`.
    #[must_use]
    pub fn json_type(&self) -> Option<&str> {
        match self {
            Self::Json { media_type, .. } => Some(media_type.as_str()),
            _ => None,
        }
        .filter(|it| *it != JSON)
    }
}

/// The media type of JSON that says nothing else.
pub(crate) const JSON: &str = "application/json";

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
    /// Whether it may be null; only of a success in JSON, and not of several that differ.
    pub null: OrNull,
    /// What can be done next.
    pub links: Vec<Link>,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// What a reader of an answer can do next.
#[derive(Clone, Debug)]
pub struct Link {
    /// The operation, which [`Document::operations`](super::Document::operations) has.
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
