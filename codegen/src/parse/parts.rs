//! Objects described in parts: `allOf`, and properties beside a `oneOf`.
//!
//! This module finds the parts; [`super::object`] merges them.

use serde_json::Value;

use crate::model::{Kind, Pointer, Schema};

use super::object::{Members, members, whole};
use super::one_of;
use super::reader::{Keywords, Place, Reader};
use super::schema::{self, Said};

const PARTIAL: Keywords = Keywords::of_schema(
    "a part of an object",
    &[
        "type",
        "nullable",
        "default",
        "properties",
        "required",
        "additionalProperties",
    ],
);
const ALL_OF: Keywords = Keywords::of_schema(
    "an `allOf`",
    &[
        "allOf",
        "oneOf",
        "anyOf",
        "discriminator",
        "type",
        "nullable",
        "default",
        "properties",
        "required",
        "additionalProperties",
    ],
);

/// The keywords beside an `allOf` or a `oneOf` that describe an object.
pub(super) const MEMBERS: [&str; 4] = ["type", "properties", "required", "additionalProperties"];

/// The one component that an `allOf` refers to, if nothing beside it adds to that: the way to write something
/// beside a reference. The inner `None` is a reference that was refused.
#[allow(clippy::option_option)]
pub(super) fn only_reference(reader: &Reader<'_>, place: &Place<'_>) -> Option<Option<String>> {
    let list = place.get("allOf")?;
    let mut parts = list.items();
    let (Some(only), None) = (parts.next(), parts.next()) else {
        return None;
    };
    let others = MEMBERS.iter().chain(&["oneOf", "anyOf", "discriminator"]);
    let is_alone = others.into_iter().all(|it| place.get(it).is_none());
    if only.get("$ref").is_none() || !is_alone {
        return None;
    }
    let known = reader.object(place.clone(), &ALL_OF);
    Some(known.and_then(|_| reader.reference(&only, "schemas")))
}

/// Reads an `allOf`, and whether its parts admit null.
pub(super) fn all_of(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Said> {
    let place = reader.object(place.clone(), &ALL_OF)?;
    let list = place.get("allOf")?;
    reader.expect(&list, "a list", Value::as_array)?;
    let mut parts = Vec::new();
    if MEMBERS.iter().any(|it| place.get(it).is_some()) {
        parts.push(Part::Members(own(reader, &place, name)?));
    }
    let mut union = ["oneOf", "anyOf"]
        .iter()
        .any(|it| place.get(it).is_some())
        .then(|| place.clone());
    for item in list.items() {
        let is_union = item.get("oneOf").or_else(|| item.get("anyOf")).is_some();
        if is_union && union.is_none() && list.items().count() > 1 {
            union = Some(item);
        } else if is_partial(&item) {
            reader.object(item.clone(), &PARTIAL)?;
            parts.push(Part::Members(members(reader, &item, name)?));
        } else {
            let schema = match item.get("$ref") {
                Some(_) => schema::said(reader, &item, &reader.reference(&item, "schemas")?)?,
                None => schema::any(reader, item, name)?,
            };
            let limits = !matches!(schema.kind, Kind::Any);
            parts.extend(limits.then(|| Part::Schema(Box::new(schema))));
        }
    }
    if let (None, [Part::Schema(only)]) = (&union, parts.as_slice()) {
        return Some(Said {
            kind: only.kind.clone(),
            limits: only.limits.clone(),
            nullable: only.nullable,
        });
    }
    let admits_null = |it: &Part| matches!(it, Part::Schema(schema) if schema.nullable);
    let nullable = parts.iter().all(admits_null);
    let parts = parts.into_iter().map(|it| match it {
        Part::Members(members) => Some(members),
        Part::Schema(schema) => as_members(reader, &list.pointer, *schema),
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    match union {
        Some(union) => one_of::with(
            reader,
            &union,
            name,
            Some(parts).filter(|it| !it.is_empty()),
        ),
        None if parts.is_empty() => Some(Said::plain(Kind::Any, false)),
        None => Some(Said::plain(whole(reader, &list.pointer, parts)?, nullable)),
    }
}

/// A part of an `allOf`.
enum Part {
    /// Only describes members.
    Members(Members),
    /// A schema of its own.
    Schema(Box<Schema>),
}

/// Whether this only describes members, and leaves it to other parts to make it an object.
fn is_partial(place: &Place<'_>) -> bool {
    let says = |it: &str| place.get(it).is_some();
    let is_object = place.get("type").is_none_or(|it| it.value == "object");
    let is_map = place
        .get("additionalProperties")
        .is_some_and(|it| it.value.is_object());
    if !is_object || (is_map && !says("properties")) {
        return false;
    }
    (says("properties") || says("required"))
        && !["$ref", "allOf", "oneOf", "anyOf"]
            .iter()
            .any(|it| says(it))
}

/// Reads the members that the keywords beside an `allOf` or a `oneOf` describe.
pub(super) fn own(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Members> {
    if let Some(of) = place.get("type").filter(|it| it.value != "object") {
        reader.refuse(
            &of.pointer,
            "what stands beside a list of schemas is not an object",
            "remove it: the schemas that are listed say it",
        );
        return None;
    }
    members(reader, place, name)
}

/// Reads an alternative that has further parts elsewhere.
pub(super) fn alternative(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Members> {
    if is_partial(place) {
        reader.object(place.clone(), &PARTIAL)?;
        return members(reader, place, name);
    }
    let schema = match place.get("$ref") {
        Some(_) => schema::said(reader, place, &reader.reference(place, "schemas")?)?,
        None => schema::any(reader, place.clone(), name)?,
    };
    as_members(reader, &place.pointer, schema)
}

/// Returns the members of a schema that is an object.
fn as_members(reader: &Reader<'_>, pointer: &Pointer, schema: Schema) -> Option<Members> {
    if !schema.limits.is_empty() {
        reader.refuse(
            pointer,
            "a part limits how many members there are, which are those of all parts",
            "write `minProperties` and `maxProperties` nowhere in the parts",
        );
        return None;
    }
    match schema.kind {
        Kind::Object {
            properties,
            required,
            others,
        } => Some(Members {
            properties,
            required: required
                .into_iter()
                .map(|it| (it, pointer.clone()))
                .collect(),
            others,
        }),
        Kind::Map(values) if matches!(values.kind, Kind::Any) => Some(Members::default()),
        _ => {
            reader.refuse(
                pointer,
                "schemas are put together here that are not all objects with `properties`",
                "write one schema that says all of it",
            );
            None
        }
    }
}
