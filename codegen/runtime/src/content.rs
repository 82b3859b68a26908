//! Turns the bytes of a request body into what a handler gets, by the document's media type.
//!
//! | media type | read | what the handler gets |
//! |---|---|---|
//! | `application/json` | whole, within limits | the type of its schema; an `Option` if it is optional |
//! | `application/x-www-form-urlencoded` | whole | the same: names are those of members |
//! | `text/plain` | whole | the same: the body is one string, in UTF-8 |
//! | `multipart/form-data` | by the handler | [`Multipart`] |
//! | any other | by the handler | [`RequestBody`], the bytes |
//!
//! The texts of a form are read like those of a query. A list of single values repeats its name for each, and
//! everything else that is not a single value is JSON (OpenAPI 3.0.3, Encoding Object).
//!
//! For a response of 101, the connection takes the place of a body: the handler gets a [`Websocket`].

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use dropshot::{
    ApiEndpointBodyContentType, ApiEndpointParameter, ExclusiveExtractor, MultipartBody, TypedBody,
    UntypedBody,
};
use futures::TryStreamExt;
use http::header::{self, HeaderMap, HeaderValue};
use percent_encoding::percent_decode;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::body::RequestBody;
use crate::json::{self, Value};
use crate::operation::{Body, Operation};
use crate::rejection::{Cause, RequestError};
use crate::schema::{Kind, Schema, check};
use crate::violation::{Path, Violation, Violations, constraint};
use crate::websocket::Websocket;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const TEXT: &str = "text/plain";

/// A body that has not been read yet.
#[derive(Debug)]
pub struct Unread {
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) body: RequestBody,
    pub(crate) websocket: Option<Box<Websocket>>,
}

