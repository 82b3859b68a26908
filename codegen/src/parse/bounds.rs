//! `minimum` and `maximum`, exactly.
//!
//! Documents are read through binary floating point, in which dropshot and schemars also hold
//! bounds. So only numbers that survive this are accepted: a rounded limit is a different limit.

use serde_json::{Number, Value};

use crate::model::{Bound, Bounds, Width};

use super::reader::{Place, Reader};

/// The largest whole number such that `f64` represents all up to it: 2^53 - 1.
const MAX_EXACT: i64 = 9_007_199_254_740_991;

/// The number of digits of a decimal that always survive `f64`.
const MAX_DIGITS: usize = 15;

/// Which numbers are exact, as decimal literals without exponent.
type Exact<'a> = &'a dyn Fn(&Number) -> Option<String>;

/// A whole number of this width.
pub(super) fn whole(width: Width) -> impl Fn(&Number) -> Option<String> {
    move |number| {
        let value = number.as_i64()?;
        let (least, most) = width.range();
        let fits = (least..=most).contains(&i128::from(value));
        (fits && (-MAX_EXACT..=MAX_EXACT).contains(&value)).then(|| value.to_string())
    }
}

/// The bounds without those that the width implies: `minimum: 0` of an unsigned type.
pub(super) fn beyond(width: Width, bounds: Bounds) -> Bounds {
    let (least, most) = width.range();
    let implied = |bound: &Bound, end: i128| !bound.exclusive && bound.value == end.to_string();
    Bounds {
        minimum: bounds.minimum.filter(|it| !implied(it, least)),
        maximum: bounds.maximum.filter(|it| !implied(it, most)),
    }
}

/// A decimal.
pub(super) fn decimal(number: &Number) -> Option<String> {
    if number.is_i64() || number.is_u64() {
        return whole(Width::I64)(number);
    }
    // Displaying an `f64` gives the shortest decimal that reads back the same, without exponent.
    let literal = number.as_f64()?.to_string();
    let digits: String = literal.chars().filter(char::is_ascii_digit).collect();
    (digits.trim_matches('0').len() <= MAX_DIGITS && literal.len() <= 40).then_some(literal)
}

/// Reads the bounds of a schema. `None` if they were refused.
pub(super) fn read(reader: &Reader<'_>, place: &Place<'_>, exact: Exact<'_>) -> Option<Bounds> {
    let minimum = bound(reader, place, ["minimum", "exclusiveMinimum"], exact);
    let maximum = bound(reader, place, ["maximum", "exclusiveMaximum"], exact);
    let bounds = Bounds {
        minimum: minimum?,
        maximum: maximum?,
    };
    if let Bounds {
        minimum: Some(low),
        maximum: Some(high),
    } = &bounds
    {
        let (from, to) = (as_f64(low), as_f64(high));
        if from > to || (from == to && (low.exclusive || high.exclusive)) {
            reader.refuse(
                &place.pointer,
                "no value lies between `minimum` and `maximum`",
                "correct one of them",
            );
        }
    }
    Some(bounds)
}

#[allow(clippy::option_option)] // Refused, absent and there are three things.
fn bound(
    reader: &Reader<'_>,
    place: &Place<'_>,
    [keyword, exclusively]: [&str; 2],
    exact: Exact<'_>,
) -> Option<Option<Bound>> {
    if let Some(number) = place.get(exclusively).filter(|it| it.value.is_number()) {
        reader.refuse(
            &number.pointer,
            format!("a number as `{exclusively}` is of OpenAPI 3.1"),
            format!("write the number as `{keyword}`, and `{exclusively}: true`, in OpenAPI 3.0"),
        );
        return None;
    }
    let exclusive = reader.flag(place, exclusively);
    let Some(member) = place.get(keyword) else {
        if exclusive {
            reader.refuse(
                &place.pointer.child(exclusively),
                format!("`{exclusively}` says nothing without `{keyword}`"),
                format!("write `{keyword}`"),
            );
        }
        return Some(None);
    };
    let number = reader.expect(&member, "a number", Value::as_number)?;
    let Some(value) = exact(number) else {
        reader.refuse(
            &member.pointer,
            format!("`{number}` is not a number that every tool on the way holds exactly"),
            "write a whole number within the format, 2^53 - 1 at most either way, or for \
             `type: number` one of at most 15 digits",
        );
        return None;
    };
    Some(Some(Bound { value, exclusive }))
}

/// What is wrong with a number that these bounds apply to.
pub(super) fn fault(bounds: &Bounds, number: &Number) -> Option<&'static str> {
    let value = number.as_f64()?;
    let equal = |bound: &Bound| bound.exclusive && value == as_f64(bound);
    let below = |bound: &Bound| value < as_f64(bound) || equal(bound);
    let above = |bound: &Bound| value > as_f64(bound) || equal(bound);
    match bounds {
        Bounds {
            minimum: Some(bound),
            ..
        } if below(bound) => Some("it is below `minimum`"),
        Bounds {
            maximum: Some(bound),
            ..
        } if above(bound) => Some("it is above `maximum`"),
        _ => None,
    }
}

/// Exact enough to compare values that [`Exact`] accepted.
fn as_f64(bound: &Bound) -> f64 {
    // A bound is a decimal literal, which always parses.
    bound.value.parse().unwrap_or(f64::NAN)
}
