//! The changes of a schema, keyword by keyword.
//!
//! Each keyword has one [`Effect`], whoever meets the schema; who does decides whether it is a break. The parts
//! of a schema (its members, items and variants) are pairs of their own.

mod members;

use std::cmp::Ordering;

use serde_json::Value;

use crate::change::{Change, Effect};
use crate::document::Node;
use crate::pair::{Both, Pair, component};
use crate::walk::{COMBINATIONS, variants};

/// Keywords that only explain.
const TEXTS: [&str; 4] = ["title", "description", "example", "externalDocs"];

/// Keywords that the functions below judge; `items` and the branches are judged by themselves, as pairs.
const RULED: [&str; 29] = [
    "type",
    "format",
    "pattern",
    "enum",
    "nullable",
    "default",
    "deprecated",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "oneOf",
    "anyOf",
    "allOf",
    "discriminator",
    "multipleOf",
    "readOnly",
    "writeOnly",
];

/// Size limits: the keyword, whether it is an upper limit, what it counts, and the default.
const LIMITS: [(&str, bool, &str, &str); 8] = [
    ("minLength", false, "character", "any length"),
    ("maxLength", true, "character", "any length"),
    ("minimum", false, "", "no lower bound"),
    ("maximum", true, "", "no upper bound"),
    ("minItems", false, "item", "any number of items"),
    ("maxItems", true, "item", "any number of items"),
    ("minProperties", false, "member", "any number of members"),
    ("maxProperties", true, "member", "any number of members"),
];

/// Restrictions that are present or absent: the keyword, and how to describe the schema with and without it.
const FLAGS: [(&str, &str, &str); 3] = [
    (
        "exclusiveMinimum",
        "the lower bound itself is not valid",
        "the lower bound itself is valid",
    ),
    (
        "exclusiveMaximum",
        "the upper bound itself is not valid",
        "the upper bound itself is valid",
    ),
    ("uniqueItems", "all items differ", "items may be equal"),
];

/// The changes of a schema itself.
pub fn changes(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    name(pair, &mut changes);
    meaning(pair, &mut changes);
    limits(pair, &mut changes);
    values(pair, &mut changes);
    changes.extend(members::changes(pair));
    branches(pair, &mut changes);
    changes.extend(pair.others(&RULED, &TEXTS));
    changes
}

/// The name of a component becomes the name of a type.
fn name(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let old = component(&pair.both.old.pointer);
    let new = component(&pair.both.new.pointer);
    if let Some(old) = old.filter(|_| old != new) {
        let what = match new {
            Some(new) => format!("is called `{new}`, was `{old}`"),
            None => format!("has no name of its own, was `{old}`"),
        };
        changes.push(pair.change(Effect::Renamed, pair.both.place(), what));
    }
}

/// Keywords for which neither value includes the other.
fn meaning(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    for (keyword, words, without) in [
        ("type", "is of the type {}", "is of any type"),
        ("default", "means {} when it is left out", "has no default"),
        ("multipleOf", "is a multiple of {}", "is no multiple"),
        ("readOnly", "`readOnly` is {}", "`readOnly` is not said"),
        ("writeOnly", "`writeOnly` is {}", "`writeOnly` is not said"),
    ] {
        let (old, new) = values_of(&pair.both, keyword);
        if old != new {
            let now = match new {
                Some(_) => words.replace("{}", &show(new)),
                None => without.to_owned(),
            };
            let what = format!("{now}, was {}", show(old));
            changes.push(pair.change(Effect::Different, pair.both.place_of(keyword), what));
        }
    }
    for keyword in ["format", "pattern"] {
        let (old, new) = values_of(&pair.both, keyword);
        let effect = match (old, new) {
            _ if old == new => continue,
            (None, _) => Effect::Fewer,
            (_, None) => Effect::More,
            _ => Effect::Different,
        };
        let now = match new {
            Some(_) => format!("has the {keyword} {}", show(new)),
            None => format!("has no {keyword}"),
        };
        let what = format!("{now}, was {}", show(old));
        changes.push(pair.change(effect, pair.both.place_of(keyword), what));
    }
    changes.extend(deprecation(pair));
}

/// A deprecation, or its end.
pub fn deprecation(pair: &Pair<'_>) -> Option<Change> {
    let (old, new) = (&pair.both.old, &pair.both.new);
    let what = match (old.flag("deprecated"), new.flag("deprecated")) {
        (false, true) => "is deprecated: it works, and will go",
        (true, false) => "is no longer deprecated",
        _ => return None,
    };
    Some(pair.change(Effect::Harmless, pair.both.place_of("deprecated"), what))
}

fn limits(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    for (keyword, upper, counted, without) in LIMITS {
        let (old, new) = values_of(&pair.both, keyword);
        let effect = match (old, new) {
            (None, None) => continue,
            (None, _) => Effect::Fewer,
            (_, None) => Effect::More,
            (Some(old), Some(new)) => match order(old, new) {
                Some(Ordering::Equal) => continue,
                Some(Ordering::Less) if upper => Effect::More,
                Some(Ordering::Greater) if !upper => Effect::More,
                Some(_) => Effect::Fewer,
                None => Effect::Different,
            },
        };
        let say = |value: Option<&Value>| match value {
            Some(value) => bound(upper, value, counted),
            None => without.to_owned(),
        };
        let what = format!("{}, was {}", say(new), say(old));
        changes.push(pair.change(effect, pair.both.place_of(keyword), what));
    }
    for (keyword, with, without) in FLAGS {
        let (old, new) = (pair.both.old.flag(keyword), pair.both.new.flag(keyword));
        let (effect, what) = match (old, new) {
            (false, true) => (Effect::Fewer, with),
            (true, false) => (Effect::More, without),
            _ => continue,
        };
        changes.push(pair.change(effect, pair.both.place_of(keyword), format!("{what} now")));
    }
}

