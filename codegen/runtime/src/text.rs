//! How enumerations are read from their texts, and how alternatives are told by one.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, MapAccess, Visitor};

use crate::object::Members;

/// The text that an object has as the member of this name, which tells what it is.
///
/// # Errors
/// When it has none, or something else.
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
/// When the value is no text, or none of the enumeration.
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
    use serde::de::MapAccess;
    use serde::{Deserialize, Deserializer};

    use crate::{Members, Object, object, tag, text};

    #[derive(Debug, PartialEq)]
    struct Pair<const IS_CLOSED: bool> {
        one: u8,
        other: Option<Flag>,
    }

    impl<'de, const IS_CLOSED: bool> Object<'de> for Pair<IS_CLOSED> {
        const MEMBERS: &'static [&'static str] = &["one", "an other"];
        const IS_CLOSED: bool = IS_CLOSED;

        fn of<A: MapAccess<'de>>(mut members: Members<A>) -> Result<Self, A::Error> {
            let (mut one, mut other) = (None, None);
            while let Some(at) = members.next()? {
                match at {
                    0 => members.read(&mut one)?,
                    _ => members.read(&mut other)?,
                }
            }
            Ok(Pair {
                one: members.required(one, 0)?,
                other,
            })
        }
    }

    impl<'de, const IS_CLOSED: bool> Deserialize<'de> for Pair<IS_CLOSED> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            object(deserializer)
        }
    }

    #[derive(Debug, PartialEq)]
    struct Flag(bool);

    impl std::str::FromStr for Flag {
        type Err = std::str::ParseBoolError;

        fn from_str(text: &str) -> Result<Flag, Self::Err> {
            text.parse().map(Flag)
        }
    }

    impl<'de> Deserialize<'de> for Flag {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
            text(deserializer)
        }
    }

    /// The value, or the error without its place.
    fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, String> {
        serde_json::from_str(text).map_err(|error| {
            let told = error.to_string();
            told.rsplit_once(" at line")
                .map_or(told.clone(), |it| it.0.to_owned())
        })
    }

    #[test]
    fn members_are_read_in_any_order_and_others_are_skipped_or_refused() {
        let both = Pair::<false> {
            one: 1,
            other: Some(Flag(true)),
        };
        assert_eq!(read(r#"{"one":1,"an other":"true"}"#), Ok(both));
        let both = Pair::<false> {
            one: 1,
            other: Some(Flag(true)),
        };
        let turned = r#"{"x":[{"one":2}],"an other":"true","y":null,"one":1}"#;
        assert_eq!(read(turned), Ok(both));
        assert_eq!(
            read(r#"{"one":1}"#),
            Ok(Pair::<true> {
                one: 1,
                other: None
            })
        );
        let refused = read::<Pair<true>>(turned).unwrap_err();
        assert_eq!(refused, "unknown field `x`, expected `one` or `an other`");
    }

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

    #[test]
    fn what_does_not_fit_is_told() {
        let refused = |text| read::<Pair<false>>(text).unwrap_err();
        assert_eq!(refused("{}"), "missing field `one`");
        assert_eq!(refused(r#"{"one":1,"one":1}"#), "duplicate field `one`");
        let number = "invalid type: integer `1`, expected a string";
        assert_eq!(refused(r#"{"one":1,"an other":1}"#), number);
        let text = "provided string was not `true` or `false`";
        assert_eq!(refused(r#"{"one":1,"an other":"1"}"#), text);
        assert_eq!(
            refused("[1,\"true\"]"),
            "invalid type: sequence, expected an object"
        );
    }
}
