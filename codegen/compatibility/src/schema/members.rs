//! The members of an object: which exist, which are required, and which others are allowed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::change::{Change, Effect, Place};
use crate::document::Node;
use crate::pair::{Names, Pair};

use super::values_of;

/// The changes of an object's members.
pub fn changes(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    listed(pair, &mut changes);
    required(pair, &mut changes);
    unknown(pair, &mut changes);
    changes
}

/// Members that only one of the documents has.
fn listed(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let properties = pair.both.at("properties");
    let Names { gone, new, .. } = properties.names();
    for name in gone {
        let place = Place {
            old: Some(properties.old.place_of(&name)),
            new: None,
        };
        let what = format!("the member `{name}` is gone");
        changes.push(pair.change(Effect::Different, place, what));
    }
    let closed = pair.both.old.value["additionalProperties"] == Value::Bool(false);
    let required = required_of(&pair.both.new);
    for name in new {
        let place = Place {
            old: None,
            new: Some(properties.new.place_of(&name)),
        };
        let what = format!("the member `{name}` is new");
        changes.push(match (required.contains(&name), closed) {
            // Objects in responses may grow, unless they are declared closed.
            (false, false) => pair.change(Effect::Harmless, place, what),
            (false, true) => pair.change(Effect::More, place, what),
            (true, false) => pair.change(Effect::Fewer, place, format!("{what}, and required")),
            (true, true) => pair.change(Effect::Different, place, format!("{what}, and required")),
        });
    }
}

/// `required`, for the members that both documents have.
fn required(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    let place = pair.both.place_of("required");
    let (before, after) = (required_of(&pair.both.old), required_of(&pair.both.new));
    let Names { gone, new, .. } = pair.both.at("properties").names();
    let differing = before.symmetric_difference(&after);
    for name in differing.filter(|name| !gone.contains(name) && !new.contains(name)) {
        let (effect, state) = match after.contains(name) {
            true => (Effect::Fewer, "required"),
            false => (Effect::More, "optional"),
        };
        let what = format!("the member `{name}` is {state} now");
        changes.push(pair.change(effect, place.clone(), what));
    }
    let (old, new) = values_of(&pair.both, "required");
    if before == after && old != new {
        changes.push(pair.change(Effect::Text, place, "another order of its required members"));
    }
}

fn required_of(schema: &Node<'_>) -> BTreeSet<String> {
    let names = schema.value["required"].as_array().into_iter().flatten();
    names
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

/// `additionalProperties`, unless it is a schema on both sides, which is then a pair.
fn unknown(pair: &Pair<'_>, changes: &mut Vec<Change>) {
    #[derive(PartialEq, PartialOrd)]
    enum Room {
        Closed,
        Some,
        Any,
    }
    let room = |value: Option<&Value>| match value {
        Some(Value::Bool(false)) => Room::Closed,
        Some(Value::Object(_)) => Room::Some,
        _ => Room::Any,
    };
    let (old, new) = values_of(&pair.both, "additionalProperties");
    let (old, new) = (room(old), room(new));
    if old == new {
        return;
    }
    let effect = if new < old {
        Effect::Fewer
    } else {
        Effect::More
    };
    let what = match new {
        Room::Closed => "unknown members are refused now",
        Room::Some => "unknown members are of one type now",
        Room::Any => "unknown members are allowed now",
    };
    let place = pair.both.place_of("additionalProperties");
    changes.push(pair.change(effect, place, what));
}
