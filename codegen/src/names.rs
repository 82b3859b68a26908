//! How the names of a document become Rust names.
//!
//! typify and progenitor have rules of their own for this, and these are the same. They are
//! restated because the server's glue needs them, too, and because two names of a document that
//! become one name of Rust are refused when the document is read, not by the compiler. [`is_plain`]
//! keeps to the names for which the rules cannot differ.

use heck::{ToPascalCase, ToSnakeCase};

/// The Rust type for this name: `share-link` and `shareLink` become `ShareLink`.
#[must_use]
pub fn of_type(name: &str) -> String {
    escape(name.to_pascal_case())
}

/// The Rust function, field or module for this name: `unitPrice` becomes `unit_price`, `type`
/// becomes `type_`.
#[must_use]
pub fn value(name: &str) -> String {
    escape(name.to_snake_case())
}

/// The name of an inline schema: that of what it stands in, and the part that it is of it. `Crate` and
/// `unitPrice` make `CrateUnitPrice`.
#[must_use]
pub fn part(whole: &str, part: &str) -> String {
    whole.to_pascal_case() + &part.to_pascal_case()
}

/// Whether the name begins with an ASCII letter, and goes on with letters, digits and single `_`,
/// `-` or `.` between them. Such a name is also a token of HTTP (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .split(['_', '-', '.'])
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Whether the name is plain, or would be with one `-` for whatever else stands between its words: `find pet
/// by id`, `pets/list`. Rust's names do not tell these apart.
#[must_use]
pub fn is_phrase(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let words: Vec<_> = name
        .split(|c| !is_word(c))
        .filter(|it| !it.is_empty())
        .collect();
    name.starts_with(is_word) && name.is_ascii() && is_plain(&words.join("-"))
}

/// Whether Rust keeps this word to itself. `gen` is among them since edition 2024.
fn is_keyword(name: &str) -> bool {
    name == "gen" || name == "macro" || syn::parse_str::<syn::Ident>(name).is_err()
}

fn escape(name: String) -> String {
    if is_keyword(&name) { name + "_" } else { name }
}
