//! Schemas, one by one. What concerns several of them is in [`super::graph`].

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{Kind, Schema};
use crate::names::part;

use super::names;
use super::one_of;
use super::reader::{Keywords, Place, Reader};
use super::remedy;
use super::scalar;

/// What every schema may tell.
pub(super) const TOLD: &[&str] = &[
    "title",
    "description",
    "example",
    "externalDocs",
    "deprecated",
];

const ANY_TYPE: &[&str] = &["boolean", "integer", "number", "string", "array", "object"];

const BOOLEAN: Keywords = Keywords::new(
    "a schema of type boolean",
    &["type", "nullable", "default"],
    TOLD,
);
const ARRAY: Keywords = Keywords::new(
    "a schema of type array",
    &[
        "type",
        "nullable",
        "default",
        "items",
        "minItems",
        "maxItems",
        "uniqueItems",
    ],
    TOLD,
);
const OBJECT: Keywords = Keywords::new(
    "a schema of type object",
    &[
        "type",
        "nullable",
        "default",
        "properties",
        "required",
        "additionalProperties",
    ],
    TOLD,
);
const ALL_OF: Keywords = Keywords::new(
    "an `allOf` of one reference",
    &["allOf", "nullable", "default"],
    TOLD,
);
/// A schema under `components/schemas`.
pub(super) fn component(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<Schema> {
    if place.get("$ref").is_some() {
        reader.refuse(
            &place.pointer,
            "the component is nothing but a reference",
            "refer to its target wherever this component is referred to",
        );
        return None;
    }
    any(reader, place, name)
}

/// A schema anywhere else. What needs a type becomes a component of this name, and the schema a reference
/// to it; what is left is a reference, a scalar that nothing constrains, or a list or map of such.
pub(super) fn inline(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<Schema> {
    if let Some(made) = reader.made.at(&place.pointer) {
        return Some(reference(place, made));
    }
    if place.get("$ref").is_some() {
        let name = reader.reference(&place, "schemas")?;
        return Some(reference(place, name));
    }
    if place.get("allOf").is_some() {
        return all_of(reader, place);
    }
    let schema = any(reader, place.clone(), name)?;
    let needs_type = match &schema.kind {
        Kind::Object { .. } | Kind::OneOf { .. } | Kind::Union(_) | Kind::Null => true,
        Kind::Array { .. } | Kind::Map(_) => false,
        kind => schema.default.is_some() || scalar::is_constrained(kind),
    };
    if !needs_type {
        return Some(schema);
    }
    let made = reader.made.add(name, schema);
    Some(reference(place, made))
}

/// The component that a body or an alternative is: the one that it refers to, or the one that is made of it.
pub(super) fn named(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<String> {
    let pointer = place.pointer.clone();
    let schema = inline(reader, place, name)?;
    if schema.nullable {
        reader.refuse(
            &pointer,
            "a body, or an alternative, may not be null besides",
            "remove `nullable`",
        );
        return None;
    }
    Some(match schema.kind {
        Kind::Ref(name) => name,
        _ => reader.made.add(name, schema),
    })
}

fn reference(place: Place<'_>, name: String) -> Schema {
    Schema {
        kind: Kind::Ref(name),
        nullable: false,
        description: None,
        default: None,
        json: place.value.clone(),
        is_made: false,
        pointer: place.pointer,
    }
}

/// `allOf` of one reference: the way to write something beside it.
fn all_of(reader: &Reader<'_>, place: Place<'_>) -> Option<Schema> {
    let place = reader.object(place, &ALL_OF)?;
    let parts = place.get("allOf")?;
    reader.expect(&parts, "a list", Value::as_array)?;
    let mut all = parts.items();
    let (Some(part), None) = (all.next(), all.next()) else {
        reader.refuse(
            &parts.pointer,
            "an `allOf` of several schemas is not understood",
            remedy::for_keyword("allOf"),
        );
        return None;
    };
    if part.get("$ref").is_none() {
        reader.refuse(
            &part.pointer,
            "an `allOf` of something else than a reference is not understood",
            "write the schema itself in its place",
        );
        return None;
    }
    let name = reader.reference(&part, "schemas")?;
    Some(Schema {
        nullable: reader.flag(&place, "nullable"),
        description: reader.text(&place, "description"),
        default: place.get("default").map(|it| it.value.clone()),
        ..reference(place, name)
    })
}

fn any(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<Schema> {
    let kind = if place.get("oneOf").or_else(|| place.get("anyOf")).is_some() {
        one_of::read(reader, &place, name)
    } else {
        of_type(reader, &place, name)
    };
    Some(Schema {
        kind: kind?,
        nullable: reader.flag(&place, "nullable"),
        description: place
            .get("description")
            .and_then(|it| it.value.as_str())
            .map(str::to_owned),
        default: place.get("default").map(|it| it.value.clone()),
        json: place.value.clone(),
        is_made: false,
        pointer: place.pointer,
    })
}

fn of_type(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let Some(kind) = place.get("type") else {
        without_type(reader, place);
        return None;
    };
    match reader.expect(&kind, "text", Value::as_str)? {
        "boolean" => reader
            .object(place.clone(), &BOOLEAN)
            .map(|_| Kind::Boolean),
        "integer" => scalar::integer(reader, place),
        "number" => scalar::number(reader, place),
        "string" => scalar::string(reader, place),
        "array" => array(reader, place, name),
        "object" => object(reader, place, name),
        other => {
            reader.refuse(
                &kind.pointer,
                format!("`{other}` is not a type"),
                format!("write one of {}", ANY_TYPE.join(", ")),
            );
            None
        }
    }
}

fn without_type(reader: &Reader<'_>, place: &Place<'_>) {
    for keyword in ["allOf", "not"] {
        if let Some(member) = place.get(keyword) {
            reader.refuse(
                &member.pointer,
                format!("`{keyword}` is not understood"),
                remedy::for_keyword(keyword),
            );
            return;
        }
    }
    reader.object(
        place.clone(),
        &Keywords::new("a schema without a type", &[], TOLD),
    );
    reader.refuse(
        &place.pointer,
        "the schema has no `type`, and is neither a `$ref` nor a `oneOf`",
        format!("write `type`, one of {}", ANY_TYPE.join(", ")),
    );
}

fn array(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let place = reader.object(place.clone(), &ARRAY)?;
    let (min_items, max_items) = (
        reader.count(&place, "minItems"),
        reader.count(&place, "maxItems"),
    );
    scalar::check_range(reader, &place.pointer, "Items", min_items, max_items);
    let Some(items) = place.get("items") else {
        reader.missing(&place, "items");
        return None;
    };
    Some(Kind::Array {
        items: Box::new(inline(reader, items, &part(name, "item"))?),
        min_items,
        max_items,
        unique_items: reader.flag(&place, "uniqueItems"),
    })
}

fn object(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let place = reader.object(place.clone(), &OBJECT)?;
    let values = place.get("additionalProperties");
    let values = values.filter(|it| it.value.is_object());
    let Some(members) = place.get("properties") else {
        if let Some(values) = values {
            return map(reader, &place, values, name);
        }
        reader.refuse(
            &place.pointer,
            "`properties` is missing",
            "write the properties; `properties: {}` for an object that has none, or \
             `additionalProperties` with a schema for one whose members have any name",
        );
        return None;
    };
    reader.expect(&members, "an object", Value::as_object)?;
    names::check_properties(reader, &members);
    let mut properties = IndexMap::new();
    let mut whole = true;
    for (of, member) in members.members() {
        match inline(reader, member, &part(name, of)) {
            Some(schema) => drop(properties.insert(of.to_owned(), schema)),
            None => whole = false,
        }
    }
    let mut required = Vec::new();
    for (name, pointer) in reader.texts(&place, "required") {
        if members.get(&name).is_none() {
            reader.refuse(
                &pointer,
                format!("`{name}` is required and not a property"),
                "write it under `properties`, or remove it here",
            );
        } else if required.contains(&name) {
            reader.refuse(
                &pointer,
                format!("`{name}` is required twice"),
                "remove it once",
            );
        } else {
            required.push(name);
        }
    }
    let additional = match place.get("additionalProperties") {
        None => true,
        Some(additional) if additional.value.is_object() => {
            reader.refuse(
                &additional.pointer,
                "an object with both properties and a schema for its other members is not understood",
                "write `additionalProperties: false` or leave it out, or put the other members into a \
                 property of their own, an object without `properties`",
            );
            return None;
        }
        Some(additional) => reader.expect(&additional, "`true` or `false`", Value::as_bool)?,
    };
    whole.then_some(Kind::Object {
        properties,
        required,
        additional,
    })
}

/// An object whose members have any name.
fn map<'a>(reader: &Reader<'a>, place: &Place<'a>, values: Place<'a>, name: &str) -> Option<Kind> {
    if let Some((name, pointer)) = reader.texts(place, "required").into_iter().next() {
        reader.refuse(
            &pointer,
            format!("`{name}` is required and not a property"),
            "write it under `properties`, or remove it here",
        );
        return None;
    }
    let values = inline(reader, values, &part(name, "value"))?;
    Some(Kind::Map(Box::new(values)))
}
