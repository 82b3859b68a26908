//! Reads YAML or JSON text into a JSON value, strictly.
//!
//! A document that starts with `{` is JSON, any other is YAML. Both refuse duplicate members,
//! because it is unclear which of them counts; and both stop at a depth and size that no honest
//! document reaches, because the rest of the generator recurses and copies.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The longest text that is read, in bytes: far more than any document that people write.
const MAX_LENGTH: usize = 16 * 1024 * 1024;

/// What the YAML library advises its user, who is not the author of the document.
const HINT: &str = ", set DuplicateKeyPolicy in Options if acceptable";

/// Reads a document. The error describes the problem in one line.
pub(super) fn read(text: &str) -> Result<Value, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("the text is longer than {MAX_LENGTH} bytes"));
    }
    if text.trim_start().starts_with('{') {
        let read: Result<Unique, _> = serde_json::from_str(text);
        return read.map(|unique| unique.0).map_err(|e| e.to_string());
    }
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    };
    let read: Result<Unique, _> = serde_saphyr::from_str_with_options(text, options);
    read.map(|unique| unique.0).map_err(|error| {
        let text = error.to_string().replace(HINT, "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

/// A value in which no object has a member twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number that JSON does not have"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Unique(value) = members.next_value()?;
            if object.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format_args!(
                    "the member `{name}` occurs twice"
                )));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn yaml_and_json_read_alike() {
        let value = json!({"a": [1, -2, 0.5, true, null, "x"], "200": {"b": "no"}});
        assert_eq!(
            read("a: [1, -2, 0.5, true, ~, x]\n200:\n  b: no\n"),
            Ok(value.clone())
        );
        assert_eq!(read(&value.to_string()), Ok(value));
    }

    #[test]
    fn a_member_that_occurs_twice_is_refused() {
        let error = read("a: 1\na: 2\n").unwrap_err();
        assert_eq!(error, "duplicate mapping key: a at line 2, column 1");
        assert!(read(r#"{"a": 1, "a": 2}"#).is_err_and(|e| e.contains("occurs twice")));
    }

    #[test]
    fn what_json_does_not_have_is_refused() {
        for text in [
            "a: .nan",
            "a: .inf",
            "a: 1e999",
            "a: !mine 1",
            "<<: {a: 1}",
            "? [a]\n: 1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_and_aliases_are_bounded() {
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&"{\"a\":".repeat(100_000)).is_err());
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &format!("a{level}: &a{level} [{aliases}]\n");
        }
        assert!(read(&bomb).is_err());
    }
}