/// The form in which the handler gets a body.
pub trait FromBody: Sized + Send + Sync + 'static {
    /// Whether the handler reads it itself.
    const UNREAD: bool = false;

    /// Makes it from a value that has passed its schema, or from the unread body.
    ///
    /// # Errors
    /// An internal error if the value does not fit the type: the generator made a type that does not agree with the
    /// schema. For an unread body, whatever is wrong with its head.
    fn made(value: &Value<'_>, unread: Unread) -> Result<Self, RequestError>;

    /// Describes it to dropshot.
    fn parameters(content_type: ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter>;
}

impl<T: DeserializeOwned + JsonSchema + Send + Sync + 'static> FromBody for T {
    fn made(value: &Value<'_>, _: Unread) -> Result<T, RequestError> {
        // What has passed the schema fits the type generated from it, so this is not the caller's fault.
        T::deserialize(value).map_err(|_| RequestError::internal())
    }

    fn parameters(content_type: ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter> {
        <TypedBody<T> as ExclusiveExtractor>::metadata(content_type).parameters
    }
}

/// An optional body.
#[derive(Clone, Debug)]
pub struct Optional<T>(pub Option<T>);

impl<T: DeserializeOwned + JsonSchema + Send + Sync + 'static> FromBody for Optional<T> {
    fn made(value: &Value<'_>, unread: Unread) -> Result<Self, RequestError> {
        match value {
            // No JSON body is null: null means that there was no body.
            Value::Null => Ok(Optional(None)),
            value => T::made(value, unread).map(|it| Optional(Some(it))),
        }
    }

    fn parameters(content_type: ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter> {
        T::parameters(content_type)
    }
}

impl FromBody for RequestBody {
    const UNREAD: bool = true;

    fn made(_: &Value<'_>, unread: Unread) -> Result<Self, RequestError> {
        Ok(unread.body)
    }

    fn parameters(content_type: ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter> {
        <UntypedBody as ExclusiveExtractor>::metadata(content_type).parameters
    }
}

/// The parts of a `multipart/form-data` body, not yet read.
#[derive(Debug)]
pub struct Multipart {
    boundary: String,
    body: RequestBody,
}

impl Multipart {
    /// Sets the limits for all parts together ([`RequestBody::allowing`]).
    #[must_use]
    pub fn allowing(mut self, max_bytes: usize, deadline: std::time::Duration) -> Multipart {
        self.body = self.body.allowing(max_bytes, deadline);
        self
    }

    /// Returns the parts, as they arrive. Exceeding a limit is an error of the stream.
    pub fn parts(self) -> multer::Multipart<'static> {
        let said = |error: RequestError| {
            let all = error.violations.iter();
            let all: Vec<_> = all.map(|it| it.message.to_string()).collect();
            std::io::Error::other(all.join(", "))
        };
        multer::Multipart::new(self.body.stream().map_err(said), self.boundary)
    }
}

impl FromBody for Multipart {
    const UNREAD: bool = true;

    fn made(_: &Value<'_>, unread: Unread) -> Result<Self, RequestError> {
        let value = unread.content_type.as_ref();
        let value = value.and_then(|it| it.to_str().ok());
        let boundary = value.and_then(|it| multer::parse_boundary(it).ok());
        let message = "must be multipart/form-data, with a boundary";
        Ok(Multipart {
            boundary: boundary.ok_or_else(|| RequestError::media_type(message))?,
            body: unread.body,
        })
    }

    fn parameters(content_type: ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter> {
        <MultipartBody as ExclusiveExtractor>::metadata(content_type).parameters
    }
}

impl FromBody for Websocket {
    const UNREAD: bool = true;

    fn made(_: &Value<'_>, unread: Unread) -> Result<Self, RequestError> {
        let websocket = unread.websocket.ok_or_else(RequestError::internal)?;
        websocket.checked()
    }

    fn parameters(_: ApiEndpointBodyContentType) -> Vec<ApiEndpointParameter> {
        Vec::new()
    }
}

/// A body that has been read, parsed as far as its media type tells how.
pub(crate) enum Received {
    Nothing,
    Json(Bytes),
    Text(String),
    Form(Vec<(String, String)>),
}

impl Received {
    /// Parses a body.
    ///
    /// # Errors
    /// Any syntax error.
    pub(crate) fn of(read: Option<(&Body, Bytes)>) -> Result<Received, RequestError> {
        let Some((body, bytes)) = read else {
            return Ok(Received::Nothing);
        };
        match body.media_type {
            _ if bytes.is_empty() && !body.required => Ok(Received::Nothing),
            FORM => form(&bytes).map(Received::Form),
            TEXT => utf8(&bytes)
                .map(Received::Text)
                .ok_or_else(|| of_body(Violation::new("", "format", "must be UTF-8"))),
            _ => Ok(Received::Json(bytes)),
        }
    }

    /// Returns its value, once it has passed the schema of the operation's body; null if there is no body.
    ///
    /// # Errors
    /// All violations.
    pub(crate) fn value(&self, operation: &Operation) -> Result<Value<'_>, RequestError> {
        let Some(schema) = operation.body.as_ref().and_then(|it| it.schema) else {
            return Ok(Value::Null);
        };
        let value = match self {
            Received::Nothing => return Ok(Value::Null),
            Received::Json(text) => json::parse(text).map_err(of_body)?,
            Received::Text(text) => Value::String(Cow::Borrowed(text)),
            Received::Form(pairs) => Value::Object(members(schema, pairs)?),
        };
        RequestError::unless_empty(Cause::Body, check(schema, &value))?;
        Ok(value)
    }
}

fn of_body(violation: Violation) -> RequestError {
    RequestError {
        cause: Cause::Body,
        violations: violation.into(),
    }
}

/// Returns the members of a form: the schema of each determines what its text stands for.
///
/// # Errors
/// Names that occur twice and are not lists, and texts that should be JSON and are not.
fn members<'a>(
    schema: &Schema,
    pairs: &'a [(String, String)],
) -> Result<Vec<(Cow<'a, str>, Value<'a>)>, RequestError> {
    let properties = match &schema.kind {
        Kind::Ref(schema) | Kind::Limited(schema, _) => return members(schema, pairs),
        Kind::Object(object) => object.properties,
        _ => &[],
    };
    let mut members = Vec::<(Cow<'a, str>, Value<'a>)>::new();
    let mut places = HashMap::new();
    let mut violations = Violations::default();
    for (name, text) in pairs {
        let property = properties.iter().find(|it| it.name == name);
        let schema = property.map(|it| &it.schema);
        let items = schema.and_then(Schema::items).filter(|it| it.is_single());
        let seen = places.get(name.as_str()).copied();
        match (seen.and_then(|at: usize| members.get_mut(at)), items) {
            (Some((_, Value::Array(list))), Some(items)) => list.push(items.read_text(text)),
            (Some(_), _) => {
                let message = "must not be given more than once";
                violations.add(|| Violation::new(place(name), constraint::REPEATED, message));
            }
            (None, items) => {
                let value = match (schema, items) {
                    (_, Some(items)) => Value::Array(vec![items.read_text(text)]),
                    (Some(schema), _) if !schema.is_single() => {
                        match json::parse(text.as_bytes()) {
                            Ok(value) => value,
                            Err(_) => {
                                let message = "must be JSON";
                                violations.add(|| Violation::new(place(name), "format", message));
                                continue;
                            }
                        }
                    }
                    (Some(schema), _) => schema.read_text(text),
                    (None, _) => Value::String(Cow::Borrowed(text)),
                };
                places.insert(name.as_str(), members.len());
                members.push((Cow::Borrowed(name.as_str()), value));
            }
        }
    }
    RequestError::unless_empty(Cause::Body, violations)?;
    // A list without items is not written at all.
    let left_out = properties.iter().filter(|it| it.required);
    let left_out = left_out.filter(|it| !places.contains_key(it.name));
    for property in left_out {
        if property.schema.items().is_some_and(Schema::is_single) {
            members.push((Cow::Borrowed(property.name), Value::Array(Vec::new())));
        }
    }
    Ok(members)
}

