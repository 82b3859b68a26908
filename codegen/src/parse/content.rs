//! Bodies: their media type, and what describes them.
//!
//! 1. A body has one media type. JSON (including any `+json`), forms and texts are described and checked by a
//!    component.
//! 2. Anything else is bytes, which nothing describes: their schema is that of a file (`type: string`,
//!    `format: binary`), is absent, or is `{}`, which is how dropshot writes it.
//! 3. The handler reads the parts of `multipart/form-data`, so their schema is that of a file too, as dropshot writes
//!    it.

use serde_json::{Value, json};

use crate::model::{Content, JSON, Kind, OfForm, Operation, OrNull, Others, Pointer, Schema};

use super::answer;
use super::graph::{self, Schemas};
use super::reader::{self, Keywords, Place, Reader};
use super::schema;

const MEDIA_TYPE: Keywords = Keywords::new(
    "a media type",
    &["schema", "encoding"],
    &["example", "examples"],
);

/// Which message the body belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Answer,
}

/// Reads the `content` of a request body or a response, and whether it may be null there; `name` is for the component
/// made of an inline schema.
pub(super) fn all<'a>(
    reader: &Reader<'a>,
    holder: &Place<'a>,
    side: Side,
    name: &str,
) -> Option<(Content, OrNull)> {
    let Some(content) = holder.get("content") else {
        reader.missing(holder, "content");
        return None;
    };
    reader.expect(&content, "an object", Value::as_object)?;
    let mut members = content.members();
    let Some((media, member)) = members.next() else {
        reader.missing(&content, "application/json");
        return None;
    };
    if members.next().is_some() {
        reader.refuse(
            &content.pointer,
            "the body has more than one media type",
            "write one, and an operation for each other",
        );
        return None;
    }
    one(reader, media, member, side, name)
}

fn one<'a>(
    reader: &Reader<'a>,
    media: &str,
    place: Place<'a>,
    side: Side,
    name: &str,
) -> Option<(Content, OrNull)> {
    let place = reader.object(place, &MEDIA_TYPE)?;
    answer::examples(reader, &place);
    if let Some(encoding) = place.get("encoding").filter(|it| *it.value != json!({})) {
        reader.refuse(
            &encoding.pointer,
            "an `encoding` that says something is not understood",
            "remove it: a list is written as the name with each item, and what else is no single value as JSON",
        );
    }
    // Without a schema, it is anything.
    let schema = place.get("schema").unwrap_or(Place {
        value: reader.anything,
        pointer: place.pointer.child("schema"),
    });
    let never_null = || {
        let (component, nullable) = component(reader, schema.clone(), name)?;
        if nullable {
            reader.refuse(
                &schema.pointer.child("nullable"),
                "no form and no text is null",
                "remove `nullable`",
            );
        }
        Some(component)
    };
    let content = match (media, side) {
        _ if is_json(media) => {
            let (component, nullable) = component(reader, schema, name)?;
            let media_type = media.to_owned();
            let content = Content::Json {
                component,
                media_type,
            };
            // Whether the component is nullable is known only once all are read.
            let null = if nullable {
                OrNull::Here
            } else {
                OrNull::Never
            };
            return Some((content, null));
        }
        ("application/x-www-form-urlencoded", Side::Request) => never_null().map(Content::Form),
        ("text/plain", _) if !is_of_bytes(&place) => never_null().map(Content::Text),
        ("multipart/form-data", Side::Request) => {
            check_bytes(reader, &place, "the handler reads the parts").then_some(Content::Multipart)
        }
        _ if !is_bytes(media) => {
            reader.refuse(
                &place.pointer,
                format!("the media type `{media}` is not understood"),
                "write `application/json`, another in `+json`, `text/plain`, or the one type of what is sent as bytes",
            );
            None
        }
        _ => check_bytes(reader, &place, "nothing looks into bytes")
            .then(|| Content::Bytes(media.to_owned())),
    };
    content.map(|content| (content, OrNull::Never))
}

/// The component that describes a body, either referred to or made of an inline schema; and whether the body may also
/// be null.
fn component<'a>(reader: &Reader<'a>, place: Place<'a>, name: &str) -> Option<(String, bool)> {
    let schema = schema::inline(reader, place, name)?;
    let nullable = schema.nullable;
    let name = match schema.kind {
        Kind::Ref(name) => name,
        _ => reader.made.add(
            name,
            Schema {
                nullable: false,
                ..schema
            },
        ),
    };
    Some((name, nullable))
}

/// Whether bodies of this type are JSON.
fn is_json(media: &str) -> bool {
    media == JSON || (media.ends_with("+json") && is_type(media))
}

/// Whether bodies of this type are handled as bytes. JSON, forms and multipart have handling of their own, and of the
/// ranges, only `*/*` is supported.
fn is_bytes(media: &str) -> bool {
    let is_known = media.ends_with("json") || media.starts_with("multipart/");
    let is_form = media == "application/x-www-form-urlencoded";
    (is_type(media) && !is_known && !is_form) || media == "*/*"
}

/// Whether this is one media type, without parameters.
fn is_type(media: &str) -> bool {
    let token = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        !text.is_empty() && text.chars().all(plain)
    };
    media
        .split_once('/')
        .is_some_and(|(a, b)| token(a) && token(b))
}

fn is_of_bytes(place: &Place<'_>) -> bool {
    let schema = place.get("schema");
    schema.is_none_or(|it| *it.value == json!({}) || it.value["format"] == "binary")
}

