//! Booleans, integers, numbers and strings: their limits, and whether a default keeps to them.

use serde_json::Value;

use crate::model::{Bounds, Format, Kind, Pointer, Schema, Text};

use super::bounds;
use super::names;
use super::reader::{Keywords, Place, Reader};

const TOLD: &[&str] = &[
    "title",
    "description",
    "example",
    "externalDocs",
    "deprecated",
];
const NUMERIC: &[&str] = &[
    "type",
    "nullable",
    "default",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];
const INTEGER: Keywords = Keywords::new("a schema of type integer", NUMERIC, TOLD);
const NUMBER: Keywords = Keywords::new("a schema of type number", NUMERIC, TOLD);
const STRING: Keywords = Keywords::new(
    "a schema of type string",
    &[
        "type",
        "nullable",
        "default",
        "format",
        "minLength",
        "maxLength",
        "pattern",
        "enum",
    ],
    TOLD,
);

/// Whether a type made of it would have something to check.
pub(super) fn is_constrained(kind: &Kind) -> bool {
    match kind {
        Kind::Integer { bounds, .. } | Kind::Number { bounds } => *bounds != Bounds::default(),
        Kind::String(text) => *text != Text::default(),
        _ => false,
    }
}

pub(super) fn integer(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &INTEGER)?;
    let narrow = format(reader, &place, &["int32", "int64"])? == Some("int32");
    let exact = if narrow { bounds::narrow } else { bounds::wide };
    let bounds = bounds::read(reader, &place, exact)?;
    Some(Kind::Integer { narrow, bounds })
}

pub(super) fn number(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &NUMBER)?;
    format(reader, &place, &["float", "double"])?;
    let bounds = bounds::read(reader, &place, bounds::decimal)?;
    Some(Kind::Number { bounds })
}

pub(super) fn string(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &STRING)?;
    let format = match format(reader, &place, &["uuid", "date-time", "password", "uri"])? {
        Some("uuid") => Some(Format::Uuid),
        Some("date-time") => Some(Format::DateTime),
        Some("password") => Some(Format::Password),
        Some(_) => Some(Format::Uri),
        None => None,
    };
    let (min_length, max_length) = (
        reader.count(&place, "minLength"),
        reader.count(&place, "maxLength"),
    );
    check_range(reader, &place.pointer, "Length", min_length, max_length);
    let pattern = reader.text(&place, "pattern");
    if let Some(error) = pattern
        .as_deref()
        .and_then(|it| regress::Regex::new(it).err())
    {
        reader.refuse(
            &place.pointer.child("pattern"),
            format!("the pattern does not compile: {error}"),
            "write a regular expression of ECMA-262",
        );
        return None;
    }
    let text = Text {
        min_length,
        max_length,
        pattern,
        format,
        enumeration: Vec::new(),
    };
    let enumeration = enumeration(reader, &place, &text)?;
    Some(Kind::String(Text {
        enumeration,
        ..text
    }))
}

/// The `format`, if there is one, which is among those known.
#[allow(clippy::option_option)] // Unknown, absent and known are three things.
fn format<'a>(reader: &Reader<'a>, place: &Place<'a>, known: &[&str]) -> Option<Option<&'a str>> {
    let Some(member) = place.get("format") else {
        return Some(None);
    };
    let format = reader.expect(&member, "text", Value::as_str)?;
    if !known.contains(&format) {
        reader.refuse(
            &member.pointer,
            format!("the format `{format}` is not understood"),
            format!(
                "write one of {}, or remove it and write a `pattern`",
                known.join(", ")
            ),
        );
        return None;
    }
    Some(Some(format))
}

