//! Answers: their status, headers and body.

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{Header, Pointer, Response, Schema};

use super::graph;
use super::link;
use super::names;
use super::reader::{Keywords, Place, Reader};
use super::schema;

const ANSWER: Keywords = Keywords::new(
    "an answer",
    &["content", "headers", "links"],
    &["description"],
);
const HEADER: Keywords = Keywords::new(
    "a header",
    &["required", "schema"],
    &["description", "example", "examples"],
);
const CONTENT: Keywords = Keywords::new("the content", &["application/json"], &[]);
const MEDIA_TYPE: Keywords = Keywords::new("a media type", &["schema"], &["example", "examples"]);
const EXAMPLE: Keywords = Keywords::new(
    "an example",
    &["value", "externalValue"],
    &["summary", "description"],
);

/// The success of an operation and its errors.
pub(super) fn all(
    reader: &Reader<'_>,
    operation: &Place<'_>,
    schemas: &IndexMap<String, Schema>,
) -> Option<(Response, Vec<Response>)> {
    let Some(place) = operation.get("responses") else {
        reader.missing(operation, "responses");
        return None;
    };
    reader.expect(&place, "an object", Value::as_object)?;
    let mut answers = Vec::new();
    let mut whole = true;
    for (status, answer) in place.members() {
        match numbered(reader, status, answer) {
            Some(answer) => answers.push(answer),
            None => whole = false,
        }
    }
    for answer in &answers {
        for header in &answer.headers {
            graph::check_single_value(reader, schemas, &header.schema, false);
        }
        if let Some(name) = &answer.schema {
            graph::check_body(reader, schemas, name, &answer.pointer);
        }
    }
    answers.sort_by_key(|answer| answer.status);
    let successes = answers.iter().filter(|it| it.status < 300).count();
    if whole && successes != 1 {
        reader.refuse(
            &place.pointer,
            format!("the operation has {successes} successes"),
            "write exactly one answer of 200 to 299: its function has one result",
        );
    }
    if whole {
        check_errors(reader, &place, &answers);
    }
    if !whole || successes != 1 {
        return None;
    }
    // The one success has the lowest status.
    let errors = answers.split_off(1);
    answers.pop().map(|success| (success, errors))
}

/// There are errors, all of them have a body, and the same.
fn check_errors(reader: &Reader<'_>, responses: &Place<'_>, answers: &[Response]) {
    if !answers.is_empty() && answers.iter().all(|it| it.status < 400) {
        reader.refuse(
            &responses.pointer,
            "the operation has no errors, and every server has some",
            "write at least `500`",
        );
    }
    let mut first: Option<(&str, u16)> = None;
    for answer in answers.iter().filter(|it| it.status >= 400) {
        let pointer = responses.pointer.child(answer.status);
        match (&answer.schema, first) {
            (None, _) => reader.refuse(
                &pointer,
                "an error without a body tells its reader nothing",
                "write `content` with the schema of all errors of the operation",
            ),
            (Some(schema), None) => first = Some((schema, answer.status)),
            (Some(schema), Some((other, status))) if schema != other => reader.refuse(
                &pointer,
                format!("the error is a `{schema}`, and that of {status} is a `{other}`"),
                "write one schema for all errors of an operation",
            ),
            _ => {}
        }
    }
}

fn numbered<'a>(reader: &Reader<'a>, status: &str, place: Place<'a>) -> Option<Response> {
    let number = (status.len() == 3)
        .then(|| status.parse::<u16>().ok())
        .flatten();
    let Some(number @ (200..=299 | 400..=599)) = number else {
        let remedy = match number {
            Some(_) => "write 200 to 299 or 400 to 599: this one is not for JSON over dropshot",
            None => "write each status by its number",
        };
        reader.refuse(
            &place.pointer,
            format!("the status `{status}` is not understood"),
            remedy,
        );
        return None;
    };
    one(reader, place, number)
}