/// Refuses a schema that describes more than plain bytes.
fn check_bytes(reader: &Reader<'_>, place: &Place<'_>, why: &str) -> bool {
    let Some(schema) = place.get("schema") else {
        return true;
    };
    let is_file = |(name, value): (&str, Place<'_>)| match name {
        "type" => value.value == "string",
        "format" => value.value == "binary",
        _ => reader::TOLD.contains(&name),
    };
    let whole = schema.value == &json!({}) || schema.value["format"] == "binary";
    let is_plain = whole && schema.value.is_object() && schema.members().all(is_file);
    if !is_plain {
        reader.refuse(
            &schema.pointer,
            "the schema says more of the body than that it is bytes",
            format!("write `{{ type: string, format: binary }}`: {why}"),
        );
    }
    is_plain
}

/// Refuses a list in a form whose items no text can be.
fn check_items(reader: &Reader<'_>, schemas: &Schemas, list: &Schema) {
    match &list.kind {
        Kind::Ref(name) => {
            if let Some(list) = schemas.get(name) {
                check_items(reader, schemas, list);
            }
        }
        Kind::Array { items, .. } => {
            check_null(reader, schemas, items);
            graph::check_single_value(reader, schemas, items, true);
        }
        _ => {}
    }
}

/// Refuses null where a form has texts, since no text is null.
fn check_null(reader: &Reader<'_>, schemas: &Schemas, member: &Schema) {
    let target = match &member.kind {
        Kind::Ref(name) => schemas.get(name),
        _ => None,
    };
    let nullable = member.nullable || target.is_some_and(|it| it.nullable);
    if nullable && member.of_form(schemas) != OfForm::Json {
        reader.refuse(
            &member.pointer,
            "null cannot be written in a form",
            "remove `nullable`, and let it be left out instead",
        );
    }
}

/// Records for bodies in JSON whether their components let them be null.
pub(super) fn admit_null(schemas: &Schemas, operation: &mut Operation) {
    let nullable = |content: &Content| match content {
        Content::Json { component, .. } => schemas.get(component).is_some_and(|it| it.nullable),
        _ => false,
    };
    let successes = std::iter::once(&mut operation.success).chain(&mut operation.further);
    let answers = successes.filter_map(|it| Some((it.content.as_ref()?, &mut it.null)));
    let body = operation
        .body
        .iter_mut()
        .map(|it| (&it.content, &mut it.null));
    for (content, null) in answers.chain(body) {
        if *null == OrNull::Never && nullable(content) {
            *null = OrNull::ByComponent;
        }
    }
}

/// The bodies of an operation: how they are written, where, and whether they may be null.
fn bodies(operation: &Operation) -> impl Iterator<Item = (&Content, &Pointer, bool)> {
    let is_one = operation.success_bodies().is_empty();
    let successes = operation.successes().map(move |it| (it, is_one));
    let errors = operation.errors.iter().map(|it| (it, false));
    let answers = successes.chain(errors);
    let answers = answers.filter_map(|(it, null)| Some((it.content.as_ref()?, &it.pointer, null)));
    let body = operation.body.iter();
    answers.chain(body.map(|it| (&it.content, &it.pointer, true)))
}

/// Refuses bodies that their media type cannot represent: only JSON may be null; a form must be an object, and a text a
/// string.
pub(super) fn check(reader: &Reader<'_>, schemas: &Schemas, operation: &Operation) {
    for (content, pointer, may_be_null) in bodies(operation) {
        let Some(name) = content.schema() else {
            continue;
        };
        let Some(schema) = schemas.get(name) else {
            continue;
        };
        let body = operation.body.as_ref().filter(|it| it.pointer == *pointer);
        let is_null = schema.nullable || matches!(schema.kind, Kind::Any);
        if body.is_some_and(|it| !it.required) && is_null {
            reader.refuse(
                pointer,
                "a body that may be left out, and be null besides, is not understood",
                "write `required: true`, or a schema that null does not pass",
            );
        }
        if schema.nullable && !(may_be_null && matches!(content, Content::Json { .. })) {
            reader.refuse(
                pointer,
                format!("the body `{name}` may be null"),
                "remove `nullable` there: errors, forms, texts and one of several bodies are never null",
            );
        }
        match (content, &schema.kind) {
            (
                Content::Form(_),
                Kind::Object {
                    others: Others::Kept(_),
                    ..
                },
            ) => reader.refuse(
                pointer,
                format!("the form `{name}` may have members of any name"),
                "write all members of the form as properties, and `additionalProperties: false` or nothing",
            ),
            (Content::Form(_), Kind::Object { properties, .. }) => {
                for property in properties.values() {
                    check_null(reader, schemas, property);
                    match property.of_form(schemas) {
                        OfForm::Single => {
                            graph::check_single_value(reader, schemas, property, true);
                        }
                        OfForm::Repeated => check_items(reader, schemas, property),
                        OfForm::Json => {}
                    }
                }
            }
            (Content::Form(_), _) => reader.refuse(
                pointer,
                format!("the form `{name}` is no object with properties"),
                "write the members of the form as properties of one object",
            ),
            (Content::Text(_), kind) if !matches!(kind, Kind::String(_)) => reader.refuse(
                pointer,
                format!("the text `{name}` is no string"),
                "write a schema of type string, or `application/json`",
            ),
            _ => {}
        }
    }
}
