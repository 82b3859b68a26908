//! A member of an object that can be absent, null, or a value.
//!
//! A change request needs all three: `{}` leaves a description alone, `{"description": null}` clears
//! it, `{"description": "…"}` sets it. `Option<T>` has only two states, so optional members that may
//! be null are [`Field`]s.
//!
//! This file depends only on `std` and `serde`, and names nothing else: the generated client contains
//! a copy of it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

/// A member of an object: absent, null, or a value.
///
/// ```
#[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
///
/// #[derive(Default, serde::Serialize, serde::Deserialize)]
/// struct Change {
///     #[serde(default, skip_serializing_if = "Field::is_absent")]
///     description: Field<String>,
/// }
///
/// let write = |description| serde_json::to_string(&Change { description });
/// assert_eq!(write(Field::Absent)?, "{}");
/// assert_eq!(write(Field::Null)?, r#"{"description":null}"#);
/// assert_eq!(write("new".to_owned().into())?, r#"{"description":"new"}"#);
///
/// let read: Change = serde_json::from_str(r#"{"description":null}"#)?;
/// assert_eq!(read.description, Field::Null);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field<T> {
    /// The member is absent: its value is left alone.
    #[default]
    Absent,
    /// The member is `null`: its value is cleared.
    Null,
    /// The member has this value.
    Value(T),
}

impl<T> Field<T> {
    /// Returns whether the member is absent. The condition for `skip_serializing_if`.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
    ///
    /// assert!(Field::<u8>::default().is_absent());
    /// assert!(!Field::<u8>::Null.is_absent());
    /// ```
    pub const fn is_absent(&self) -> bool {
        matches!(self, Field::Absent)
    }

    /// Returns whether the member is `null`.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
    ///
    /// assert!(Field::<u8>::Null.is_null());
    /// ```
    pub const fn is_null(&self) -> bool {
        matches!(self, Field::Null)
    }

    /// Returns a field that borrows from this one.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
    ///
    /// let field = Field::Value("name".to_owned());
    /// assert_eq!(field.as_ref().map(String::len), Field::Value(4));
    /// ```
    pub const fn as_ref(&self) -> Field<&T> {
        match self {
            Field::Absent => Field::Absent,
            Field::Null => Field::Null,
            Field::Value(value) => Field::Value(value),
        }
    }

    /// Applies a function to the value, if there is one.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
    ///
    /// assert_eq!(Field::Value(2).map(|value| value * 2), Field::Value(4));
    /// assert_eq!(Field::Null.map(|value: i32| value * 2), Field::Null);
    /// ```
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Field<U> {
        match self {
            Field::Absent => Field::Absent,
            Field::Null => Field::Null,
            Field::Value(value) => Field::Value(change(value)),
        }
    }

    /// Returns the value, if there is one: absent and null become the same.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
    ///
    /// assert_eq!(Field::Value(1).into_option(), Some(1));
    /// assert_eq!(Field::<i32>::Null.into_option(), None);
    /// ```
    pub fn into_option(self) -> Option<T> {
        match self {
            Field::Absent | Field::Null => None,
            Field::Value(value) => Some(value),
        }
    }

    /// Applies a change to the current value: absent keeps it, anything else replaces it.
    ///
    /// ```
    #[doc = concat!("use ", env!("CARGO_CRATE_NAME"), "::Field;")]
    ///
    /// assert_eq!(Field::Absent.apply_to(Some(1)), Some(1));
    /// assert_eq!(Field::Null.apply_to(Some(1)), None);
    /// assert_eq!(Field::Value(2).apply_to(Some(1)), Some(2));
    /// ```
    pub fn apply_to(self, current: Option<T>) -> Option<T> {
        match self {
            Field::Absent => current,
            Field::Null => None,
            Field::Value(value) => Some(value),
        }
    }
}

impl<T> From<T> for Field<T> {
    fn from(value: T) -> Field<T> {
        Field::Value(value)
    }
}

impl<T> From<Option<T>> for Field<T> {
    /// `None` becomes [`Field::Null`]: an option states what the value shall be. To leave a member
    /// out, use [`Field::Absent`].
    fn from(value: Option<T>) -> Field<T> {
        value.map_or(Field::Null, Field::Value)
    }
}

impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            // Writing null here would turn "leave it" into "clear it".
            Field::Absent => Err(ser::Error::custom(
                "an absent field needs #[serde(skip_serializing_if = \"Field::is_absent\")]",
            )),
            Field::Null => serializer.serialize_none(),
            Field::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field<T>, D::Error> {
        Option::deserialize(deserializer).map(Field::from)
    }
}
