//! Rust values from a JSON value that was already parsed, so that a body is parsed once: checked, and then
//! deserialized.
//!
//! The result is that of `serde_json` for the same text. Raw text ([`RawValue`]), such as the literal of a decimal,
//! stays as it was written, except for spacing and escapes; `serde_json` requests it under a private name, as it
//! does of its own values.
//!
//! [`RawValue`]: serde_json::value::RawValue

use std::borrow::Cow;

use serde::de::value::{Error, MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserialize, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::Value;

/// The name under which a `RawValue` is requested, and also the name of the one member of the map that provides it.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl<'de> Value<'de> {
    /// Returns the value as a `T`.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn take<T: Deserialize<'de>>(&self) -> Result<T, Error> {
        T::deserialize(self)
    }
}

impl<'de> IntoDeserializer<'de, Error> for &Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The name of a member. It borrows from the text unless it contains an escape.
struct Name<'v, 'de>(&'v Cow<'de, str>);

impl<'de> IntoDeserializer<'de, Error> for Name<'_, 'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Name<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        text(self.0, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

fn text<'de, V: Visitor<'de>>(text: &Cow<'de, str>, visitor: V) -> Result<V::Value, Error> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_str(text),
    }
}

fn number<'de, V: Visitor<'de>>(literal: &str, visitor: V) -> Result<V::Value, Error> {
    if let Ok(number) = literal.parse::<u64>() {
        return visitor.visit_u64(number);
    }
    if let Ok(number) = literal.parse::<i64>() {
        return visitor.visit_i64(number);
    }
    let number: f64 = literal.parse().map_err(Error::custom)?;
    visitor.visit_f64(number)
}

fn members<'v, 'de>(
    members: &'v [(Cow<'de, str>, Value<'de>)],
) -> MapDeserializer<'de, impl Iterator<Item = (Name<'v, 'de>, &'v Value<'de>)>, Error> {
    MapDeserializer::new(members.iter().map(|(name, value)| (Name(name), value)))
}

impl<'de> Deserializer<'de> for &Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Number(literal) => number(literal, visitor),
            Value::String(value) => text(value, visitor),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Value::Object(all) => visitor.visit_map(members(all)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        let text = match self {
            Value::Number(literal) => Cow::Borrowed(*literal),
            // The alternatives of a union are read from its text, once it is known which applies.
            other => Cow::Owned(other.to_string()),
        };
        visitor.visit_map(MapDeserializer::new([(RAW_VALUE, text)].into_iter()))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::String(name) => visitor.visit_enum(name.as_ref().into_deserializer()),
            Value::Object(all) => visitor.visit_enum(MapAccessDeserializer::new(members(all))),
            _ => Err(Error::custom("not a variant")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use crate::json::parse;
    use crate::{Decimal, Field};

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Everything {
        text: String,
        lent: std::borrow::Cow<'static, str>,
        exact: Decimal,
        whole: i64,
        large: u64,
        share: f64,
        flag: bool,
        none: Option<String>,
        #[serde(default)]
        absent: Field<String>,
        #[serde(default)]
        null: Field<String>,
        list: Vec<Word>,
        map: BTreeMap<String, Decimal>,
        any: serde_json::Value,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    enum Word {
        #[serde(rename = "one")]
        One,
        Two {
            of: i32,
        },
    }

    #[test]
    fn a_value_is_taken_over_as_serde_json_reads_its_text() {
        let text = r#"{"text":"a\u00e9\n","lent":"b","exact":0.1000000000000000055511151231257827e-3,
            "whole":-9223372036854775808,"large":18446744073709551615,"share":1.5e3,"flag":true,"none":null,
            "null":null,"list":["one",{"Two":{"of":2}}],"map":{"x\ty":1e3,"z":-0.00},
            "any":[null,{"a":[1,-2,3.5,"s"]}]}"#;
        let read: Everything = serde_json::from_str(text).unwrap();
        let value = parse(text.as_bytes()).unwrap();
        let taken: Everything = value.take().unwrap();
        assert_eq!(taken, read);
        assert_eq!(taken.exact.as_str(), read.exact.as_str());
        assert_eq!(taken.map["x\ty"].as_str(), "1e3");
        assert_eq!((taken.absent, taken.null), (Field::Absent, Field::Null));
    }

    #[test]
    fn what_is_asked_for_as_text_keeps_numbers_and_the_order_of_members() {
        let text = r#"{"b": [1.10, -0.0, 1e400, true, null], "a\u0022": "\u00e9\n", "c": {}}"#;
        let value = parse(text.as_bytes()).unwrap();
        let raw: Box<serde_json::value::RawValue> = value.take().unwrap();
        let expected = "{\"b\":[1.10,-0.0,1e400,true,null],\"a\\\"\":\"é\\n\",\"c\":{}}";
        assert_eq!(raw.get(), expected);
        assert_eq!(parse(raw.get().as_bytes()).unwrap(), value);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for text in [r#"{"text":1}"#, "[]", "null", "3"] {
            let value = parse(text.as_bytes()).unwrap();
            assert!(value.take::<Everything>().is_err(), "{text}");
        }
        let value = parse(b"\"three\"").unwrap();
        assert!(value.take::<Word>().is_err());
        assert!(parse(b"300").unwrap().take::<u8>().is_err());
    }
}
