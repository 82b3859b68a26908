//! Objects, and how the parts of one are merged ([`super::parts`] finds them).
//!
//! Parts are merged when the document is read, if that is exact: the whole has the members of all parts. A
//! member that two parts describe must be described alike, or as any value or any text by one of them; and a
//! part that tolerates no other members must have all of them. Anything else is refused, since a type for the
//! whole would not match its parts.

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::model::{Kind, Others, Pointer, Schema};
use crate::names::part;

use super::reader::{Keywords, Place, Reader};
use super::schema;

const OBJECT: Keywords = Keywords::of_schema(
    "a schema of type object",
    &[
        "type",
        "nullable",
        "default",
        "properties",
        "required",
        "additionalProperties",
        "minProperties",
        "maxProperties",
    ],
);

/// What an object, or a part of one, states about its members.
#[derive(Clone, Default)]
pub(super) struct Members {
    pub(super) properties: IndexMap<String, Schema>,
    pub(super) required: Vec<(String, Pointer)>,
    pub(super) others: Others,
}

impl Members {
    /// A part that requires this property and states nothing else.
    pub(super) fn requiring(property: &str, pointer: Pointer) -> Members {
        Members {
            required: vec![(property.to_owned(), pointer)],
            ..Members::default()
        }
    }
}

/// Reads a schema of type object.
pub(super) fn read(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let place = reader.object(place.clone(), &OBJECT)?;
    let is_map = place.get("properties").is_none() && place.get("required").is_none();
    let values = place.get("additionalProperties");
    match values {
        Some(values) if is_map && values.value.is_object() => {
            let values = schema::inline(reader, values, &part(name, "value"))?;
            Some(Kind::Map(Box::new(values)))
        }
        values
            if is_map
                && values
                    .as_ref()
                    .is_none_or(|it| it.value == &Value::Bool(true)) =>
        {
            Some(Kind::Map(Box::new(anything(&place.pointer))))
        }
        _ => {
            let is_good = check_required(reader, &place);
            if !is_good && place.get("properties").is_none() {
                return None;
            }
            let members = members(reader, &place, name).filter(|_| is_good)?;
            whole(reader, &place.pointer, vec![members])
        }
    }
}

/// Whether everything that an object by itself requires is one of its properties.
fn check_required(reader: &Reader<'_>, place: &Place<'_>) -> bool {
    let properties = place.get("properties");
    let is_property = |name: &str| properties.as_ref().is_some_and(|it| it.get(name).is_some());
    let required = place.get("required");
    let names = required.iter().flat_map(Place::items);
    let unknown = names.filter_map(|it| Some((it.value.as_str()?, it.pointer)));
    let mut unknown = unknown.filter(|(name, _)| !is_property(name)).peekable();
    let is_good = unknown.peek().is_none();
    unknown.for_each(|(name, pointer)| refuse_required(reader, name, &pointer));
    is_good
}

fn refuse_required(reader: &Reader<'_>, name: &str, pointer: &Pointer) {
    reader.refuse(
        pointer,
        format!("`{name}` is required and not a property"),
        "write it under `properties`, or remove it here",
    );
}

/// Any value, for a schema that is absent.
fn anything(pointer: &Pointer) -> Schema {
    Schema {
        kind: Kind::Any,
        limits: Vec::new(),
        nullable: false,
        description: None,
        default: None,
        json: json!({}),
        is_made: false,
        pointer: pointer.clone(),
    }
}

