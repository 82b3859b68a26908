//! Responses: their status, headers and body.

use serde_json::Value;

use crate::model::{Content, Header, Location, Method, OrNull, Pointer, Response, Status};
use crate::names::part;

use super::content;
use super::link;
use super::names;
use super::operation::{self, WEBSOCKET};
use super::reader::{Keywords, Place, Reader};
use super::schema;

const ANSWER: Keywords = Keywords::new(
    "an answer",
    &["content", "headers", "links"],
    &["description"],
);
const HEADER: Keywords = Keywords::new(
    "a header",
    &["required", "schema", "style", "explode"],
    &["description", "deprecated", "example", "examples"],
);
const EXAMPLE: Keywords = Keywords::new(
    "an example",
    &["value", "externalValue"],
    &["summary", "description"],
);

/// The responses of an operation.
pub(super) struct Answers {
    pub(super) success: Response,
    pub(super) further: Vec<Response>,
    pub(super) errors: Vec<Response>,
}

/// Reads the success of an operation, further successes that differ only in status, and its errors.
///
/// Responses to HEAD have no body (RFC 9110, section 9.3.2): `content` describes what GET would return.
pub(super) fn all(
    reader: &Reader<'_>,
    operation: &Place<'_>,
    method: Method,
    stem: &str,
) -> Option<Answers> {
    let Some(place) = operation.get("responses") else {
        reader.missing(operation, "responses");
        return None;
    };
    reader.expect(&place, "an object", Value::as_object)?;
    let (mut successes, mut errors) = (Vec::new(), Vec::new());
    let mut whole = true;
    for (status, answer) in place.members() {
        match of_status(reader, status, answer, stem) {
            Some(answer) if is_success(answer.status) => successes.push(answer),
            Some(answer) => errors.push(answer),
            None => whole = false,
        }
    }
    errors.sort_by_key(|answer: &Response| answer.status);
    if successes.is_empty() && errors.len() == 1 && is_anything(&errors[0]) {
        let anything = errors.remove(0);
        // Earlier versions of dropshot described websockets like this.
        successes.push(match operation.get(WEBSOCKET) {
            Some(_) => Response {
                status: Status::Code(101),
                content: None,
                ..anything
            },
            None => anything,
        });
    }
    if method == Method::Head {
        for answer in successes.iter_mut().chain(&mut errors) {
            (answer.content, answer.null) = (None, OrNull::Never);
        }
    }
    if whole && successes.is_empty() {
        reader.refuse(
            &place.pointer,
            "the operation has no success",
            "write an answer of 101 or 200 to 399: its function has a result",
        );
    }
    successes.sort_by_key(|answer| answer.status);
    if whole {
        check_errors(reader, &errors);
    }
    let mut successes = successes.into_iter();
    let (success, further) = (successes.next()?, Vec::from_iter(successes));
    check_further(reader, &success, &further);
    whole.then_some(Answers {
        success,
        further,
        errors,
    })
}

/// Checks that several successes of an operation can be one result: several statuses, with the same body or with
/// one of several in JSON.
fn check_further(reader: &Reader<'_>, success: &Response, further: &[Response]) {
    let headers = |answer: &Response| -> Vec<_> {
        let headers = answer.headers.iter();
        headers
            .map(|it| (it.name.clone(), it.required, it.schema.json.clone()))
            .collect()
    };
    let is_2xx = |answer: &Response| matches!(answer.status, Status::Code(200..300));
    for answer in further {
        let has_same_body = answer.content == success.content && answer.null == success.null;
        let can_be_one = has_same_body || (is_json(answer) && is_json(success));
        let remedy = if !is_2xx(answer) || !is_2xx(success) {
            "write only successes of 200 to 299, or an operation for each"
        } else if headers(answer) != headers(success) {
            "write the same headers for all successes, or an operation for each"
        } else if !can_be_one {
            "write `application/json` without null, or no `content`, for each success, the same body for all, or an \
             operation for each"
        } else {
            continue;
        };
        let cause = format!("the success differs from that of {}", success.status);
        reader.refuse(&answer.pointer, cause, remedy);
    }
}

/// Whether its body is non-null JSON, or absent.
fn is_json(answer: &Response) -> bool {
    matches!(answer.content, None | Some(Content::Json { .. })) && answer.null == OrNull::Never
}

fn is_success(status: Status) -> bool {
    matches!(status, Status::Code(..400))
}

/// Whether this, as the only response, means that the handler makes the whole response: dropshot's
/// `Response<Body>`.
fn is_anything(answer: &Response) -> bool {
    answer.status == Status::Other && matches!(answer.content, Some(Content::Bytes(_)))
}

/// Checks that all bodies of errors are JSON, and that none may be null.
fn check_errors(reader: &Reader<'_>, errors: &[Response]) {
    for answer in errors {
        match answer.content {
            _ if answer.null != OrNull::Never => reader.refuse(
                &answer.pointer,
                "an error may not be null",
                "remove `nullable`",
            ),
            None | Some(Content::Json { .. }) => {}
            Some(_) => reader.refuse(
                &answer.pointer,
                "the body of an error is no JSON",
                "write `application/json`, or no `content`",
            ),
        }
    }
}