/// Compares two numbers; whole ones exactly, which 64-bit floating point would not.
fn order(old: &Value, new: &Value) -> Option<Ordering> {
    let whole = |value: &Value| {
        let signed = value.as_i64().map(i128::from);
        signed.or(value.as_u64().map(i128::from))
    };
    match (whole(old), whole(new)) {
        (Some(old), Some(new)) => Some(old.cmp(&new)),
        _ => old.as_f64()?.partial_cmp(&new.as_f64()?),
    }
}

/// `at most 20 characters`.
fn bound(upper: bool, value: &Value, counted: &str) -> String {
    let side = if upper { "at most" } else { "at least" };
    match (counted, value.as_u64()) {
        ("", _) => format!("{side} {value}"),
        (_, Some(1)) => format!("{side} 1 {counted}"),
        _ => format!("{side} {value} {counted}s"),
    }
}

/// Null, and the values of an enumeration.
fn values(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let null = pair.both.place_of("nullable");
    let nullable = |node: &Node<'_>| node.flag("nullable");
    match (nullable(&pair.both.old), nullable(&pair.both.new)) {
        (false, true) => changes.push(pair.change(Effect::More, null, "may be null now")),
        (true, false) => changes.push(pair.change(Effect::Fewer, null, "is never null now")),
        _ => {}
    }
    let place = pair.both.place_of("enum");
    let (before, after) = (pair.both.old.at("enum"), pair.both.new.at("enum"));
    let values = |node: &Node<'_>| node.value.as_array().cloned().unwrap_or_default();
    let (old, new) = (values(&before), values(&after));
    let list = |values: &[Value]| {
        let values: Vec<_> = values.iter().map(|value| show(Some(value))).collect();
        values.join(", ")
    };
    match (before.value.is_array(), after.value.is_array()) {
        (false, true) => {
            let what = format!("is one of {}, was any value", list(&new));
            changes.push(pair.change(Effect::Fewer, place, what));
        }
        (true, false) => {
            let what = format!("is any value, was one of {}", list(&old));
            changes.push(pair.change(Effect::More, place, what));
        }
        _ => {
            let found = changes.len();
            for value in old.iter().filter(|value| !new.contains(value)) {
                let what = format!("the value {} is gone", show(Some(value)));
                changes.push(pair.change(Effect::Fewer, place.clone(), what));
            }
            for value in new.iter().filter(|value| !old.contains(value)) {
                let what = format!("the value {} is new", show(Some(value)));
                changes.push(pair.change(Effect::More, place.clone(), what));
            }
            if changes.len() == found && old != new {
                changes.push(pair.change(Effect::Text, place, "another order of its values"));
            }
        }
    }
}

/// `items` that only one side has, and the branches of combinations.
fn branches(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let (old, new) = values_of(&pair.both, "items");
    let items = match (old, new) {
        (None, Some(_)) => Some((Effect::Fewer, "items are of one type now")),
        (Some(_), None) => Some((Effect::More, "items are of any type now")),
        _ => None,
    };
    if let Some((effect, what)) = items {
        changes.push(pair.change(effect, pair.both.place_of("items"), what));
    }
    for keyword in COMBINATIONS {
        let (old, new) = values_of(&pair.both, keyword);
        let place = pair.both.place_of(keyword);
        if old.is_some() != new.is_some() {
            let verb = if new.is_some() { "is" } else { "is no longer" };
            let what = format!("{verb} a combination by `{keyword}`");
            changes.push(pair.change(Effect::Different, place, what));
            continue;
        }
        // Each branch of `allOf` removes something, each of the others adds something.
        let (less, more) = match keyword {
            "allOf" => (Effect::More, Effect::Fewer),
            _ => (Effect::Fewer, Effect::More),
        };
        let found = variants(&pair.both, keyword);
        if found.gone.is_empty() && found.new.is_empty() && old != new {
            changes.push(pair.change(Effect::Text, place.clone(), "another order of its variants"));
        }
        for (names, effect, state) in [(found.gone, less, "gone"), (found.new, more, "new")] {
            for name in names {
                let what = format!("the variant `{name}` is {state}");
                changes.push(pair.change(effect, place.clone(), what));
            }
        }
    }
    let property = |value: Option<&Value>| value.map(|it| it["propertyName"].clone());
    let (old, new) = values_of(&pair.both, "discriminator");
    if property(old) != property(new) {
        let place = pair.both.place_of("discriminator");
        let (old, new) = (property(old), property(new));
        let what = format!(
            "variants are told apart by {}, was by {}",
            show(new.as_ref()),
            show(old.as_ref())
        );
        changes.push(pair.change(Effect::Different, place, what));
    }
}

/// Returns the value of a keyword in both documents.
fn values_of<'a>(both: &Both<'a>, keyword: &str) -> (Option<&'a Value>, Option<&'a Value>) {
    (both.old.value.get(keyword), both.new.value.get(keyword))
}

/// Formats a value for a sentence.
pub fn show(value: Option<&Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::String(text)) => format!("`{text}`"),
        Some(value) => format!("`{value}`"),
    }
}
