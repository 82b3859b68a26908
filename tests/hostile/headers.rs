//! Headers that keep answers where they belong.
