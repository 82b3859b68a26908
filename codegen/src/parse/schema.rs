//! Schemas, one by one. What concerns several of them is in [`super::graph`].

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{Kind, Schema};

use super::names;
use super::reader::{Keywords, Place, Reader};
use super::remedy;
use super::scalar;

/// What every schema may tell.
const TOLD: &[&str] = &[
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
        "properties",
        "required",
        "additionalProperties",
    ],
    TOLD,
);
const ONE_OF: Keywords = Keywords::new("a `oneOf`", &["oneOf", "discriminator"], TOLD);
const DISCRIMINATOR: Keywords = Keywords::new("a discriminator", &["propertyName", "mapping"], &[]);
const MAPPING: Keywords = Keywords::new("a mapping", &[], &[]);

/// A schema under `components/schemas`.
pub(super) fn component(reader: &Reader<'_>, place: Place<'_>) -> Option<Schema> {
    if place.get("$ref").is_some() {
        reader.refuse(
            &place.pointer,
            "the component is nothing but a reference",
            "refer to its target wherever this component is referred to",
        );
        return None;
    }
    any(reader, place)
}

/// A schema anywhere else: a reference, a scalar that nothing constrains, or a list of such.
pub(super) fn inline(reader: &Reader<'_>, place: Place<'_>) -> Option<Schema> {
    if place.get("$ref").is_some() {
        let name = reader.reference(&place, "schemas")?;
        return Some(Schema {
            kind: Kind::Ref(name),
            nullable: false,
            description: None,
            default: None,
            json: place.value.clone(),
            pointer: place.pointer,
        });
    }
    let schema = any(reader, place)?;
    let unnamed = match &schema.kind {
        Kind::Object { .. } => Some("an object"),
        Kind::OneOf { .. } => Some("a `oneOf`"),
        _ if schema.default.is_some() => Some("a schema with a default"),
        kind if scalar::is_constrained(kind) => Some("a constrained scalar"),
        _ => None,
    };
    if let Some(unnamed) = unnamed {
        reader.refuse(
            &schema.pointer,
            format!("{unnamed} has no name here, so its type would have none"),
            "move it under components/schemas, and refer to it",
        );
        return None;
    }
    Some(schema)
}

fn any(reader: &Reader<'_>, place: Place<'_>) -> Option<Schema> {
    let kind = if place.get("oneOf").is_some() {
        one_of(reader, &place)
    } else {
        of_type(reader, &place)
    };
    let schema = Schema {
        kind: kind?,
        nullable: reader.flag(&place, "nullable"),
        description: place
            .get("description")
            .and_then(|it| it.value.as_str())
            .map(str::to_owned),
        default: place.get("default").map(|it| it.value.clone()),
        json: place.value.clone(),
        pointer: place.pointer,
    };
    scalar::check(reader, &schema).then_some(schema)
}

fn of_type(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
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
        "array" => array(reader, place),
        "object" => object(reader, place),
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
    for keyword in ["allOf", "anyOf", "not"] {
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

fn array(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
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
        items: Box::new(inline(reader, items)?),
        min_items,
        max_items,
        unique_items: reader.flag(&place, "uniqueItems"),
    })
}

fn object(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &OBJECT)?;
    let Some(members) = place.get("properties") else {
        reader.refuse(
            &place.pointer,
            "`properties` is missing",
            "write the properties; `properties: {}` for an object that has none",
        );
        return None;
    };
    reader.expect(&members, "an object", Value::as_object)?;
    names::check_properties(reader, &members);
    let mut properties = IndexMap::new();
    let mut whole = true;
    for (name, member) in members.members() {
        match inline(reader, member) {
            Some(schema) => drop(properties.insert(name.to_owned(), schema)),
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
                "a schema for members that have no name is not understood",
                "write `additionalProperties: false` or leave it out, or write a list of \
                 objects with a key and a value",
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

fn one_of(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &ONE_OF)?;
    let variants = place.get("oneOf")?;
    reader.expect(&variants, "a list", Value::as_array)?;
    let mut listed = Vec::new();
    for variant in variants.items() {
        if variant.get("$ref").is_none() {
            reader.refuse(
                &variant.pointer,
                "the variant has no name",
                "move it under components/schemas, and refer to it",
            );
            return None;
        }
        let name = reader.reference(&variant, "schemas")?;
        if listed.contains(&name) {
            reader.refuse(
                &variant.pointer,
                format!("the variant `{name}` is listed twice"),
                "list it once",
            );
        }
        listed.push(name);
    }
    let Some(discriminator) = place.get("discriminator") else {
        reader.refuse(
            &place.pointer,
            "nothing tells the variants of the `oneOf` apart",
            "write a `discriminator` with `propertyName` and `mapping`",
        );
        return None;
    };
    let discriminator = reader.object(discriminator, &DISCRIMINATOR)?;
    let property = reader.required_text(&discriminator, "propertyName")?;
    let mapping = mapping(reader, &discriminator, &listed)?;
    Some(Kind::OneOf {
        discriminator: property,
        mapping,
    })
}

/// From the values of the discriminator to the variants: each of them, and no other component.
fn mapping(
    reader: &Reader<'_>,
    discriminator: &Place<'_>,
    listed: &[String],
) -> Option<IndexMap<String, String>> {
    let Some(place) = discriminator.get("mapping") else {
        reader.refuse(
            &discriminator.pointer,
            "the discriminator has no `mapping`",
            "write which value leads to which component",
        );
        return None;
    };
    reader.expect(&place, MAPPING.what, Value::as_object)?;
    let mut mapping = IndexMap::new();
    for (value, target) in place.members() {
        let text = reader.expect(&target, "text", Value::as_str)?;
        let name = text
            .strip_prefix("#/components/schemas/")
            .unwrap_or_default();
        if !listed.iter().any(|variant| variant == name) {
            reader.refuse(
                &target.pointer,
                format!("`{text}` is not a variant of the `oneOf`"),
                "write `#/components/schemas/NAME` of one of its variants",
            );
            return None;
        }
        mapping.insert(value.to_owned(), name.to_owned());
    }
    for variant in listed {
        if !mapping.values().any(|mapped| mapped == variant) {
            reader.refuse(
                &place.pointer,
                format!("no value leads to the variant `{variant}`"),
                "write one, or remove the variant",
            );
            return None;
        }
    }
    if listed.is_empty() {
        reader.refuse(&place.pointer, "the `oneOf` has no variants", "list them");
        return None;
    }
    Some(mapping)
}
