//! `oneOf` and `anyOf`: which alternative a value belongs to.
//!
//! The ways to tell; the first that works for all alternatives is used:
//!
//! 1. a `discriminator`: the author decides, by its `mapping`, the values that the variants list, or their names;
//! 2. all are enumerations of strings: they become one;
//! 3. a tag: a property that every alternative requires, as an enumeration of strings that no other has;
//! 4. a [`Sign`] for each: its type, the texts that it lists, or a member that only it may have;
//! 5. trial, for those that share a type: of a `oneOf` the only one that the value passes, of an `anyOf` the first.
//!    [`super::graph`] checks that the trial is exact, and short.
//!
//! In all but the last, no two alternatives admit a value with the same tag or sign, so exactly one is meant, and
//! `oneOf` and `anyOf` are the same. Tags and signs are determined from the text of the document before alternatives
//! are read, since inline ones are named after them.
//!
//! An alternative that is null or admits null makes the whole nullable ([`super::null`]). Keywords beside the list
//! are part of each alternative ([`super::parts`]).

use std::cell::Cell;

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::model::{Alternative, Kind, Schema, Sign, Text};
use crate::names::part;

use super::look::{are_apart, flat, is_enumeration, is_null, kind_of, requires, sign, texts};
use super::names;
use super::null;
use super::object::{self, Members};
use super::parts;
use super::reader::{Keywords, Place, Reader};
use super::scalar;
use super::schema::{self, Said};

const ONE_OF: Keywords = Keywords::of_schema(
    "a `oneOf`",
    &[
        "oneOf",
        "anyOf",
        "discriminator",
        "nullable",
        "default",
        "format",
        "type",
        "properties",
        "required",
        "additionalProperties",
    ],
);