/// Reads the members that the keywords at this place describe.
pub(super) fn members(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Members> {
    let mut found = Members::default();
    let mut is_whole = true;
    if let Some(properties) = place.get("properties") {
        reader.expect(&properties, "an object", Value::as_object)?;
        for (of, member) in properties.members() {
            match schema::inline(reader, member, &part(name, of)) {
                Some(schema) => drop(found.properties.insert(of.to_owned(), schema)),
                None => is_whole = false,
            }
        }
    }
    for (name, pointer) in reader.texts(place, "required") {
        if found.required.iter().any(|(other, _)| *other == name) {
            reader.refuse(
                &pointer,
                format!("`{name}` is required twice"),
                "remove it once",
            );
        }
        found.required.push((name, pointer));
    }
    found.others = match place.get("additionalProperties") {
        None => Others::Ignored,
        Some(additional) if additional.value.is_object() => {
            let schema = schema::inline(reader, additional, &part(name, "value"))?;
            match schema.kind {
                // Members that may be anything are not kept, whichever way that is written.
                Kind::Any => Others::Ignored,
                _ => Others::Kept(Box::new(schema)),
            }
        }
        Some(additional) => {
            match reader.expect(&additional, "`true` or `false`", Value::as_bool)? {
                true => Others::Ignored,
                false => Others::Refused,
            }
        }
    };
    is_whole.then_some(found)
}

/// Merges these parts into one object.
pub(super) fn whole(reader: &Reader<'_>, pointer: &Pointer, parts: Vec<Members>) -> Option<Kind> {
    let others = others(reader, pointer, &parts)?;
    let mut properties: IndexMap<String, Schema> = IndexMap::new();
    let mut required: Vec<(String, Pointer)> = Vec::new();
    for part in parts {
        for (name, schema) in part.properties {
            let both = match properties.get(&name) {
                None => Some(schema),
                Some(other) => narrower(other, &schema).cloned(),
            };
            let Some(both) = both else {
                reader.refuse(
                    pointer,
                    format!("two parts describe the member `{name}`, and not alike"),
                    "describe it in one of them",
                );
                return None;
            };
            properties.insert(name, both);
        }
        for (name, pointer) in part.required {
            if !required.iter().any(|(other, _)| *other == name) {
                required.push((name, pointer));
            }
        }
    }
    required.retain(|(name, pointer)| {
        let is_property = properties.contains_key(name);
        if !is_property {
            refuse_required(reader, name, pointer);
        }
        is_property
    });
    if let (true, Others::Kept(values)) = (properties.is_empty(), &others) {
        return Some(Kind::Map(values.clone()));
    }
    Some(Kind::Object {
        properties,
        required: required.into_iter().map(|(name, _)| name).collect(),
        others,
    })
}

/// Merges what these parts state about other members.
fn others(reader: &Reader<'_>, pointer: &Pointer, parts: &[Members]) -> Option<Others> {
    let all: Vec<&String> = parts.iter().flat_map(|it| it.properties.keys()).collect();
    let mut others = Others::Ignored;
    for part in parts {
        let other = all.iter().find(|it| !part.properties.contains_key(**it));
        others = match (&part.others, other, others) {
            (Others::Ignored, _, so_far) => so_far,
            (Others::Refused, Some(other), _) => {
                reader.refuse(
                    pointer,
                    format!("one part tolerates no other members, and another part has `{other}`"),
                    "remove `additionalProperties: false` from the parts",
                );
                return None;
            }
            // The members of other parts would have to match it, too.
            (Others::Kept(_), Some(_), _) | (Others::Kept(_), _, Others::Kept(_)) => {
                reader.refuse(
                    pointer,
                    "a part has a schema for all members but its properties, and other parts say more of them",
                    "write one schema that says all of it",
                );
                return None;
            }
            (_, None, Others::Refused) => Others::Refused,
            (said, None, _) => said.clone(),
        };
    }
    Some(others)
}

/// Of two descriptions of one member, returns the one that states what both do.
fn narrower<'s>(one: &'s Schema, other: &'s Schema) -> Option<&'s Schema> {
    let said = |schema: &Schema| {
        let mut json = schema.json.clone();
        if let Some(members) = json.as_object_mut() {
            for told in [
                "title",
                "description",
                "example",
                "deprecated",
                "externalDocs",
            ] {
                members.remove(told);
            }
        }
        json
    };
    let (first, second) = (said(one), said(other));
    let text = json!({ "type": "string" });
    let is_text = |json: &Value| json["type"] == "string" && json.get("nullable").is_none();
    if first == second || first == json!({}) || (first == text && is_text(&second)) {
        return Some(other);
    }
    (second == json!({}) || (second == text && is_text(&first))).then_some(one)
}
