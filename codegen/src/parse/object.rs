//! Objects, and what says one in parts: `allOf`, and properties beside a `oneOf`.
//!
//! Parts are put together when the document is read, where that is exact: the members of the whole are those of
//! all parts. A member that two parts describe is described alike, or by one of them as any value or any text;
//! and a part that tolerates no other members has all that there are. The rest is refused, since a type
//! that holds the whole would have to hold something else.

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::model::{Kind, Pointer, Schema};
use crate::names::part;

use super::one_of;
use super::reader::{Keywords, Place, Reader};
use super::schema::{self, Said};

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

/// What of an object the keywords beside an `allOf` or a `oneOf` may say.
pub(super) const MEMBERS: [&str; 4] = ["type", "properties", "required", "additionalProperties"];

/// What an object, or a part of one, says of its members.
#[derive(Clone, Default)]
pub(super) struct Members {
    properties: IndexMap<String, Schema>,
    required: Vec<(String, Pointer)>,
    /// Whether there are no others.
    closed: bool,
}

impl Members {
    /// The part that says that this property has to be there.
    pub(super) fn requiring(property: &str, pointer: Pointer) -> Members {
        Members {
            required: vec![(property.to_owned(), pointer)],
            ..Members::default()
        }
    }
}

/// A schema of type object.
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

/// Whether all that an object by itself requires are its properties.
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

/// Any value, where nothing is written.
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

/// The members that the keywords at this place describe.
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
    found.closed = match place.get("additionalProperties") {
        None => false,
        Some(additional) if additional.value.as_object().is_some_and(|it| it.is_empty()) => false,
        Some(additional) if additional.value.is_object() => {
            reader.refuse(
                &additional.pointer,
                "an object with both properties and a schema for its other members is not understood",
                "write `additionalProperties: false` or leave it out, or put the other members into a \
                 property of their own, an object without `properties`",
            );
            return None;
        }
        Some(additional) => !reader.expect(&additional, "`true` or `false`", Value::as_bool)?,
    };
    is_whole.then_some(found)
}

/// The object of all these parts.
pub(super) fn whole(reader: &Reader<'_>, pointer: &Pointer, parts: Vec<Members>) -> Option<Kind> {
    let all: Vec<&String> = parts.iter().flat_map(|it| it.properties.keys()).collect();
    for closed in parts.iter().filter(|it| it.closed) {
        if let Some(other) = all.iter().find(|it| !closed.properties.contains_key(**it)) {
            reader.refuse(
                pointer,
                format!("one part tolerates no other members, and another part has `{other}`"),
                "remove `additionalProperties: false` from the parts",
            );
            return None;
        }
    }
    let additional = parts.iter().all(|it| !it.closed);
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
    Some(Kind::Object {
        properties,
        required: required.into_iter().map(|(name, _)| name).collect(),
        additional,
    })
}

/// Which of two descriptions of one member says what both say.
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

/// The one component that an `allOf` refers to, when nothing stands beside it that says more: the way to write
/// something beside a reference. The inner nothing is a reference that was refused.
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

/// An `allOf`, and whether it admits null by what it consists of.
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
    /// What says something of members alone.
    Members(Members),
    /// What is a schema by itself.
    Schema(Box<Schema>),
}

/// Whether this says something of members, and leaves it to others that there are members.
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

/// The members that the keywords beside an `allOf` or a `oneOf` describe.
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

/// An alternative that has more parts elsewhere.
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

/// The members of a schema that is an object.
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
            additional,
        } => Some(Members {
            properties,
            required: required
                .into_iter()
                .map(|it| (it, pointer.clone()))
                .collect(),
            closed: !additional,
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
