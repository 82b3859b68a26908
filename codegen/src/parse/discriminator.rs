//! A `oneOf` with a `discriminator`, by which the author says which alternative a value is: the first of the
//! ways to tell ([`super::one_of`]).

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::Kind;
use crate::names::part;

use super::look::{requires, texts};
use super::object::Members;
use super::one_of::Union;
use super::reader::{Keywords, Place, Reader};
use super::schema;

const DISCRIMINATOR: Keywords =
    Keywords::of_schema("a discriminator", &["propertyName", "mapping"]);

impl Union<'_, '_> {
    /// If a variant may omit the property, it is read as requiring it: by the standard, a value without it
    /// means nothing.
    pub(super) fn discriminated(&self, discriminator: Place<'_>) -> Option<Kind> {
        let reader = self.reader;
        let listed = self.listed()?;
        let discriminator = reader.object(discriminator, &DISCRIMINATOR)?;
        let property = reader.required_text(&discriminator, "propertyName")?;
        let named = match discriminator.get("mapping") {
            Some(place) => mapping(reader, &place, &listed)?,
            None => self.implied(&listed, &property),
        };
        let mut components: IndexMap<String, String> = IndexMap::new();
        let mut mapping = IndexMap::new();
        for (value, variant) in named {
            let known = components.get(&variant).cloned();
            let component = match known {
                Some(known) => known,
                None => {
                    let at = listed.iter().position(|it| *it == variant)?;
                    let raw = &self.raw[at];
                    let has = raw["properties"].get(&property).is_some();
                    if has && !requires(raw, &property) {
                        let pointer = discriminator.pointer.child("propertyName");
                        let required = Members::requiring(&property, pointer);
                        // The component made of the variant is an object only.
                        let said = schema::said(reader, self.places.get(at)?, &variant)?;
                        self.admit_null(said.nullable);
                        self.with_parts(at, &part(self.name, &value), &[required])?
                    } else {
                        variant.clone()
                    }
                }
            };
            components.insert(variant, component.clone());
            mapping.insert(value, component);
        }
        Some(Kind::OneOf {
            discriminator: property,
            mapping,
        })
    }

    /// The variants by name, as a discriminator refers to them.
    fn listed(&self) -> Option<Vec<String>> {
        let reader = self.reader;
        let mut listed = Vec::new();
        for variant in self.places {
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
        Some(listed)
    }

    /// Which value leads to which variant by default: the values that the variant lists, or its name.
    fn implied(&self, listed: &[String], property: &str) -> IndexMap<String, String> {
        let mut mapping = IndexMap::new();
        for (raw, name) in self.raw.iter().zip(listed) {
            let values = texts(self.reader, &raw["properties"][property]);
            for value in values.unwrap_or_else(|| vec![name.clone()]) {
                mapping.insert(value, name.clone());
            }
        }
        mapping
    }
}

/// The map from values of the discriminator to variants: all of them, and no other component.
fn mapping(
    reader: &Reader<'_>,
    place: &Place<'_>,
    listed: &[String],
) -> Option<IndexMap<String, String>> {
    reader.expect(place, "an object", Value::as_object)?;
    let mut mapping = IndexMap::new();
    for (value, target) in place.members() {
        let text = reader.expect(&target, "text", Value::as_str)?;
        let name = text.strip_prefix("#/components/schemas/").unwrap_or(text);
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
