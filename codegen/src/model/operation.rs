//! Operations: requests and responses.

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
    /// The tags, all of them in [`Document::tags`](super::Document::tags).
    pub tags: Vec<String>,
    /// `deprecated`.
    pub deprecated: bool,
    /// The alternatives for authorization, each a list of schemes that are all required; an empty list stands for
    /// anonymous access. No alternatives if the operation is public.
    pub security: Vec<Vec<Required>>,
    /// The parameters, including those of the path item, in the document's order.
    pub parameters: Vec<Parameter>,
    /// The request body.
    pub body: Option<Body>,
    /// The success, of which there may be [more](Operation::further).
    pub success: Response,
    /// Further successes of 2xx, with the same headers.
    pub further: Vec<Response>,
    /// Every other response, narrower statuses first.
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

/// A parameter of an operation; never nullable, never an object, and an array (of single values) only in a query.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name on the wire.
    pub name: String,
    /// Where it is sent.
    pub location: Location,
    /// Whether it is required; always true in a path.
    pub required: bool,
    /// `description`.
    pub description: Option<String>,
    /// Its schema.
    pub schema: Schema,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// Where a parameter is sent.
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
    /// Whether it may be null; only for JSON.
    pub null: OrNull,
    /// Whether it is required; always true if it is bytes, a text or multipart, or may be null.
    pub required: bool,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// Whether a body may be null, and where the document says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrNull {
    /// It is never null.
    #[default]
    Never,
    /// Nullable beside the reference to its component.
    Here,
    /// Nullable by its component.
    ByComponent,
}

/// How a body is written, and which component describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON, described by this component.
    Json {
        /// The component.
        component: String,
        /// `application/json`, or a type whose `+json` marks it as JSON too (RFC 6839, section 3.1).
        media_type: String,
    },
    /// `application/x-www-form-urlencoded`, of a request: this component, an object of single values.
    Form(String),
    /// `text/plain`: this component, a string.
    Text(String),
    /// `multipart/form-data`, of a request: the handler reads the parts.
    Multipart,
    /// Bytes of this media type, which may be `*/*`.
    Bytes(String),
}

impl Content {
    /// Returns the media type, as the document names it.
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

    /// Returns the component that describes it.
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

    /// Returns the media type, if it is JSON under a name other than `application/json`.
    #[must_use]
    pub fn json_type(&self) -> Option<&str> {
        match self {
            Self::Json { media_type, .. } => Some(media_type.as_str()),
            _ => None,
        }
        .filter(|it| *it != JSON)
    }
}

/// The plain media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// Which statuses a response has. Narrower statuses order first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Exactly this one: 101, 200 to 399 or 400 to 599.
    Code(u16),
    /// `4XX` or `5XX`, by its first digit.
    Class(u16),
    /// `default`: of an error, all statuses that no other response covers; of a success, which is then the only
    /// response, all.
    Other,
}

/// A response of one status, or, for errors, of several.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: Status,
    /// `description`.
    pub description: String,
    /// The headers that it may have, in the document's order.
    pub headers: Vec<Header>,
    /// How its body is written; `None` if it has none, as in all responses to HEAD. An error's body is JSON.
    pub content: Option<Content>,
    /// Whether it may be null; only for a success in JSON, and not for several that differ.
    pub null: OrNull,
    /// What a client can do next.
    pub links: Vec<Link>,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// What a client can do next with a response.
#[derive(Clone, Debug)]
pub struct Link {
    /// The operation, one of [`Document::operations`](super::Document::operations).
    pub operation: String,
    /// The operation's parameters that the link has values for, as published: `id` or `path.id`.
    pub parameters: Vec<String>,
    /// Whether the link has a request body.
    pub body: bool,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// A header of a response; never nullable, never an array or an object.
#[derive(Clone, Debug)]
pub struct Header {
    /// The name, as the document spells it.
    pub name: String,
    /// Whether every response of this status has it.
    pub required: bool,
    /// `description`.
    pub description: Option<String>,
    /// Its schema.
    pub schema: Schema,
}

impl std::fmt::Display for Status {
    /// Formats it as documents spell it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::Class(digit) => write!(f, "{digit}XX"),
            Self::Other => f.write_str("default"),
        }
    }
}

impl Method {
    /// Returns the method as requests spell it: `GET`.
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
    /// Returns the component that describes its body.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.content.as_ref().and_then(Content::schema)
    }

    /// Returns whether it upgrades the connection to a websocket.
    #[must_use]
    pub fn is_upgrade(&self) -> bool {
        self.status == Status::Code(101)
    }
}

impl Operation {
    /// Returns the `operationId` to give to progenitor: the function, if the id is not a valid name.
    #[must_use]
    pub fn plain_id(&self) -> String {
        match names::is_plain(&self.id) {
            true => self.id.clone(),
            false => self.function(),
        }
    }

    /// Returns the Rust function named after the operation: `create_product`.
    #[must_use]
    pub fn function(&self) -> String {
        names::value(&self.id)
    }

    /// Returns the stem of the Rust types named after the operation: `CreateProduct`.
    #[must_use]
    pub fn stem(&self) -> String {
        names::of_type(&self.id)
    }

    /// Returns the name of the hook that admits callers, built from the schemes, as in `key and token or public`;
    /// `None` if it is public.
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

    /// Iterates over the successes.
    pub fn successes(&self) -> impl Iterator<Item = &Response> {
        std::iter::once(&self.success).chain(&self.further)
    }

    /// Iterates over all responses, successes first.
    pub fn answers(&self) -> impl Iterator<Item = &Response> {
        self.successes().chain(&self.errors)
    }

    /// Returns the components that describe the bodies of successes, with `None` for no body, if they differ; else an
    /// empty set.
    #[must_use]
    pub fn success_bodies(&self) -> IndexSet<Option<&str>> {
        let bodies: IndexSet<_> = self.successes().map(Response::schema).collect();
        if bodies.len() > 1 {
            bodies
        } else {
            IndexSet::new()
        }
    }

    /// Returns the components that describe error bodies, in the order of the errors, with `None` for those without.
    #[must_use]
    pub fn error_bodies(&self) -> IndexSet<Option<&str>> {
        self.errors.iter().map(Response::schema).collect()
    }

    /// Describes every error body: a component, or several, as in `failure or nothing`; `None` if no error has a body.
    #[must_use]
    pub fn error_schema(&self) -> Option<String> {
        one_of_bodies(&self.error_bodies())
    }

    /// Describes the body of any success, if they differ: `thing or nothing`.
    #[must_use]
    pub fn success_schema(&self) -> Option<String> {
        one_of_bodies(&self.success_bodies())
    }
}

/// Returns the name for a choice of these bodies; `None` if there are none.
pub(crate) fn one_of_bodies(bodies: &IndexSet<Option<&str>>) -> Option<String> {
    let has_some = bodies.iter().any(Option::is_some);
    let names = bodies.iter().map(|it| it.unwrap_or("nothing"));
    has_some.then(|| names.collect::<Vec<_>>().join(" or "))
}
