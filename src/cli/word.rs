//! Options whose value is one of a few words: listed in the help, completed by shells.

use std::fmt::Display;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::domain::string_enum::UnknownValue;

/// Accepts the word for any of these values.
pub(super) fn one_of<T>(all: &[T]) -> impl TypedValueParser<Value = T>
where
    T: Display + FromStr<Err = UnknownValue> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().map(ToString::to_string)).try_map(|word| word.parse::<T>())
}
