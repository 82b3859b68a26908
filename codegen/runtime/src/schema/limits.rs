//! Limits of numbers, booleans and objects that no type enforces.

use super::Limit;
use super::check::not_one_of;
use super::multiple::is_multiple;
use crate::decimal::{Decimal, Number};
use crate::json::Value;

impl Limit {
    /// Returns whether the value is within the limit. A value of another type, or a number beyond a
    /// reasonable size, is reported only as such, unless values are listed.
    pub(super) fn is_kept(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Limit::MultipleOf(of), Value::Number(literal)) => {
                Number::parse(literal).is_err() || is_multiple(literal, of)
            }
            (Limit::Values(values), value) => {
                let came = canonical(value);
                values.iter().any(|it| canonical(&listed(it)) == came)
            }
            (Limit::MinProperties(least), Value::Object(members)) => members.len() >= *least,
            (Limit::MaxProperties(most), Value::Object(members)) => members.len() <= *most,
            _ => true,
        }
    }

    /// Returns the keyword of the limit.
    pub(super) fn keyword(&self) -> &'static str {
        match self {
            Limit::MultipleOf(_) => "multipleOf",
            Limit::Values(_) => "enum",
            Limit::MinProperties(_) => "minProperties",
            Limit::MaxProperties(_) => "maxProperties",
        }
    }

    /// Returns the message for a value that violates it.
    pub(super) fn message(&self, value: &Value<'_>) -> String {
        let length = match value {
            Value::Object(members) => members.len(),
            _ => 0,
        };
        let came = match value {
            Value::Number(literal) if literal.len() <= Decimal::MAX_DIGITS => literal,
            other => other.kind(),
        };
        match self {
            Limit::MultipleOf(of) => format!("must be a multiple of {of}, but is {came}"),
            Limit::Values(values) => not_one_of(values, came),
            Limit::MinProperties(least) => {
                format!("must have at least {least} members, but has {length}")
            }
            Limit::MaxProperties(most) => {
                format!("must have at most {most} members, but has {length}")
            }
        }
    }
}

fn listed(literal: &'static str) -> Value<'static> {
    match literal {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        literal => Value::Number(literal),
    }
}

fn canonical(value: &Value<'_>) -> String {
    let mut text = String::new();
    value.write_canonical(&mut text);
    text
}
