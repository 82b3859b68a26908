//! Limits that no type enforces: multiples and enumerated values of numbers, and how many members an
//! object has.

use serde_json::Value;

use crate::model::{Kind, Limit};

use super::bounds;
use super::multiple::is_multiple;
use super::reader::{Place, Reader};
use super::scalar::check_range;

/// Reads the limits beside a schema of this kind.
pub(super) fn read(reader: &Reader<'_>, place: &Place<'_>, kind: &Kind) -> Vec<Limit> {
    let mut limits = Vec::new();
    match kind {
        Kind::Integer { width, .. } => {
            limits.extend(multiple_of(reader, place));
            let whole = bounds::whole(*width);
            limits.extend(values(reader, place, &|it| whole(it.as_number()?)));
        }
        Kind::Number { .. } => {
            limits.extend(multiple_of(reader, place));
            limits.extend(values(reader, place, &|it| {
                bounds::decimal(it.as_number()?)
            }));
        }
        Kind::Boolean => {
            limits.extend(values(reader, place, &|it| {
                it.as_bool().map(|it| it.to_string())
            }));
        }
        Kind::Object { .. } | Kind::Map(_) => {
            let least = reader.count(place, "minProperties");
            let most = reader.count(place, "maxProperties");
            check_range(reader, &place.pointer, "Properties", least, most);
            limits.extend(least.map(Limit::MinProperties));
            limits.extend(most.map(Limit::MaxProperties));
        }
        _ => {}
    }
    limits
}

fn multiple_of(reader: &Reader<'_>, place: &Place<'_>) -> Option<Limit> {
    let member = place.get("multipleOf")?;
    let number = reader.expect(&member, "a number", Value::as_number)?;
    let literal = bounds::decimal(number).filter(|_| number.as_f64().is_some_and(|it| it > 0.0));
    if literal.is_none() {
        reader.refuse_limit(
            &member.pointer,
            member.pointer.clone(),
            format!("`{number}` is not a number above 0 of at most 15 digits"),
            "write one that is",
        );
    }
    literal.map(Limit::MultipleOf)
}

/// Reads the `enum` of a schema that is not text.
fn values(
    reader: &Reader<'_>,
    place: &Place<'_>,
    literal: &dyn Fn(&Value) -> Option<String>,
) -> Option<Limit> {
    let member = place.get("enum")?;
    let list = reader.expect(&member, "a list", Value::as_array)?;
    if reader.flag(place, "nullable") != list.contains(&Value::Null) {
        reader.refuse(
            &member.pointer,
            "the enumeration and `nullable` do not agree about null",
            "write both `nullable: true` and the value `null`, or neither",
        );
    }
    let mut values = Vec::new();
    for item in member.items().filter(|it| !it.value.is_null()) {
        match literal(item.value) {
            Some(value) => values.push(value),
            None => reader.refuse(
                &item.pointer,
                format!("`{}` is no value of this type that every tool holds exactly", item.value),
                "write one of the type; a whole number within the format and 2^53 - 1, or one of at most 15 digits",
            ),
        }
    }
    if list.is_empty() {
        reader.refuse(
            &member.pointer,
            "the enumeration has no values",
            "write them",
        );
    }
    Some(Limit::Values(values))
}

/// Returns what is wrong with a value that these limits apply to.
pub(super) fn fault(limits: &[Limit], value: &Value) -> Option<&'static str> {
    limits.iter().find_map(|limit| match limit {
        Limit::MultipleOf(of) => {
            let literal = bounds::decimal(value.as_number()?);
            let is_good = literal.is_some_and(|it| is_multiple(&it, of));
            (!is_good).then_some("it is not a multiple of `multipleOf`")
        }
        Limit::Values(values) => {
            let literal = value.as_number().and_then(bounds::decimal);
            let literal = literal.unwrap_or_else(|| value.to_string());
            (!values.contains(&literal)).then_some("it is not in `enum`")
        }
        Limit::MinProperties(least) => {
            let count = value.as_object()?.len() as u64;
            (count < *least).then_some("it has fewer members than `minProperties`")
        }
        Limit::MaxProperties(most) => {
            let count = value.as_object()?.len() as u64;
            (count > *most).then_some("it has more members than `maxProperties`")
        }
    })
}
