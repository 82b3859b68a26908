//! `oneOf` and `anyOf`: which alternative a value is has to be plain from a look at the value.
//!
//! The ways to tell, the first that works for all alternatives:
//!
//! 1. a `discriminator` with its `mapping`: the author says how;
//! 2. all are enumerations of strings: together they are one;
//! 3. a tag: a property that every alternative requires, as an enumeration of strings that no other has;
//! 4. a [`Sign`] of each: its type, the texts that it lists, or a member that only it may have.
//!
//! No two alternatives admit a value with the same tag or sign, so that exactly one is meant, and `oneOf`
//! and `anyOf` are the same. Where nothing tells two apart, the document is refused: a reader would have to
//! guess as well. What a tag or a sign is, the text of the document decides before alternatives are read,
//! since those that stand inline are named after it.

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{Alternative, Kind, Sign, Text};
use crate::names::part;

use super::names;
use super::reader::{Keywords, Place, Reader};
use super::scalar;
use super::schema::{self, TOLD};

const ONE_OF: Keywords = Keywords::new(
    "a `oneOf`",
    &["oneOf", "anyOf", "discriminator", "nullable", "default"],
    TOLD,
);
const DISCRIMINATOR: Keywords = Keywords::new("a discriminator", &["propertyName", "mapping"], &[]);

/// A `oneOf` or an `anyOf`.
pub(super) fn read(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let place = reader.object(place.clone(), &ONE_OF)?;
    let list = place.get("oneOf").or_else(|| place.get("anyOf"))?;
    reader.expect(&list, "a list", Value::as_array)?;
    if let (Some(_), Some(any_of)) = (place.get("oneOf"), place.get("anyOf")) {
        reader.refuse(
            &any_of.pointer,
            "a `oneOf` and an `anyOf` at once are not understood",
            "write one of them",
        );
        return None;
    }
    let alternatives: Vec<Place<'_>> = list.items().collect();
    if alternatives.is_empty() {
        reader.refuse(&list.pointer, "the `oneOf` has no variants", "list them");
        return None;
    }
    if let Some(discriminator) = place.get("discriminator") {
        return discriminated(reader, &alternatives, discriminator);
    }
    let raw: Vec<&Value> = alternatives.iter().map(|it| target(reader, it)).collect();
    if raw.iter().all(|it| texts(reader, it).is_some()) {
        return enumeration(reader, &alternatives);
    }
    match tag(reader, &raw) {
        Some((tag, values)) => tagged(reader, &alternatives, tag, values, name),
        None => signed(reader, &alternatives, &raw, name),
    }
}

/// The schema itself, or the component that it refers to, as the document has it.
fn target<'a>(reader: &Reader<'a>, place: &Place<'a>) -> &'a Value {
    let reference = place.value.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|it| it.strip_prefix("#/components/schemas/"));
    let component = name.and_then(|it| reader.component("schemas", it));
    component.map_or(place.value, |it| it.value)
}

/// The texts that a schema lists, if it is an enumeration of strings.
fn texts<'a>(reader: &Reader<'a>, schema: &'a Value) -> Option<Vec<&'a str>> {
    let place = Place {
        value: schema,
        pointer: crate::model::Pointer::default(),
    };
    let schema = target(reader, &place);
    if schema.get("type")? != "string" || schema.get("nullable").is_some_and(|it| it == true) {
        return None;
    }
    let list = schema.get("enum")?.as_array()?;
    let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    texts.filter(|it| !it.is_empty())
}

fn requires(schema: &Value, property: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it == property))
}

/// Step 1.
fn discriminated(
    reader: &Reader<'_>,
    alternatives: &[Place<'_>],
    discriminator: Place<'_>,
) -> Option<Kind> {
    let mut listed = Vec::new();
    for variant in alternatives {
        if variant.get("$ref").is_none() {
            reader.refuse(
                &variant.pointer,
                "the variant has no name, and a discriminator leads to names",
                "move it under components/schemas, and refer to it",
            );
            return None;
        }
        let name = reader.reference(variant, "schemas")?;
        if listed.contains(&name) {
            reader.refuse(
                &variant.pointer,
                format!("the variant `{name}` is listed twice"),
                "list it once",
            );
        }
        listed.push(name);
    }
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
    reader.expect(&place, "an object", Value::as_object)?;
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
    Some(mapping)
}

/// Step 2.
fn enumeration(reader: &Reader<'_>, alternatives: &[Place<'_>]) -> Option<Kind> {
    let mut values = Vec::new();
    for place in alternatives {
        let inner = reader.follow(place.clone(), "schemas")?;
        let Kind::String(text) = scalar::string(reader, &inner)? else {
            return None;
        };
        let plain = Text {
            enumeration: text.enumeration.clone(),
            ..Text::default()
        };
        if text != plain {
            reader.refuse(
                &place.pointer,
                "an enumeration with limits is not understood as an alternative",
                "remove the limits: the values say it all",
            );
            return None;
        }
        let pointer = &place.pointer;
        values.extend(text.enumeration.into_iter().map(|it| (it, pointer.clone())));
    }
    names::check_variants(reader, &values);
    Some(Kind::String(Text {
        enumeration: values.into_iter().map(|(value, _)| value).collect(),
        ..Text::default()
    }))
}