/// Returns the pairs of a form.
fn form(bytes: &[u8]) -> Result<Vec<(String, String)>, RequestError> {
    let mut pairs = Vec::new();
    let mut violations = Violations::default();
    for pair in bytes.split(|&it| it == b'&').filter(|it| !it.is_empty()) {
        let end = pair.iter().position(|&it| it == b'=');
        let (name, text) = match end {
            Some(end) => (&pair[..end], &pair[end + 1..]),
            None => (pair, &[][..]),
        };
        let (Some(name), text) = (decoded(name), decoded(text)) else {
            violations.add(|| Violation::new("", "format", "must have names in UTF-8"));
            continue;
        };
        match text {
            Some(text) => pairs.push((name, text)),
            None => violations.add(|| Violation::new(place(&name), "format", "must be UTF-8")),
        }
    }
    RequestError::unless_empty(Cause::Body, violations)?;
    Ok(pairs)
}

/// Returns the JSON path of a form's member; the root, if its name is too long to report.
fn place(name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    Path::of(format_args!("/{name}")).unwrap_or_default()
}

fn decoded(text: &[u8]) -> Option<String> {
    let spaced: Vec<u8> = text
        .iter()
        .map(|&it| if it == b'+' { b' ' } else { it })
        .collect();
    String::from_utf8(percent_decode(&spaced).collect()).ok()
}

fn utf8(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// Returns dropshot's name for the media type of a body. It has four, and none for text.
pub(crate) fn content_type(body: &Body) -> ApiEndpointBodyContentType {
    match body.media_type {
        FORM => ApiEndpointBodyContentType::UrlEncoded,
        _ => ApiEndpointBodyContentType::Json,
    }
}

/// Checks the media type. A missing one counts as the document's. Parameters are ignored: JSON is UTF-8 (RFC 8259,
/// section 8.1), and so are texts and forms here; anything else is found when it is read.
pub(crate) fn check_media_type(body: &Body, headers: &HeaderMap) -> Result<(), RequestError> {
    let wanted = body.media_type;
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let essence = types.next().map_or(wanted.as_bytes(), |value| {
        let mut parts = value.as_bytes().split(|&byte| byte == b';');
        parts.next().unwrap_or_default().trim_ascii()
    });
    let is_wanted = wanted == "*/*" || essence.eq_ignore_ascii_case(wanted.as_bytes());
    if types.next().is_some() || !is_wanted {
        let message = match wanted {
            JSON => Cow::Borrowed("must be application/json"),
            "*/*" => Cow::Borrowed("must be given at most once"),
            wanted => Cow::Owned(format!("must be {wanted}")),
        };
        return Err(RequestError::media_type(message));
    }
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(RequestError::media_type(
            "must not be compressed (Content-Encoding)",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Alternative, Array, Bounds, Object, Property, Sign, Text};

    const fn of(kind: Kind) -> Schema {
        Schema {
            kind,
            nullable: false,
        }
    }

    const fn property(name: &'static str, schema: &'static Schema) -> Property {
        Property {
            name,
            required: false,
            schema: of(Kind::Ref(schema)),
        }
    }

    const fn either(alternatives: &'static [Alternative]) -> Schema {
        of(Kind::Union(alternatives))
    }

    static TEXT_SCHEMA: Schema = of(Kind::String(Text {
        min_length: 0,
        max_length: None,
        pattern: None,
        format: None,
        enumeration: &[],
    }));
    static NUMBER: Schema = of(Kind::Number(Bounds {
        minimum: None,
        maximum: None,
    }));
    static LIST: Schema = of(Kind::Array(Array {
        items: &TEXT_SCHEMA,
        min_items: 0,
        max_items: None,
        unique_items: false,
    }));
    static REFERRED: Schema = of(Kind::Ref(&TEXT_SCHEMA));
    static TEXTS: Schema = either(&[
        Alternative {
            sign: Sign::Text(&["1"]),
            schema: &REFERRED,
        },
        Alternative {
            sign: Sign::String,
            schema: &NESTED,
        },
    ]);
    static NESTED: Schema = either(&[Alternative {
        sign: Sign::String,
        schema: &TEXT_SCHEMA,
    }]);
    static EITHER: Schema = either(&[
        Alternative {
            sign: Sign::String,
            schema: &TEXT_SCHEMA,
        },
        Alternative {
            sign: Sign::Number,
            schema: &NUMBER,
        },
    ]);
    static PROPERTIES: [Property; 3] = [
        property("list", &LIST),
        property("texts", &TEXTS),
        property("either", &EITHER),
    ];
    static FORM_SCHEMA: Schema = of(Kind::Object(Object {
        properties: &PROPERTIES,
        additional: true,
    }));
    static REFERRED_FORM: Schema = of(Kind::Ref(&FORM_SCHEMA));

    #[test]
    fn a_form_has_a_list_of_one_the_text_of_texts_and_json_of_what_may_be_more() {
        let pair = |name: &str| (name.to_owned(), "1".to_owned());
        let pairs = ["list", "texts", "either", "unknown"].map(pair);
        let text = || Value::String("1".into());
        let expected = [
            ("list".into(), Value::Array(vec![text()])),
            ("texts".into(), text()),
            ("either".into(), Value::Number("1")),
            ("unknown".into(), text()),
        ];
        assert_eq!(members(&REFERRED_FORM, &pairs).unwrap(), expected);
    }
}
