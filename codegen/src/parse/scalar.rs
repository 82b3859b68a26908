//! Booleans, integers, numbers and strings: their limits, and whether a default keeps to them.

use serde_json::{Number, Value};

use crate::model::{Bound, Bounds, Format, Kind, Pointer, Schema, Text};

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

/// The largest whole number that every tool on the way holds exactly: 2^53 - 1.
const MAX_EXACT: i64 = 9_007_199_254_740_991;

/// The most digits of a decimal that survive binary floating point, which is how documents are read.
const MAX_DIGITS: usize = 15;

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
    let narrow = match format(reader, &place, &["int32", "int64"])? {
        Some(format) => format == "int32",
        None => false,
    };
    let limit = if narrow {
        i64::from(i32::MAX)
    } else {
        MAX_EXACT
    };
    let bounds = bounds(reader, &place, |number| {
        number
            .as_i64()
            .filter(|value| (-limit..=limit).contains(value))
            .map(|it| it.to_string())
    })?;
    Some(Kind::Integer { narrow, bounds })
}

pub(super) fn number(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &NUMBER)?;
    format(reader, &place, &["float", "double"])?;
    Some(Kind::Number {
        bounds: bounds(reader, &place, decimal)?,
    })
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

fn bounds(
    reader: &Reader<'_>,
    place: &Place<'_>,
    exact: impl Fn(&Number) -> Option<String> + Copy,
) -> Option<Bounds> {
    let minimum = bound(reader, place, "minimum", "exclusiveMinimum", exact)?;
    let maximum = bound(reader, place, "maximum", "exclusiveMaximum", exact)?;
    if let (Some(low), Some(high)) = (&minimum, &maximum) {
        let (low, high) = (Some((low, as_f64(low))), Some((high, as_f64(high))));
        if let (Some((low, from)), Some((high, to))) = (low, high)
            && (from > to || (from == to && (low.exclusive || high.exclusive)))
        {
            reader.refuse(
                &place.pointer,
                "no value lies between `minimum` and `maximum`",
                "correct one of them",
            );
        }
    }
    Some(Bounds { minimum, maximum })
}

#[allow(clippy::option_option)] // Wrong, absent and there are three things.
fn bound(
    reader: &Reader<'_>,
    place: &Place<'_>,
    keyword: &str,
    exclusive: &str,
    exact: impl Fn(&Number) -> Option<String>,
) -> Option<Option<Bound>> {
    if let Some(number) = place.get(exclusive).filter(|it| it.value.is_number()) {
        reader.refuse(
            &number.pointer,
            format!("a number as `{exclusive}` is of OpenAPI 3.1"),
            format!("write the number as `{keyword}`, and `{exclusive}: true`"),
        );
        return None;
    }
    let exclusive_flag = reader.flag(place, exclusive);
    let Some(member) = place.get(keyword) else {
        if exclusive_flag {
            reader.refuse(
                &place.pointer.child(exclusive),
                format!("`{exclusive}` says nothing without `{keyword}`"),
                format!("write `{keyword}`"),
            );
        }
        return Some(None);
    };
    let wanted = "a number that no tool on the way rounds: whole and at most 2^53 - 1 either way, \
                  or, where fractions are allowed, of at most 15 digits";
    let take = |value: &Value| value.as_number().and_then(exact);
    let value = reader.expect(&member, wanted, take)?;
    Some(Some(Bound {
        value,
        exclusive: exclusive_flag,
    }))
}

/// The number as a decimal literal without exponent, if it is exact.
fn decimal(number: &Number) -> Option<String> {
    if let Some(whole) = number.as_i64() {
        return (-MAX_EXACT..=MAX_EXACT)
            .contains(&whole)
            .then(|| whole.to_string());
    }
    // Displaying an `f64` gives the shortest decimal that reads back the same, without exponent.
    let literal = number.as_f64()?.to_string();
    let digits: String = literal.chars().filter(char::is_ascii_digit).collect();
    (digits.trim_matches('0').len() <= MAX_DIGITS && literal.len() <= 40).then_some(literal)
}

/// Good enough to compare two bounds, which have at most 15 digits or are at most 2^53.
fn as_f64(bound: &Bound) -> f64 {
    // A bound is a decimal literal, which always parses.
    bound.value.parse().unwrap_or(f64::NAN)
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
    let fault = match (&schema.kind, default) {
        (Kind::Boolean, Value::Bool(_)) => None,
        (Kind::Integer { bounds, narrow }, Value::Number(number)) => match number.as_i64() {
            Some(value) if *narrow && i32::try_from(value).is_err() => {
                Some("it is beyond 32 bits".to_owned())
            }
            Some(value) if value.abs() <= MAX_EXACT => fault_of_number(bounds, number),
            _ => Some("it is not a whole number within 2^53 - 1".to_owned()),
        },
        (Kind::Number { bounds }, Value::Number(number)) => match decimal(number) {
            Some(_) => fault_of_number(bounds, number),
            None => Some("it has more than 15 digits".to_owned()),
        },
        (Kind::String(text), Value::String(value)) => match text.format {
            Some(Format::Uuid | Format::DateTime | Format::Password) => {
                Some("a string of this format has no default".to_owned())
            }
            _ => fault_of_text(text, value),
        },
        (_, Value::Null) => Some("null is what leaving it out means".to_owned()),
        _ => Some("it is of another type".to_owned()),
    };
    if let Some(fault) = &fault {
        reader.refuse(
            &schema.pointer.child("default"),
            format!("the default does not pass its own schema: {fault}"),
            "correct the default, or remove it",
        );
    }
    fault.is_none()
}

fn fault_of_number(bounds: &Bounds, number: &Number) -> Option<String> {
    let value = number.as_f64()?;
    let below =
        |bound: &Bound| value < as_f64(bound) || (bound.exclusive && value == as_f64(bound));
    let above =
        |bound: &Bound| value > as_f64(bound) || (bound.exclusive && value == as_f64(bound));
    if bounds.minimum.as_ref().is_some_and(below) {
        return Some("it is below `minimum`".to_owned());
    }
    bounds
        .maximum
        .as_ref()
        .is_some_and(above)
        .then(|| "it is above `maximum`".to_owned())
}

fn fault_of_text(text: &Text, value: &str) -> Option<String> {
    let length = value.chars().count() as u64;
    if text.min_length.is_some_and(|minimum| length < minimum) {
        return Some("it is shorter than `minLength`".to_owned());
    }
    if text.max_length.is_some_and(|maximum| length > maximum) {
        return Some("it is longer than `maxLength`".to_owned());
    }
    let missed = |pattern: &String| {
        // The pattern compiled when it was read.
        regress::Regex::new(pattern).is_ok_and(|regex| regex.find(value).is_none())
    };
    if text.pattern.as_ref().is_some_and(missed) {
        return Some("it does not match `pattern`".to_owned());
    }
    let listed = text.enumeration.is_empty() || text.enumeration.iter().any(|it| it == value);
    (!listed).then(|| "it is not in `enum`".to_owned())
}
