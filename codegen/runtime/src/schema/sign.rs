//! What tells the alternatives of a `oneOf` apart: a look at the value, at most at its members' names.

use std::fmt;

use super::Sign;
use super::check::MAX_NAMED;
use crate::json::Value;

impl Sign {
    /// Whether the value has this sign.
    pub(super) fn is_on(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Sign::Text(texts), Value::String(text)) => texts.contains(&text.as_ref()),
            (Sign::Member(member), Value::Object(members)) => {
                members.iter().any(|(name, _)| name == member)
            }
            (Sign::String, Value::String(_))
            | (Sign::Number, Value::Number(_))
            | (Sign::Boolean, Value::Boolean(_))
            | (Sign::Array, Value::Array(_))
            | (Sign::Object, Value::Object(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sign::Text(texts) => {
                let named = &texts[..texts.len().min(MAX_NAMED)];
                let more = if named.len() < texts.len() {
                    ", ..."
                } else {
                    ""
                };
                write!(f, "one of {}{more}", named.join(", "))
            }
            Sign::String => f.write_str("a string"),
            Sign::Number => f.write_str("a number"),
            Sign::Boolean => f.write_str("a boolean"),
            Sign::Array => f.write_str("an array"),
            Sign::Object => f.write_str("an object"),
            Sign::Member(member) => write!(f, "an object with {member}"),
            Sign::Fits { alone: true } => f.write_str("one of several alternatives"),
            Sign::Fits { alone: false } => f.write_str("any of several alternatives"),
        }
    }
}
