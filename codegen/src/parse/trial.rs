//! Alternatives that can be told apart only by whether a value passes them.
//!
//! The request checker tries the schemas, and the types of both sides try themselves. The two agree, and neither
//! takes long, if
//!
//! 1. no alternative leads to a limit that no type enforces: those of a list, and [`super::limits`];
//! 2. no alternative contains the list again, since each level would multiply the tries of the next;
//! 3. a value is checked against few schemas, including those that alternatives try in turn.
//!
//! Types enforce all other limits. Types that alternatives lead to also refuse null for an absent member, which
//! other types treat as the same (`Document::tried`).

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::model::{Alternative, Bounds, Kind, Others, Schema, Sign, Text};

use super::reader::Reader;

type Schemas = IndexMap<String, Schema>;

/// How many schemas one value may be checked against.
const MAX_TRIES: usize = 64;

/// Checks the alternatives of all lists that are told apart by trial.
pub(super) fn check(reader: &Reader<'_>, schemas: &Schemas) {
    let mut tries = Tries {
        schemas,
        counted: HashMap::new(),
    };
    for (name, union) in schemas {
        check_one(reader, &mut tries, name, union);
    }
}

fn check_one<'a>(reader: &Reader<'_>, tries: &mut Tries<'a>, name: &str, union: &'a Schema) {
    let schemas = tries.schemas;
    let mut sum = 0_usize;
    for alternative in union.tried() {
        let led = led(schemas, alternative);
        if led.contains(name) {
            reader.refuse(
                &union.pointer,
                format!("nothing tells `{alternative}` from the other alternatives, and it contains them again"),
                REMEDY,
            );
            return;
        }
        let limited = led
            .iter()
            .find(|it| schemas.get(**it).is_some_and(has_limits));
        if let Some(limited) = limited {
            reader.refuse(
                &union.pointer,
                format!("nothing tells `{alternative}` from the other alternatives but limits that no type keeps, those of `{limited}`"),
                REMEDY,
            );
            return;
        }
        sum = sum.saturating_add(tries.of(&led, 0));
    }
    if let Some(name) = swallowed(schemas, union) {
        reader.refuse(
            &union.pointer,
            format!("each value of `{name}` passes another alternative, too, so that a `oneOf` never means it"),
            "write `anyOf`, of which the first alternative is meant that a value passes, or remove one of them",
        );
    }
    if sum > MAX_TRIES {
        reader.refuse(
            &union.pointer,
            format!("a value would have to be held against {sum} schemas to know which alternative it is"),
            REMEDY,
        );
    }
}

const REMEDY: &str = "give all alternatives a required property of type string with an `enum` that no other has; or a type of \
                      their own; or a required member that only one has, with `additionalProperties: false` in the others";

/// Finds an alternative of a `oneOf` that can never be meant, because another admits all values of its type.
fn swallowed<'a>(schemas: &'a Schemas, union: &'a Schema) -> Option<&'a str> {
    let Kind::Union(alternatives) = &union.kind else {
        return None;
    };
    let is_alone = |it: &Alternative| it.sign == Sign::Fits { alone: true };
    let kind = |name: &str| schemas.get(name).map(|it| &it.kind);
    let tried = || {
        let tried = alternatives.iter().filter(|it| is_alone(it));
        tried.map(|it| it.schema.as_str())
    };
    let is_all = |name: &str| match kind(name) {
        Some(Kind::Any) => Some("any"),
        Some(Kind::String(text)) if *text == Text::default() => Some("string"),
        Some(Kind::Number { bounds }) if *bounds == Bounds::default() => Some("number"),
        Some(Kind::Map(values)) if matches!(values.kind, Kind::Any) => Some("object"),
        Some(Kind::Object {
            properties,
            others: Others::Ignored,
            ..
        }) if properties.is_empty() => Some("object"),
        _ => None,
    };
    let is_of = |name: &str, group: &str| match kind(name) {
        Some(Kind::String(_)) => matches!(group, "any" | "string"),
        Some(Kind::Integer { .. } | Kind::Number { .. }) => matches!(group, "any" | "number"),
        Some(Kind::Map(_) | Kind::Object { .. } | Kind::OneOf { .. }) => {
            matches!(group, "any" | "object")
        }
        _ => group == "any",
    };
    tried().find_map(|all| {
        let group = is_all(all)?;
        tried().find(|other| *other != all && is_of(other, group))
    })
}

/// The components that one leads to, including itself.
fn led<'a>(schemas: &'a Schemas, name: &'a str) -> HashSet<&'a str> {
    let (mut seen, mut open) = (HashSet::new(), vec![name]);
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            open.extend(schemas.get(name).into_iter().flat_map(Schema::references));
        }
    }
    seen
}

/// Whether the schema's own text has a limit that no type enforces.
fn has_limits(schema: &Schema) -> bool {
    if !schema.limits.is_empty() {
        return true;
    }
    match &schema.kind {
        Kind::Array {
            items,
            min_items,
            max_items,
            unique_items,
        } => min_items.is_some() || max_items.is_some() || *unique_items || has_limits(items),
        Kind::Map(values) => has_limits(values),
        Kind::Object {
            properties, others, ..
        } => properties.values().chain(others.kept()).any(has_limits),
        _ => false,
    }
}

/// Counts the schemas that values are checked against.
struct Tries<'a> {
    schemas: &'a Schemas,
    counted: HashMap<&'a str, usize>,
}

impl<'a> Tries<'a> {
    /// The count for a value of a schema that leads to these components.
    fn of(&mut self, led: &HashSet<&'a str>, depth: usize) -> usize {
        let schemas = self.schemas;
        if depth > MAX_TRIES {
            return depth;
        }
        let mut most = 1;
        for name in led {
            let Some(schema) = schemas.get(*name) else {
                continue;
            };
            if schema.tried().next().is_none() {
                continue;
            }
            let known = self.counted.get(name).copied();
            let count = known.unwrap_or_else(|| {
                // In a cycle, which is refused separately, it counts as zero.
                self.counted.insert(name, 0);
                let alternatives = schema.tried().map(|it| self::led(schemas, it));
                let alternatives: Vec<_> = alternatives.collect();
                let sum = alternatives.iter().fold(0_usize, |sum, it| {
                    sum.saturating_add(self.of(it, depth + 1))
                });
                self.counted.insert(name, sum);
                sum
            });
            most = most.max(count);
        }
        most
    }
}
