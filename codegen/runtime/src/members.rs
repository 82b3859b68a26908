//! How types are read: objects from their members, enumerations from their texts.
//!
//! serde's derive writes more than a hundred lines for a type: a type of its own for the names of members, and ways to
//! read it from a list, from numbers and from bytes, none of which a document describes. Compiling them was two fifths
//! of what a server's module took. The generator writes the few lines in which types differ, and these do the rest.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

/// A type that is read from the members of an object. The generator implements it.
pub trait Object<'de>: Sized {
    /// The names of the members, as they are sent.
    const MEMBERS: &'static [&'static str];
    /// Whether an object with other members is refused.
    const IS_CLOSED: bool;

    /// Reads all members.
    ///
    /// # Errors
    /// When a member does not fit, or is missing.
    fn of<A: MapAccess<'de>>(members: Members<A>) -> Result<Self, A::Error>;
}

/// The members that are left to read.
pub struct Members<A> {
    map: A,
    names: &'static [&'static str],
    is_closed: bool,
    /// Which of the names was read last.
    at: usize,
}

impl<'de, A: MapAccess<'de>> Members<A> {
    fn new(map: A, names: &'static [&'static str], is_closed: bool) -> Members<A> {
        Members {
            map,
            names,
            is_closed,
            // Before the first.
            at: usize::MAX,
        }
    }

    /// Which of the names comes next: its value is asked for by [`read`](Members::read).
    ///
    /// # Errors
    /// When the object is none, or has a member that it must not have.
    #[allow(clippy::should_implement_trait)] // What comes next may be an error of `A`.
    pub fn next(&mut self) -> Result<Option<usize>, A::Error> {
        while let Some(name) = self.map.next_key_seed(Name {
            names: self.names,
            is_closed: self.is_closed,
            // Most objects have their members in the document's order.
            expected: self.at.wrapping_add(1),
        })? {
            match name {
                Some(at) => {
                    self.at = at;
                    return Ok(Some(at));
                }
                None => drop(self.map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(None)
    }

    /// Reads the value of the member that [`next`](Members::next) named.
    ///
    /// # Errors
    /// When it does not fit, or has been there before.
    pub fn read<T: Deserialize<'de>>(&mut self, value: &mut Option<T>) -> Result<(), A::Error> {
        if value.is_some() {
            return Err(A::Error::duplicate_field(self.names[self.at]));
        }
        *value = Some(self.map.next_value()?);
        Ok(())
    }

    /// The value of a member that has to be there, by the place of its name.
    ///
    /// # Errors
    /// When it is not.
    pub fn required<T>(&self, value: Option<T>, at: usize) -> Result<T, A::Error> {
        value.ok_or_else(|| A::Error::missing_field(self.names[at]))
    }
}

/// Reads an object.
///
/// # Errors
/// When the value is none, or as [`Object::of`].
pub fn object<'de, T: Object<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_struct("object", T::MEMBERS, Whole(PhantomData))
}

struct Whole<T>(PhantomData<T>);

impl<'de, T: Object<'de>> Visitor<'de> for Whole<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::of(Members::new(map, T::MEMBERS, T::IS_CLOSED))
    }
}

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

/// Finds a name among those of the members.
struct Name {
    names: &'static [&'static str],
    is_closed: bool,
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Option<usize>, E> {
        if self.names.get(self.expected) == Some(&name) {
            return Ok(Some(self.expected));
        }
        let found = self.names.iter().position(|it| *it == name);
        match found.is_none() && self.is_closed {
            true => Err(E::unknown_field(name, self.names)),
            false => Ok(found),
        }
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

    use super::{Members, Object, object, tag, text};

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