/// An answer, wherever it stands. A component has no status; 200 stands for all with a body.
pub(super) fn one<'a>(reader: &Reader<'a>, place: Place<'a>, status: u16) -> Option<Response> {
    let place = reader.follow(place, "responses")?;
    let place = reader.object(place, &ANSWER)?;
    let description = reader.required_text(&place, "description");
    let headers = headers(reader, &place);
    let links = link::all(reader, &place);
    let schema = match (place.get("content"), status) {
        (Some(content), 204 | 205) => {
            reader.refuse(
                &content.pointer,
                format!("an answer of status {status} has no body"),
                "remove `content`, or write another status",
            );
            return None;
        }
        (None, 204) => None,
        (None, 205..=299 | 200..=203) => {
            reader.refuse(
                &place.pointer,
                "a success without a body is not understood",
                "write `content`, or the status 204",
            );
            return None;
        }
        (None, _) => None,
        (Some(_), _) => Some(content(reader, &place)?),
    };
    Some(Response {
        status,
        description: description?,
        headers: headers?,
        schema,
        links,
        pointer: place.pointer,
    })
}

fn headers<'a>(reader: &Reader<'a>, answer: &Place<'a>) -> Option<Vec<Header>> {
    let Some(place) = answer.get("headers") else {
        return Some(Vec::new());
    };
    reader.expect(&place, "an object", Value::as_object)?;
    names::check_headers(reader, &place);
    let mut headers = Vec::new();
    let mut whole = true;
    for (name, member) in place.members() {
        check_header_name(reader, name, &member.pointer);
        match header(reader, name, member) {
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

/// A header, wherever it stands.
pub(super) fn header<'a>(reader: &Reader<'a>, name: &str, place: Place<'a>) -> Option<Header> {
    let place = reader.follow(place, "headers")?;
    let place = reader.object(place, &HEADER)?;
    examples(reader, &place);
    let Some(schema) = place.get("schema") else {
        reader.missing(&place, "schema");
        return None;
    };
    Some(Header {
        name: name.to_owned(),
        required: reader.flag(&place, "required"),
        description: reader.text(&place, "description"),
        schema: schema::inline(reader, schema)?,
    })
}

/// The component that the JSON body of a request or an answer is.
pub(super) fn content<'a>(reader: &Reader<'a>, holder: &Place<'a>) -> Option<String> {
    let Some(content) = holder.get("content") else {
        reader.missing(holder, "content");
        return None;
    };
    reader.expect(&content, "an object", Value::as_object)?;
    let mut json = None;
    for (name, member) in content.members() {
        if CONTENT.read.contains(&name) {
            json = Some(member);
        } else {
            reader.refuse(
                &member.pointer,
                format!("the media type `{name}` is not understood"),
                "write `application/json`, and nothing else",
            );
        }
    }
    let Some(json) = json else {
        if content.members().next().is_none() {
            reader.missing(&content, "application/json");
        }
        return None;
    };
    let json = reader.object(json, &MEDIA_TYPE)?;
    examples(reader, &json);
    let Some(schema) = json.get("schema") else {
        reader.missing(&json, "schema");
        return None;
    };
    if schema.get("$ref").is_none() {
        reader.refuse(
            &schema.pointer,
            "the body has no name, so its type would have none",
            "move it under components/schemas, and refer to it",
        );
        return None;
    }
    reader.reference(&schema, "schemas")
}

/// `examples`, whose references lead somewhere and whose keywords are known.
pub(super) fn examples<'a>(reader: &Reader<'a>, holder: &Place<'a>) {
    let Some(place) = holder.get("examples") else {
        return;
    };
    reader.expect(&place, "an object", Value::as_object);
    for (_, example) in place.members() {
        self::example(reader, example);
    }
}

/// An example, wherever it stands.
pub(super) fn example<'a>(reader: &Reader<'a>, place: Place<'a>) {
    if let Some(place) = reader.follow(place, "examples") {
        reader.object(place, &EXAMPLE);
    }
}