/// The first property that tells the alternatives apart, and its values in each.
fn tag<'a>(reader: &Reader<'a>, raw: &[&'a Value]) -> Option<(&'a str, Vec<Vec<&'a str>>)> {
    let values = |property: &str| -> Option<Vec<Vec<&'a str>>> {
        let of_one = |schema: &&'a Value| {
            let values = texts(reader, schema.get("properties")?.get(property)?)?;
            requires(schema, property).then_some(values)
        };
        let all: Vec<Vec<&str>> = raw.iter().map(of_one).collect::<Option<_>>()?;
        are_disjoint(all.iter().flatten()).then_some(all)
    };
    let properties = raw.first()?.get("properties")?.as_object()?;
    properties
        .keys()
        .find_map(|property| Some((property.as_str(), values(property)?)))
}

fn are_disjoint<'v>(values: impl Iterator<Item = &'v &'v str>) -> bool {
    let mut seen = std::collections::HashSet::new();
    values.into_iter().all(|it| seen.insert(*it))
}

/// Step 3.
fn tagged(
    reader: &Reader<'_>,
    alternatives: &[Place<'_>],
    tag: &str,
    values: Vec<Vec<&str>>,
    name: &str,
) -> Option<Kind> {
    let mut mapping = IndexMap::new();
    for (place, values) in alternatives.iter().zip(values) {
        let label = values.first()?;
        let component = schema::named(reader, place.clone(), &part(name, label));
        for value in values {
            mapping.insert(value.to_owned(), component.clone()?);
        }
    }
    Some(Kind::OneOf {
        discriminator: tag.to_owned(),
        mapping,
    })
}

/// Step 4.
fn signed(
    reader: &Reader<'_>,
    alternatives: &[Place<'_>],
    raw: &[&Value],
    name: &str,
) -> Option<Kind> {
    let mut found: Vec<Alternative> = Vec::new();
    let mut whole = true;
    for (at, place) in alternatives.iter().enumerate() {
        let sign = sign(reader, raw, at);
        let sign = sign.filter(|it| found.iter().all(|other| are_apart(it, &other.sign)));
        let Some(sign) = sign else {
            reader.refuse(
                &place.pointer,
                "nothing tells this alternative from the others",
                "give all of them a required property of type string with an `enum` that no other has; \
                 or a type of their own; or a required member that only one has, with \
                 `additionalProperties: false` in the others",
            );
            whole = false;
            continue;
        };
        let label = match &sign {
            Sign::Member(member) => member.as_str(),
            Sign::Text(_) | Sign::String => "string",
            Sign::Number => "number",
            Sign::Boolean => "boolean",
            Sign::Array => "list",
            Sign::Object => "object",
        };
        match schema::named(reader, place.clone(), &part(name, label)) {
            Some(schema) => found.push(Alternative { sign, schema }),
            None => whole = false,
        }
    }
    whole.then_some(Kind::Union(found))
}

/// What an alternative is told by, looked at by itself and, for an object, among the others.
fn sign(reader: &Reader<'_>, raw: &[&Value], at: usize) -> Option<Sign> {
    let schema = raw[at];
    Some(match schema.get("type")?.as_str()? {
        "string" => match texts(reader, schema) {
            Some(texts) => Sign::Text(texts.into_iter().map(str::to_owned).collect()),
            None => Sign::String,
        },
        "integer" | "number" => Sign::Number,
        "boolean" => Sign::Boolean,
        "array" => Sign::Array,
        "object" => {
            let is_other = |(index, it): &(usize, &&Value)| {
                *index != at && it.get("type").is_some_and(|it| it == "object")
            };
            let others = raw.iter().enumerate().filter(is_other);
            let others: Vec<&Value> = others.map(|(_, it)| *it).collect();
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

/// Whether no value has both signs, and is admitted by both alternatives.
fn are_apart(one: &Sign, other: &Sign) -> bool {
    match (one, other) {
        (Sign::Text(one), Sign::Text(other)) => one.iter().all(|it| !other.contains(it)),
        (Sign::Text(_) | Sign::String, Sign::Text(_) | Sign::String) => false,
        (one, other) => one != other,
    }
}