/// Reads a `oneOf` or an `anyOf`, and whether it admits null.
pub(super) fn read(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Said> {
    let place = reader.object(place.clone(), &ONE_OF)?;
    check_format(reader, &place);
    let beside = parts::MEMBERS.iter().filter(|it| place.get(it).is_some());
    let beside: Vec<_> = beside.copied().collect();
    let list = place.get("oneOf").or_else(|| place.get("anyOf"))?;
    let is_object = |it: Place<'_>| flat(reader, it.value)["type"] == "object";
    let says_nothing = place.get("type").is_some_and(|it| it.value == "object")
        && beside.len() == 1
        && list.items().all(is_object);
    let parts = match beside.is_empty() || says_nothing {
        true => None,
        false => Some(vec![parts::own(reader, &place, name)?]),
    };
    with(reader, &place, name, parts)
}

/// A `format` beside a list is documentation, unless it is one that limits values: the standard leaves open which
/// alternatives it applies to.
fn check_format(reader: &Reader<'_>, place: &Place<'_>) {
    if let Some(format) = reader
        .text(place, "format")
        .filter(|it| scalar::is_kept(it))
    {
        let pointer = place.pointer.child("format");
        reader.refuse_limit(
            &pointer,
            pointer.clone(),
            format!("`format: {format}` stands beside a list of alternatives"),
            "write it in the alternatives that it is for",
        );
    }
}

/// Reads a list of alternatives, each of which also has these parts.
pub(super) fn with(
    reader: &Reader<'_>,
    place: &Place<'_>,
    name: &str,
    parts: Option<Vec<Members>>,
) -> Option<Said> {
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
    let all: Vec<Place<'_>> = list.items().collect();
    if all.is_empty() {
        reader.refuse(&list.pointer, "the `oneOf` has no variants", "list them");
        return None;
    }
    let (raw, places): (Vec<Value>, Vec<Place<'_>>) = all
        .iter()
        .map(|it| (flat(reader, it.value), it.clone()))
        .filter(|(raw, _)| !is_null(raw) || parts.is_some())
        .unzip();
    let is_exclusive = place.get("oneOf").is_some();
    let listed = null::List {
        pointer: list.pointer.clone(),
        // Keywords beside the list may admit null, whatever the alternatives do.
        is_exclusive: is_exclusive && !reader.flag(place, "nullable"),
        nulls: all.len() - places.len(),
        components: Vec::new(),
    };
    if let (1.., [only]) = (listed.nulls, places.as_slice()) {
        return or_null(reader, name, only, listed);
    }
    let union = Union {
        reader,
        name,
        places: &places,
        raw: &raw,
        parts,
        is_exclusive,
        nulls: Cell::new(listed.nulls),
    };
    let kind = union.kind(place.get("discriminator"))?;
    let nulls = union.nulls.get();
    let components = null::alternatives(&kind).into_iter().map(str::to_owned);
    reader.lists.borrow_mut().push(null::List {
        nulls,
        components: components.collect(),
        ..listed
    });
    Some(Said::plain(kind, nulls > 0))
}

/// Reads the only alternative that is not null.
fn or_null(reader: &Reader<'_>, name: &str, only: &Place<'_>, list: null::List) -> Option<Said> {
    let schema = match only.get("$ref") {
        Some(_) => schema::said(reader, only, &reader.reference(only, "schemas")?)?,
        None => schema::any(reader, only.clone(), name)?,
    };
    let said = Said {
        kind: schema.kind,
        limits: schema.limits,
        nullable: true,
    };
    reader.lists.borrow_mut().push(null::List {
        nulls: list.nulls + usize::from(schema.nullable),
        ..list
    });
    Some(said)
}

/// The alternatives of one list.
pub(super) struct Union<'u, 'a> {
    pub(super) reader: &'u Reader<'a>,
    /// The name of the whole.
    pub(super) name: &'u str,
    pub(super) places: &'u [Place<'a>],
    /// The text of each, references followed.
    pub(super) raw: &'u [Value],
    /// The keywords beside the list.
    parts: Option<Vec<Members>>,
    /// Whether a value may pass only one alternative.
    is_exclusive: bool,
    /// How many alternatives admit null by their own text.
    nulls: Cell<usize>,
}

impl Union<'_, '_> {
    fn kind(&self, discriminator: Option<Place<'_>>) -> Option<Kind> {
        if let Some(discriminator) = discriminator {
            if self.parts.is_some() {
                self.reader.refuse(
                    &discriminator.pointer,
                    "a discriminator leads to components, and these have more properties, which stand beside the list",
                    "remove the discriminator: alternatives are told apart by a property that each requires, as \
                     an `enum` of its own",
                );
                return None;
            }
            return self.discriminated(discriminator);
        }
        let is_enumeration = |it: &Place<'_>| is_enumeration(self.reader, it.value);
        if self.parts.is_none() && self.places.iter().all(is_enumeration) {
            return self.enumeration();
        }
        match self.tag() {
            Some((tag, values)) => self.tagged(tag, values),
            None => self.signed(),
        }
    }

    /// The component of an alternative.
    fn component(&self, at: usize, name: &str) -> Option<String> {
        let (reader, place) = (self.reader, self.places.get(at)?);
        let Some(parts) = &self.parts else {
            let schema = schema::inline(reader, place.clone(), name)?;
            return Some(match schema.kind {
                Kind::Ref(name) => {
                    self.admit_null(schema.nullable);
                    name
                }
                // Its component records whether it admits null.
                _ => reader.made.add(name, schema),
            });
        };
        self.with_parts(at, name, parts)
    }

    /// Counts an alternative that admits null by its own text, if it does.
    pub(super) fn admit_null(&self, does: bool) {
        self.nulls.set(self.nulls.get() + usize::from(does));
    }

    /// The component of an alternative that also has these parts.
    pub(super) fn with_parts(&self, at: usize, name: &str, parts: &[Members]) -> Option<String> {
        let (reader, place) = (self.reader, self.places.get(at)?);
        let own = parts::alternative(reader, place, name)?;
        let kind = object::whole(
            reader,
            &place.pointer,
            parts.iter().cloned().chain([own]).collect(),
        )?;
        let schema = Schema {
            kind,
            limits: Vec::new(),
            nullable: false,
            description: reader.text(place, "description"),
            default: None,
            json: json!({ "allOf": [place.value], "of": self.name }),
            is_made: true,
            pointer: place.pointer.clone(),
        };
        Some(reader.made.add(name, schema))
    }

    /// The first property that tells the alternatives apart, with its values in each.
    fn tag(&self) -> Option<(&str, Vec<Vec<String>>)> {
        let values = |property: &str| -> Option<Vec<Vec<String>>> {
            let of_one = |schema: &Value| {
                let values = texts(self.reader, schema.get("properties")?.get(property)?)?;
                requires(schema, property).then_some(values)
            };
            let all: Vec<Vec<String>> = self.raw.iter().map(of_one).collect::<Option<_>>()?;
            are_disjoint(all.iter().flatten()).then_some(all)
        };
        let properties = self.raw.first()?.get("properties")?.as_object()?;
        properties
            .keys()
            .find_map(|property| Some((property.as_str(), values(property)?)))
    }

    /// Step 3.
    fn tagged(&self, tag: &str, values: Vec<Vec<String>>) -> Option<Kind> {
        let mut mapping = IndexMap::new();
        for (at, values) in values.into_iter().enumerate() {
            let component = self.component(at, &part(self.name, values.first()?));
            for value in values {
                mapping.insert(value, component.clone()?);
            }
        }
        Some(Kind::OneOf {
            discriminator: tag.to_owned(),
            mapping,
        })
    }

    /// Steps 4 and 5.
    fn signed(&self) -> Option<Kind> {
        let looks: Vec<Option<Sign>> = (0..self.raw.len())
            .map(|at| sign(self.reader, self.raw, at))
            .collect();
        let apart = |(at, it): (usize, &Option<Sign>)| {
            let others = looks[..at].iter();
            it.as_ref()
                .is_some_and(|it| others.flatten().all(|other| are_apart(it, other)))
        };
        let are_apart = looks.iter().enumerate().all(apart);
        let mut found: Vec<Alternative> = Vec::new();
        let mut is_whole = true;
        for (at, look) in looks.iter().enumerate() {
            let sign = match look {
                Some(sign) if are_apart || self.has_own_type(at) => sign.clone(),
                _ => Sign::Fits {
                    alone: self.is_exclusive,
                },
            };
            let title = self.raw[at].get("title").and_then(Value::as_str);
            let label = match (&sign, title) {
                (Sign::Member(member), _) => member.as_str(),
                (Sign::Fits { .. }, Some(title)) => title,
                _ => kind_of(&self.raw[at]).unwrap_or("value"),
            };
            let Some(schema) = self.component(at, &part(self.name, label)) else {
                is_whole = false;
                continue;
            };
            if found.iter().any(|it| it.schema == schema) {
                self.reader.refuse(
                    &self.places[at].pointer,
                    format!("the variant `{schema}` is listed twice"),
                    "list it once",
                );
                is_whole = false;
            }
            found.push(Alternative { sign, schema });
        }
        is_whole.then_some(Kind::Union(found))
    }

    /// Whether no other alternative has values of the type that this one has.
    fn has_own_type(&self, at: usize) -> bool {
        let own = kind_of(&self.raw[at]);
        let mut others = self
            .raw
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        own.is_some() && others.all(|(_, it)| kind_of(it).is_some_and(|it| Some(it) != own))
    }
}

fn are_disjoint<'v>(values: impl Iterator<Item = &'v String>) -> bool {
    let mut seen = std::collections::HashSet::new();
    values.into_iter().all(|it| seen.insert(it))
}

impl Union<'_, '_> {
    /// Step 2.
    fn enumeration(&self) -> Option<Kind> {
        let reader = self.reader;
        let mut values = Vec::new();
        for place in self.places {
            let inner = reader.follow(place.clone(), "schemas")?;
            let Kind::String(text) = scalar::string(reader, &inner)? else {
                return None;
            };
            self.admit_null(reader.flag(&inner, "nullable"));
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
}
