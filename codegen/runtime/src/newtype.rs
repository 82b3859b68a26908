//! Macros for what the newtypes of generated modules have in common.
//!
//! A document may have hundreds of texts and numbers with limits. A generated module writes out only what is specific to
//! each, and calls one of these macros for the rest, which is then written and reviewed once. They use
//! `self::error::ConversionError` of the calling module.
//!
//! This file names nothing of its crate: the generated client contains a copy of it.

/// Implements what a newtype with `FromStr` has: `Deref` to the inner value, `From` the newtype for that, and `TryFrom`
/// texts.
#[macro_export]
macro_rules! impl_conversions {
    ($name:ident($inner:ty)) => {
        impl ::std::ops::Deref for $name {
            type Target = $inner;
            fn deref(&self) -> &$inner {
                &self.0
            }
        }
        impl ::std::convert::From<$name> for $inner {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl ::std::convert::TryFrom<&str> for $name {
            type Error = self::error::ConversionError;
            fn try_from(value: &str) -> ::std::result::Result<Self, self::error::ConversionError> {
                value.parse()
            }
        }
        impl ::std::convert::TryFrom<::std::string::String> for $name {
            type Error = self::error::ConversionError;
            fn try_from(
                value: ::std::string::String,
            ) -> ::std::result::Result<Self, self::error::ConversionError> {
                value.parse()
            }
        }
    };
}

/// Implements what a newtype over a number has besides `TryFrom` for that number, which checks it: `TryFrom` other numbers,
/// `FromStr`, `Display` and `Deserialize`.
#[macro_export]
macro_rules! impl_number {
    ($name:ident($inner:ty) from $($other:ty)+) => {
        $(
            impl ::std::convert::TryFrom<$other> for $name {
                type Error = self::error::ConversionError;
                fn try_from(
                    value: $other,
                ) -> ::std::result::Result<Self, self::error::ConversionError> {
                    let value = <$inner>::try_from(value)
                        .map_err(|_| ::std::format!("{value} does not fit"))?;
                    Self::try_from(value)
                }
            }
        )+
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
        impl ::std::str::FromStr for $name {
            type Err = self::error::ConversionError;
            fn from_str(value: &str) -> ::std::result::Result<Self, self::error::ConversionError> {
                let value: $inner = value
                    .parse()
                    .map_err(|e| ::std::format!("{value:?}: {e}"))?;
                Self::try_from(value)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                let value: $inner = ::serde::Deserialize::deserialize(deserializer)?;
                Self::try_from(value).map_err(<D::Error as ::serde::de::Error>::custom)
            }
        }
    };
}

/// Implements what lets a newtype over a `String` be read as a `str`: `Deref`, `AsRef`, `Borrow`, `as_str`, and comparison
/// with texts from either side. Its `Hash`, `Eq` and `Ord` must be those of the `String`, as `Borrow` requires.
#[macro_export]
macro_rules! impl_text {
    ($name:ident) => {
        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl ::std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }
        impl ::std::convert::AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl ::std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl ::std::cmp::PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == *other
            }
        }
        impl ::std::cmp::PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == **other
            }
        }
        impl ::std::cmp::PartialEq<::std::string::String> for $name {
            fn eq(&self, other: &::std::string::String) -> bool {
                self.0 == *other
            }
        }
        impl ::std::cmp::PartialEq<$name> for str {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }
        impl ::std::cmp::PartialEq<$name> for &str {
            fn eq(&self, other: &$name) -> bool {
                **self == other.0
            }
        }
        impl ::std::cmp::PartialEq<$name> for ::std::string::String {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }
    };
}

/// Implements the conversions into a newtype over a `String` whose `check` tells whether a text is valid: `FromStr` and
/// `TryFrom<&str>`, which copy the text, `TryFrom<String>` and `Deserialize`, which move it.
#[macro_export]
macro_rules! impl_checked_text {
    ($name:ident) => {
        impl ::std::str::FromStr for $name {
            type Err = self::error::ConversionError;
            fn from_str(value: &str) -> ::std::result::Result<Self, self::error::ConversionError> {
                Self::check(value)?;
                Ok(Self(value.to_owned()))
            }
        }
        impl ::std::convert::TryFrom<&str> for $name {
            type Error = self::error::ConversionError;
            fn try_from(value: &str) -> ::std::result::Result<Self, self::error::ConversionError> {
                value.parse()
            }
        }
        impl ::std::convert::TryFrom<::std::string::String> for $name {
            type Error = self::error::ConversionError;
            fn try_from(
                value: ::std::string::String,
            ) -> ::std::result::Result<Self, self::error::ConversionError> {
                Self::check(&value)?;
                Ok(Self(value))
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> ::std::result::Result<Self, D::Error>
            where
                D: ::serde::Deserializer<'de>,
            {
                <::std::string::String as ::serde::Deserialize>::deserialize(deserializer)?
                    .try_into()
                    .map_err(|e: self::error::ConversionError| {
                        <D::Error as ::serde::de::Error>::custom(e)
                    })
            }
        }
    };
}

// A client exports no macros: its modules import them from here. Not every document uses each.
#[allow(unused_imports)]
pub(crate) use {impl_checked_text, impl_conversions, impl_number, impl_text};
