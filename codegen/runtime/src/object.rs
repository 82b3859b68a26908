//! Reads objects from their members.
//!
//! serde's derive writes more than a hundred lines per type: a type for the names of members, and ways to read it from
//! a list, from numbers and from bytes, none of which a document describes. Compiling these took two fifths of the
//! time of a server's module. The generator writes the few lines in which types differ, and the code here does the
//! rest. Also, serde's `flatten` reads the other members from a buffer that cannot hold an exact decimal.
//!
//! This file depends only on `serde`, and names nothing else: the generated client contains a copy of it, if it has
//! objects that keep their other members.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

/// A type that is read from the members of an object. The generator implements it.
pub trait Object<'de>: Sized {
    /// The names of the members, as sent.
    const MEMBERS: &'static [&'static str];
    /// Whether an object with other members is refused.
    const IS_CLOSED: bool;
    /// Whether other members are kept: [`Members::next`] returns the number of names as the index of these.
    const KEEPS_OTHERS: bool = false;

    /// Reads all members.
    ///
    /// # Errors
    /// If a member does not fit, or is missing.
    fn of<A: MapAccess<'de>>(members: Members<A>) -> Result<Self, A::Error>;
}

/// The members that remain to be read.
pub struct Members<A> {
    map: A,
    names: &'static [&'static str],
    is_closed: bool,
    keeps_others: bool,
    /// The index of the name that was read last.
    at: usize,
    /// The name of the member that was read last, if it is another member to be kept.
    other: String,
}

impl<'de, A: MapAccess<'de>> Members<A> {
    /// Creates the members of a type that keeps no others.
    pub(crate) fn new(map: A, names: &'static [&'static str], is_closed: bool) -> Members<A> {
        Members {
            map,
            names,
            is_closed,
            keeps_others: false,
            // Before the first name.
            at: usize::MAX,
            other: String::new(),
        }
    }

    /// Returns the index of the next name: [`read`](Members::read) then returns its value, or [`keep`](Members::keep)
    /// that of another member.
    ///
    /// # Errors
    /// If it is not an object, or has a member that is not allowed.
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

    /// Reads the value of the member that [`next`](Members::next) returned.
    ///
    /// # Errors
    /// If it does not fit, or occurs twice.
    pub fn read<T: Deserialize<'de>>(&mut self, value: &mut Option<T>) -> Result<(), A::Error> {
        if value.is_some() {
            return Err(A::Error::duplicate_field(self.names[self.at]));
        }
        *value = Some(self.map.next_value()?);
        Ok(())
    }

    /// Reads the value of another member, for which [`next`](Members::next) returned the index after all names.
    ///
    /// # Errors
    /// If it does not fit, or occurs twice.
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

    /// Returns the value of a required member, given the index of its name.
    ///
    /// # Errors
    /// If it is absent.
    pub fn required<T>(&self, value: Option<T>, at: usize) -> Result<T, A::Error> {
        value.ok_or_else(|| A::Error::missing_field(self.names[at]))
    }
}

/// Reads an object.
///
/// # Errors
/// If the value is not an object, or as for [`Object::of`].
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

/// Finds a name among the names of the members.
struct Name {
    names: &'static [&'static str],
    is_closed: bool,
    keeps_others: bool,
    expected: usize,
}

/// The result of looking up a name.
enum Named {
    /// The name with this index.
    Listed(usize),
    /// Another name, of a member that is kept.
    Kept(String),
    /// Another name.
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
