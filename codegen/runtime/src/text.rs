//! Reads enumerations from their texts, and the tags that tell alternatives apart.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, MapAccess, Visitor};

use crate::object::Members;

/// Reads the text of the member with this name in an object, which determines the object's type.
///
/// # Errors
/// If there is none, or it is something else.
pub fn tag(json: &str, name: &'static [&'static str; 1]) -> Result<String, serde_json::Error> {
    serde_json::Deserializer::from_str(json).deserialize_struct("object", name, Tag(name))
}

struct Tag(&'static [&'static str; 1]);

impl<'de> Visitor<'de> for Tag {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<String, A::Error> {
        let mut members = Members::new(map, self.0, false);
        let mut text = None;
        while members.next()?.is_some() {
            members.read(&mut text)?;
        }
        members.required(text, 0)
    }
}

/// Reads a value of an enumeration from its text.
///
/// # Errors
/// If the value is not text, or not in the enumeration.
pub fn text<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(Text(PhantomData))
}

struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err: Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::tag;

    #[test]
    fn a_tag_is_found_wherever_it_stands() {
        let read = |text| tag(text, &["kind"]).map_err(|error| error.to_string());
        assert_eq!(
            read(r#"{"x":{"kind":1},"kind":"a\n"}"#),
            Ok("a\n".to_owned())
        );
        for text in ["{}", "[]", r#"{"kind":1}"#, r#"{"kind":"a","kind":"b"}"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
