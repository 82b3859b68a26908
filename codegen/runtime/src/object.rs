//! How objects are read from their members.
//!
//! serde's derive writes more than a hundred lines for a type: a type of its own for the names of members, and ways to
//! read it from a list, from numbers and from bytes, none of which a document describes. Compiling them was two fifths
//! of what a server's module took. The generator writes the few lines in which types differ, and these do the rest.
//! Besides, what serde makes of `flatten` reads the other members from a buffer that holds no exact decimal.
//!
//! This file stands on `serde` alone, and names nothing else: the generated client contains a copy of it, where it has
//! objects that keep their other members.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

/// A type that is read from the members of an object. The generator implements it.
pub trait Object<'de>: Sized {
    /// The names of the members, as they are sent.
    const MEMBERS: &'static [&'static str];
    /// Whether an object with other members is refused.
    const IS_CLOSED: bool;
    /// Whether other members are kept: [`Members::next`] names them by the number behind those of the names.
    const KEEPS_OTHERS: bool = false;

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
    keeps_others: bool,
    /// Which of the names was read last.
    at: usize,
    /// The name of the member that was read last, if it is another one that is kept.
    other: String,
}

impl<'de, A: MapAccess<'de>> Members<A> {
    /// The members of a type that keeps no others.
    pub(crate) fn new(map: A, names: &'static [&'static str], is_closed: bool) -> Members<A> {
        Members {
            map,
            names,
            is_closed,
            keeps_others: false,
            // Before the first.
            at: usize::MAX,
            other: String::new(),
        }
    }

    /// Which of the names comes next: its value is asked for by [`read`](Members::read), that of another member by
    /// [`keep`](Members::keep).
    ///
    /// # Errors
    /// When the object is none, or has a member that it must not have.
    #[allow(clippy::should_implement_trait)] // What comes next may be an error of `A`.
    pub fn next(&mut self) -> Result<Option<usize>, A::Error> {
        while let Some(name) = self.map.next_key_seed(Name {
            names: self.names,
            is_closed: self.is_closed,
            keeps_others: self.keeps_others,
            // Most objects have their members in the document's order.
            expected: self.at.wrapping_add(1),
        })? {
            match name {
                Named::Listed(at) => {
                    self.at = at;
                    return Ok(Some(at));
                }
                Named::Kept(name) => {
                    self.other = name;
                    return Ok(Some(self.names.len()));
                }
                Named::Ignored => drop(self.map.next_value::<IgnoredAny>()?),
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

    /// Reads the value of another member, which [`next`](Members::next) has named by no name of the type.
    ///
    /// # Errors
    /// When it does not fit, or has been there before.
    pub fn keep<T: Deserialize<'de>>(
        &mut self,
        others: &mut BTreeMap<String, T>,
    ) -> Result<(), A::Error> {
        let value = self.map.next_value()?;
        let name = std::mem::take(&mut self.other);
        if others.contains_key(&name) {
            return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
        }
        others.insert(name, value);
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
        let members = Members::new(map, T::MEMBERS, T::IS_CLOSED);
        T::of(Members {
            keeps_others: T::KEEPS_OTHERS,
            ..members
        })
    }
}

/// Finds a name among those of the members.
struct Name {
    names: &'static [&'static str],
    is_closed: bool,
    keeps_others: bool,
    expected: usize,
}

/// What a name is.
enum Named {
    /// The one of this number.
    Listed(usize),
    /// Another one, of a member that is kept.
    Kept(String),
    /// Another one.
    Ignored,
}

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Named;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Named, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Named, E> {
        if self.names.get(self.expected) == Some(&name) {
            return Ok(Named::Listed(self.expected));
        }
        match self.names.iter().position(|it| *it == name) {
            Some(at) => Ok(Named::Listed(at)),
            None if self.is_closed => Err(E::unknown_field(name, self.names)),
            None if self.keeps_others => Ok(Named::Kept(name.to_owned())),
            None => Ok(Named::Ignored),
        }
    }
}