fn of_status<'a>(
    reader: &Reader<'a>,
    text: &str,
    place: Place<'a>,
    stem: &str,
) -> Option<Response> {
    let number = (text.len() == 3)
        .then(|| text.parse::<u16>().ok())
        .flatten();
    let status = match (number, text) {
        (Some(number @ (101 | 200..=599)), _) => Status::Code(number),
        (_, "4XX") => Status::Class(4),
        (_, "5XX") => Status::Class(5),
        (_, "default") => Status::Other,
        _ => {
            let remedy = match number {
                Some(_) => "write 101 or 200 to 599: no other ends a request",
                None => {
                    "write each success by its number, and errors by theirs, `4XX`, `5XX` or `default`"
                }
            };
            reader.refuse(
                &place.pointer,
                format!("the status `{text}` is not understood"),
                remedy,
            );
            return None;
        }
    };
    let what = if is_success(status) {
        "response"
    } else {
        "error"
    };
    one(reader, place, status, &part(stem, what))
}

/// Reads a response, wherever it is defined; `name` is for its body, if that has no name. A component has no
/// status; 200 stands for all.
pub(super) fn one<'a>(
    reader: &Reader<'a>,
    place: Place<'a>,
    status: Status,
    name: &str,
) -> Option<Response> {
    let place = reader.follow(place, "responses")?;
    let place = reader.object(place, &ANSWER)?;
    let description = reader.required_text(&place, "description");
    let headers = headers(reader, &place, name);
    let links = link::all(reader, &place);
    let body = match (place.get("content"), status) {
        // Earlier versions of dropshot wrote one that is anything.
        (_, Status::Code(101)) | (None, _) => None,
        (Some(content), Status::Code(status @ (204 | 205 | 304))) => {
            reader.refuse(
                &content.pointer,
                format!("an answer of status {status} has no body"),
                "remove `content`, or write another status",
            );
            return None;
        }
        (Some(_), _) => Some(content::all(reader, &place, content::Side::Answer, name)?),
    };
    Some(Response {
        status,
        description: description?,
        headers: headers?,
        null: body.as_ref().map(|(_, null)| *null).unwrap_or_default(),
        content: body.map(|(content, _)| content),
        links,
        pointer: place.pointer,
    })
}

fn headers<'a>(reader: &Reader<'a>, answer: &Place<'a>, whole_name: &str) -> Option<Vec<Header>> {
    let Some(place) = answer.get("headers") else {
        return Some(Vec::new());
    };
    reader.expect(&place, "an object", Value::as_object)?;
    names::check_headers(reader, &place);
    let mut headers = Vec::new();
    let mut whole = true;
    for (name, member) in place.members() {
        check_header_name(reader, name, &member.pointer);
        match header(reader, name, member, whole_name) {
            Some(header) => headers.push(header),
            None => whole = false,
        }
    }
    whole.then_some(headers)
}

/// Refuses headers that OpenAPI describes by other means, and those of HTTP itself.
pub(super) fn check_header_name(reader: &Reader<'_>, name: &str, pointer: &Pointer) {
    let remedy = match name.to_ascii_lowercase().as_str() {
        "accept" | "content-type" => "remove it: the media type of a body says it",
        "authorization" => "remove it: write a security scheme",
        "connection" | "content-length" | "host" | "te" | "trailer" | "transfer-encoding"
        | "upgrade" => "remove it: client and server agree about it by themselves",
        _ => return,
    };
    reader.refuse(
        pointer,
        format!("the header `{name}` is not one that a document describes as a header"),
        remedy,
    );
}

/// Reads a header, wherever it is defined. `whole` is what it is a part of.
pub(super) fn header<'a>(
    reader: &Reader<'a>,
    name: &str,
    place: Place<'a>,
    whole: &str,
) -> Option<Header> {
    let place = reader.follow(place, "headers")?;
    let place = reader.object(place, &HEADER)?;
    examples(reader, &place);
    operation::check_style(reader, &place, Location::Header);
    let Some(schema) = place.get("schema") else {
        reader.missing(&place, "schema");
        return None;
    };
    Some(Header {
        name: name.to_owned(),
        required: reader.flag(&place, "required"),
        description: reader.text(&place, "description"),
        schema: schema::inline(reader, schema, &part(whole, name))?,
    })
}

/// Checks `examples`: references must resolve, and keywords must be known.
pub(super) fn examples<'a>(reader: &Reader<'a>, holder: &Place<'a>) {
    let Some(place) = holder.get("examples") else {
        return;
    };
    reader.expect(&place, "an object", Value::as_object);
    for (_, example) in place.members() {
        self::example(reader, example);
    }
}

/// Checks an example, wherever it is defined.
pub(super) fn example<'a>(reader: &Reader<'a>, place: Place<'a>) {
    if let Some(place) = reader.follow(place, "examples") {
        reader.object(place, &EXAMPLE);
    }
}