fn enumeration(reader: &Reader<'_>, place: &Place<'_>, text: &Text) -> Option<Vec<String>> {
    let Some(member) = place.get("enum") else {
        return Some(Vec::new());
    };
    let list = reader.expect(&member, "a list", Value::as_array)?;
    let nullable = reader.flag(place, "nullable");
    if nullable != list.contains(&Value::Null) {
        reader.refuse(
            &member.pointer,
            "the enumeration and `nullable` do not agree about null",
            "write both `nullable: true` and the value `null`, or neither",
        );
    }
    if matches!(
        text.format,
        Some(Format::Uuid | Format::DateTime | Format::Password)
    ) {
        reader.refuse(
            &member.pointer,
            "an enumeration with this format is not understood",
            "remove the format",
        );
        return None;
    }
    let mut values = Vec::new();
    for item in member.items().filter(|item| !item.value.is_null()) {
        let value = reader.expect(&item, "text", Value::as_str)?;
        if let Some(fault) = fault_of_text(text, value) {
            reader.refuse(
                &item.pointer,
                format!("`{value}` does not pass its own schema: {fault}"),
                "correct the value or the limits",
            );
        }
        values.push((value.to_owned(), item.pointer));
    }
    if values.is_empty() {
        reader.refuse(
            &member.pointer,
            "the enumeration has no values",
            "write them",
        );
        return None;
    }
    names::check_variants(reader, &values);
    Some(values.into_iter().map(|(value, _)| value).collect())
}

/// Refuses a range that nothing lies in.
pub(super) fn check_range(
    reader: &Reader<'_>,
    pointer: &Pointer,
    what: &str,
    low: Option<u64>,
    high: Option<u64>,
) {
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        reader.refuse(
            pointer,
            format!("`min{what}` {low} is more than `max{what}` {high}"),
            "correct one of them",
        );
    }
}

/// Whether a default, if there is one, passes the schema that it belongs to. Refused if not.
pub(super) fn check(reader: &Reader<'_>, schema: &Schema) -> bool {
    let Some(default) = &schema.default else {
        return true;
    };
    let fault = fault(&schema.kind, default);
    if let Some(fault) = fault {
        reader.refuse(
            &schema.pointer.child("default"),
            format!("the default does not pass its own schema: {fault}"),
            "correct the default, or remove it",
        );
    }
    fault.is_none()
}

fn fault(kind: &Kind, default: &Value) -> Option<&'static str> {
    match (kind, default) {
        (_, Value::Null) => Some("null is what leaving it out means"),
        (Kind::Boolean, Value::Bool(_)) => None,
        (Kind::Integer { narrow, bounds }, Value::Number(number)) => {
            let exact = if *narrow {
                bounds::narrow
            } else {
                bounds::wide
            };
            match exact(number) {
                Some(_) => bounds::fault(bounds, number),
                None => Some("it is not a whole number within the format and 2^53 - 1"),
            }
        }
        (Kind::Number { bounds }, Value::Number(number)) => match bounds::decimal(number) {
            Some(_) => bounds::fault(bounds, number),
            None => Some("it has more than 15 digits"),
        },
        (Kind::String(text), Value::String(value)) => match text.format {
            Some(Format::Uuid | Format::DateTime | Format::Password) => {
                Some("a string of this format has no default")
            }
            _ => fault_of_text(text, value),
        },
        _ => Some("it is of another type"),
    }
}

fn fault_of_text(text: &Text, value: &str) -> Option<&'static str> {
    let length = value.chars().count() as u64;
    if text.min_length.is_some_and(|minimum| length < minimum) {
        return Some("it is shorter than `minLength`");
    }
    if text.max_length.is_some_and(|maximum| length > maximum) {
        return Some("it is longer than `maxLength`");
    }
    let missed = |pattern: &String| {
        // The pattern compiled when it was read.
        regress::Regex::new(pattern).is_ok_and(|regex| regex.find(value).is_none())
    };
    if text.pattern.as_ref().is_some_and(missed) {
        return Some("it does not match `pattern`");
    }
    let listed = text.enumeration.is_empty() || text.enumeration.iter().any(|it| it == value);
    (!listed).then_some("it is not in `enum`")
}
