//! Integers, numbers and strings: their limits and their formats.

use serde_json::Value;

use crate::model::{Bounds, Format, Kind, Pointer, Text, Width};

use super::bounds;
use super::default::fault_of_text;
use super::linear;
use super::names;
use super::reader::{Keywords, Place, Reader};

const NUMERIC: &[&str] = &[
    "type",
    "nullable",
    "default",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "enum",
];
const INTEGER: Keywords = Keywords::of_schema("a schema of type integer", NUMERIC);
const NUMBER: Keywords = Keywords::of_schema("a schema of type number", NUMERIC);
const STRING: Keywords = Keywords::of_schema(
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
);

/// Whether a type made of it would have anything to check.
pub(super) fn is_constrained(kind: &Kind) -> bool {
    match kind {
        Kind::Integer { bounds, .. } | Kind::Number { bounds } => *bounds != Bounds::default(),
        Kind::String(text) => *text != Text::default(),
        _ => false,
    }
}

const WIDTHS: &[(&str, Width)] = &[
    ("int8", Width::I8),
    ("int16", Width::I16),
    ("int32", Width::I32),
    ("int64", Width::I64),
    ("uint8", Width::U8),
    ("uint16", Width::U16),
    ("uint32", Width::U32),
    ("uint64", Width::U64),
    // What schemars writes for `usize`.
    ("uint", Width::U64),
];

const FORMATS: &[(&str, Format)] = &[
    ("uuid", Format::Uuid),
    ("date-time", Format::DateTime),
    ("date", Format::Date),
    ("ip", Format::Ip),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("password", Format::Password),
    ("uri", Format::Uri),
    ("uri-reference", Format::Uri),
];

/// Whether values of this format are checked.
pub(super) fn is_kept(format: &str) -> bool {
    let of_texts = FORMATS
        .iter()
        .any(|(name, it)| *name == format && *it != Format::Uri);
    of_texts || WIDTHS.iter().any(|(name, _)| *name == format) || format == "byte"
}

/// `format: byte` as a pattern (RFC 4648, section 4).
const BASE64: &str = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

pub(super) fn integer(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &INTEGER)?;
    let width = format(reader, &place, WIDTHS).unwrap_or(Width::I64);
    let bounds = bounds::read(reader, &place, &bounds::whole(width))?;
    let bounds = bounds::beyond(width, bounds);
    Some(Kind::Integer { width, bounds })
}

pub(super) fn number(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &NUMBER)?;
    reader.text(&place, "format");
    let bounds = bounds::read(reader, &place, &bounds::decimal)?;
    Some(Kind::Number { bounds })
}

pub(super) fn string(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    let place = reader.object(place.clone(), &STRING)?;
    // OpenAPI 3.0 has no null type; schemars and dropshot write it like this.
    let only_null = Value::Array(vec![Value::Null]);
    if place.value.get("enum") == Some(&only_null) {
        if let Some(nullable) = place.get("nullable") {
            reader.refuse(
                &nullable.pointer,
                "`nullable` stands beside an enumeration whose only value is null",
                "remove `nullable`: the enumeration says it",
            );
        }
        return Some(Kind::Null);
    }
    let format = format(reader, &place, FORMATS);
    let (min_length, max_length) = (
        reader.count(&place, "minLength"),
        reader.count(&place, "maxLength"),
    );
    check_range(reader, &place.pointer, "Length", min_length, max_length);
    let is_base64 = place.value.get("format").is_some_and(|it| it == "byte");
    let written = reader.text(&place, "pattern");
    if is_base64 && written.is_some() {
        reader.refuse_limit(
            &place.pointer.child("pattern"),
            place.pointer.child("format"),
            "a pattern beside `format: byte`, which is a pattern itself, is not understood",
            "remove one of the two",
        );
    }
    let pattern = written.or_else(|| is_base64.then(|| BASE64.to_owned()));
    if let Some(error) = pattern
        .as_deref()
        .and_then(|it| regress::Regex::new(it).err())
    {
        reader.refuse_limit(
            &place.pointer.child("pattern"),
            place.pointer.child("pattern"),
            format!("the pattern does not compile: {error}"),
            "write a regular expression of ECMA-262",
        );
        return None;
    }
    // The only other matcher could take forever on input from a caller.
    let linear = pattern.as_deref().and_then(linear::translated);
    if linear.is_some_and(|it| regex::Regex::new(&it).is_err()) {
        reader.refuse_limit(
            &place.pointer.child("pattern"),
            place.pointer.child("pattern"),
            "the pattern is too large to be matched in a time that grows with the text alone",
            "repeat less in it, or limit the text by `maxLength` instead",
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

/// The `format`, if it is a known one. Any other is only documentation (OpenAPI 3.0.3, "Data Types").
fn format<T: Copy>(reader: &Reader<'_>, place: &Place<'_>, known: &[(&str, T)]) -> Option<T> {
    let format = reader.text(place, "format")?;
    let found = known.iter().find(|(name, _)| *name == format);
    found.map(|(_, format)| *format)
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
    if !matches!(text.format, None | Some(Format::Uri)) {
        reader.refuse_limit(
            &member.pointer,
            place.pointer.child("format"),
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

/// Refuses an empty range.
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
