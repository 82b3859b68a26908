//! In which direction a schema moved.

use std::collections::BTreeSet;

use serde_json::Value;
use test_support::document::{Document, escape};

use super::{Change, Severity};

/// Who sends the value. What the consumer sends must stay accepted; what the service sends must
/// stay understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Request,
    Answer,
}

impl Direction {
    /// A change after which fewer values are valid.
    fn fewer(self) -> Severity {
        match self {
            Self::Request => Severity::Breaking,
            Self::Answer => Severity::Compatible,
        }
    }

    /// A change after which more values are valid.
    fn more(self) -> Severity {
        match self {
            Self::Request => Severity::Compatible,
            Self::Answer => Severity::Breaking,
        }
    }
}

/// Keywords that say nothing about which values are valid.
const TEXTS: [&str; 5] = [
    "description",
    "title",
    "example",
    "externalDocs",
    "deprecated",
];

/// The changes between two schemas and everything below them.
pub fn changes(
    old: &Document,
    old_pointer: &str,
    new: &Document,
    new_pointer: &str,
    direction: Direction,
) -> Vec<Change> {
    let mut walk = Walk {
        old,
        new,
        direction,
        visited: BTreeSet::new(),
        changes: Vec::new(),
    };
    walk.schemas(old_pointer, new_pointer);
    walk.changes
}

struct Walk<'a> {
    old: &'a Document,
    new: &'a Document,
    direction: Direction,
    visited: BTreeSet<(String, String)>,
    changes: Vec<Change>,
}

impl Walk<'_> {
    fn schemas(&mut self, old_pointer: &str, new_pointer: &str) {
        let (old, new) = (self.old, self.new);
        let (old_pointer, before) = old.resolve(old_pointer);
        let (new_pointer, after) = new.resolve(new_pointer);
        if !self
            .visited
            .insert((old_pointer.clone(), new_pointer.clone()))
        {
            return;
        }
        let keywords = |schema: &Value| schema.as_object().cloned().unwrap_or_default();
        let names: BTreeSet<_> = keywords(before)
            .into_iter()
            .chain(keywords(after))
            .map(|(name, _)| name)
            .collect();
        for name in &names {
            let (before, after) = (before.get(name), after.get(name));
            match name.as_str() {
                "properties" => self.properties(&old_pointer, &new_pointer),
                "allOf" | "anyOf" | "oneOf" => self.branches(name, &old_pointer, &new_pointer),
                "items" if before.is_some() && after.is_some() => {
                    let items = |pointer: &str| format!("{pointer}/items");
                    self.schemas(&items(&old_pointer), &items(&new_pointer));
                }
                _ if before == after => {}
                text if TEXTS.contains(&text) || text.starts_with("x-") => {}
                _ => self.keyword(name, before, after, &new_pointer),
            }
        }
    }

    fn keyword(&mut self, name: &str, before: Option<&Value>, after: Option<&Value>, place: &str) {
        let number = |value: Option<&Value>| value.and_then(Value::as_f64);
        let (fewer, more) = (self.direction.fewer(), self.direction.more());
        let severity = match name {
            "enum" | "required" => return self.sets(name, before, after, place),
            "maxLength" | "maximum" | "maxItems" | "maxProperties" => {
                match number(after).unwrap_or(f64::INFINITY)
                    < number(before).unwrap_or(f64::INFINITY)
                {
                    true => fewer,
                    false => Severity::Compatible,
                }
            }
            "minLength" | "minimum" | "minItems" | "minProperties" => {
                match number(after).unwrap_or(f64::NEG_INFINITY)
                    > number(before).unwrap_or(f64::NEG_INFINITY)
                {
                    true => fewer,
                    false => Severity::Compatible,
                }
            }
            "pattern" | "format" => match (before, after) {
                (None, _) => fewer,
                (_, None) => more,
                _ => Severity::Breaking,
            },
            "nullable" if after == Some(&Value::Bool(true)) => more,
            "nullable" => fewer,
            "additionalProperties" if after == Some(&Value::Bool(false)) => fewer,
            "additionalProperties" if before == Some(&Value::Bool(false)) => Severity::Compatible,
            "default" if self.direction == Direction::Answer => Severity::Compatible,
            // A type, a default of a request, a discriminator, a keyword that nobody thought of.
            _ => Severity::Breaking,
        };
        let text = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
        self.changes.push(Change {
            severity,
            place: place.to_owned(),
            what: format!("{name} went from {} to {}", text(before), text(after)),
        });
    }

    /// Values of an `enum`, of which fewer are stricter, and names in `required`, of which more are.
    fn sets(&mut self, name: &str, before: Option<&Value>, after: Option<&Value>, place: &str) {
        let (without, with) = match name {
            "required" => (self.direction.more(), self.direction.fewer()),
            _ if after.is_none() => (self.direction.more(), self.direction.more()),
            _ if before.is_none() => (self.direction.fewer(), self.direction.fewer()),
            _ => (self.direction.fewer(), self.direction.more()),
        };
        let items = |value: Option<&Value>| {
            let items = value.and_then(Value::as_array).into_iter().flatten();
            items.map(Value::to_string).collect::<BTreeSet<_>>()
        };
        let (before, after) = (items(before), items(after));
        for (severity, items, what) in [
            (without, &before - &after, "lost"),
            (with, &after - &before, "gained"),
        ] {
            self.changes.extend(items.iter().map(|item| Change {
                severity,
                place: place.to_owned(),
                what: format!("{name} {what} {item}"),
            }));
        }
    }

    fn properties(&mut self, old_pointer: &str, new_pointer: &str) {
        let names = |document: &Document, pointer: &str| -> BTreeSet<String> {
            let properties = document.at(pointer)["properties"].as_object();
            properties
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect()
        };
        let (before, after) = (names(self.old, old_pointer), names(self.new, new_pointer));
        for name in &before - &after {
            let what = format!("the property {name} was removed");
            self.changes.push(Change::breaking(new_pointer, what));
        }
        for name in &after - &before {
            let what = format!("the property {name} was added");
            self.changes.push(Change::compatible(new_pointer, what));
        }
        for name in &before & &after {
            let property = |pointer: &str| format!("{pointer}/properties/{}", escape(&name));
            self.schemas(&property(old_pointer), &property(new_pointer));
        }
    }

    /// The branches of a combination, in their order.
    fn branches(&mut self, name: &str, old_pointer: &str, new_pointer: &str) {
        let count = |document: &Document, pointer: &str| {
            document.at(pointer)[name].as_array().map_or(0, Vec::len)
        };
        let (before, after) = (count(self.old, old_pointer), count(self.new, new_pointer));
        if before != after {
            let severity = match (name, before < after) {
                ("oneOf" | "anyOf", true) if before > 0 => self.direction.more(),
                _ => Severity::Breaking,
            };
            self.changes.push(Change {
                severity,
                place: new_pointer.to_owned(),
                what: format!("{name} went from {before} branches to {after}"),
            });
        }
        for index in 0..before.min(after) {
            let branch = |pointer: &str| format!("{pointer}/{name}/{index}");
            self.schemas(&branch(old_pointer), &branch(new_pointer));
        }
    }
}
