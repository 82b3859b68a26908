//! Inspects the text of alternatives before they are read, to find what tells them apart.

use serde_json::{Value, json};

use crate::model::Sign;

use super::reader::Reader;

/// How many references may follow each other in an alternative that is inspected, and how many parts an `allOf`
/// may have, nested parts included.
const MAX_LOOKS: usize = 64;

/// Whether a schema is null and nothing else.
pub(super) fn is_null(schema: &Value) -> bool {
    schema["enum"] == json!([null])
}

/// The text of a schema with its references followed and its `allOf`s merged: enough to tell alternatives apart,
/// and no more.
pub(super) fn flat(reader: &Reader<'_>, schema: &Value) -> Value {
    put_together(reader, schema, &mut MAX_LOOKS.clone())
}

fn put_together(reader: &Reader<'_>, schema: &Value, looks: &mut usize) -> Value {
    let schema = followed(reader, schema);
    *looks = looks.saturating_sub(1);
    if *looks == 0 {
        return Value::Null;
    }
    let mut whole = schema.clone();
    let parts = whole.as_object_mut().and_then(|it| it.remove("allOf"));
    for part in parts.iter().filter_map(Value::as_array).flatten() {
        let part = put_together(reader, part, looks);
        for (keyword, value) in part.as_object().into_iter().flatten() {
            match (&mut whole[keyword], value) {
                (Value::Object(members), Value::Object(more)) => {
                    for (name, schema) in more {
                        let schema = schema.clone();
                        members.insert(name.clone(), schema);
                    }
                }
                (Value::Array(items), Value::Array(more)) => items.extend(more.iter().cloned()),
                (empty @ Value::Null, value) => *empty = value.clone(),
                _ => {}
            }
        }
    }
    whole
}

/// The texts that a schema lists, if it is an enumeration of strings.
pub(super) fn texts(reader: &Reader<'_>, schema: &Value) -> Option<Vec<String>> {
    let schema = followed(reader, schema);
    let is_null = schema.get("nullable").is_some_and(|it| it == true);
    texts_or_null(reader, schema).filter(|_| !is_null)
}

/// Whether a schema, its references followed, lists texts by its own text, apart from null.
pub(super) fn is_enumeration(reader: &Reader<'_>, schema: &Value) -> bool {
    let schema = followed(reader, schema);
    schema.get("allOf").is_none() && listed(schema).is_some()
}

/// What [`texts`] returns, apart from null.
fn texts_or_null(reader: &Reader<'_>, schema: &Value) -> Option<Vec<String>> {
    let schema = followed(reader, schema);
    if schema.get("allOf").is_some() {
        return listed(&flat(reader, schema));
    }
    listed(schema)
}

/// Follows the references of a schema, one after another.
fn followed<'a>(reader: &Reader<'a>, mut schema: &'a Value) -> &'a Value {
    for _ in 0..MAX_LOOKS {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let name = reference.and_then(|it| it.strip_prefix("#/components/schemas/"));
        match name.and_then(|it| reader.component("schemas", it)) {
            Some(component) => schema = component.value,
            None => break,
        }
    }
    schema
}

fn listed(schema: &Value) -> Option<Vec<String>> {
    let is_text = schema.get("type").is_none_or(|it| it == "string");
    if !is_text {
        return None;
    }
    let list = schema.get("enum")?.as_array()?;
    let text = |it: &Value| it.as_str().map(str::to_owned);
    let values = list.iter().filter(|it| !it.is_null());
    let texts: Option<Vec<String>> = values.map(text).collect();
    texts.filter(|it| !it.is_empty())
}

pub(super) fn requires(schema: &Value, property: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it == property))
}

/// The type of the values of a schema, if it states one.
pub(super) fn kind_of(schema: &Value) -> Option<&'static str> {
    Some(match schema.get("type")?.as_str()? {
        "string" => "string",
        "integer" | "number" => "number",
        "boolean" => "boolean",
        "array" => "list",
        "object" => "object",
        _ => return None,
    })
}

/// Determines what distinguishes an alternative, by itself and, for an object, among the others.
pub(super) fn sign(reader: &Reader<'_>, raw: &[Value], at: usize) -> Option<Sign> {
    let schema = &raw[at];
    Some(match schema.get("type")?.as_str()? {
        "string" => match texts_or_null(reader, schema) {
            Some(texts) => Sign::Text(texts),
            None => Sign::String,
        },
        "integer" | "number" => Sign::Number,
        "boolean" => Sign::Boolean,
        "array" => Sign::Array,
        "object" => {
            let is_other = |(index, it): &(usize, &Value)| {
                *index != at && it.get("type").is_some_and(|it| it == "object")
            };
            let others = raw.iter().enumerate().filter(is_other);
            let others: Vec<&Value> = others.map(|(_, it)| it).collect();
            if others.is_empty() {
                return Some(Sign::Object);
            }
            // No other alternative admits a value that has the member.
            let closed = |other: &&Value, member: &str| {
                let has = other.get("properties").and_then(|it| it.get(member));
                has.is_none()
                    && other
                        .get("additionalProperties")
                        .is_some_and(|it| it == false)
            };
            let members = schema.get("properties")?.as_object()?.keys();
            let mut own = members.filter(|member| {
                requires(schema, member) && others.iter().all(|other| closed(other, member))
            });
            Sign::Member(own.next()?.clone())
        }
        _ => return None,
    })
}

/// Whether no value that has both signs is admitted by both alternatives.
pub(super) fn are_apart(one: &Sign, other: &Sign) -> bool {
    match (one, other) {
        (Sign::Text(one), Sign::Text(other)) => one.iter().all(|it| !other.contains(it)),
        (Sign::Text(_) | Sign::String, Sign::Text(_) | Sign::String) => false,
        (one, other) => one != other,
    }
}
