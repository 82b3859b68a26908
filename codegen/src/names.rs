//! How the names of a document become Rust names.
//!
//! typify and progenitor have rules of their own for this, and these are the same. They are
//! restated because the server's glue needs them, too, and because two names of a document that
//! become one name of Rust are refused when the document is read, not by the compiler. [`is_plain`]
//! keeps to the names for which the rules cannot differ.

use std::collections::{HashMap, HashSet};

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

/// The fields of Rust for the properties of an object, in their order: [`value`] of what [`plain`] makes of
/// each. Where two become the same, `_2` follows the later, or the next number that is free.
#[must_use]
pub fn fields<'n>(properties: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let names = properties.into_iter().map(|it| plain(it).to_snake_case());
    distinct(names.collect(), "_")
        .into_iter()
        .map(escape)
        .collect()
}

/// The variants of Rust for the values of an enumeration, in their order: [`of_type`] of what [`plain`] makes of
/// each. Where two become the same, `2` follows the later, or the next number that is free.
#[must_use]
pub fn variants<'n>(values: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let names = values.into_iter().map(|it| plain(it).to_pascal_case());
    let names = distinct(names.collect(), "").into_iter();
    // The one word that Rust keeps to itself in this case.
    let names = names.map(|it| if it == "Self" { "Self_".to_owned() } else { it });
    names.collect()
}

fn distinct(names: Vec<String>, between: &str) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let all: HashSet<String> = names.iter().cloned().collect();
    let mut one = |name: String| {
        if taken.insert(name.clone()) {
            return name;
        }
        // Numbers that were tried before are not tried again, so that many of one name take no longer.
        let number = numbers.entry(name.clone()).or_insert(1);
        loop {
            *number += 1;
            let numbered = format!("{name}{between}{number}");
            if !all.contains(&numbered) && taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    };
    names.into_iter().map(&mut one).collect()
}

/// The words of a name that is none of Rust: what is neither a letter A-Z or a-z nor a digit is between words,
/// but a `+` or a `-` at the beginning is a word. Where no letter begins it, an `x` does.
#[must_use]
pub fn plain(name: &str) -> String {
    let (sign, rest) = match name.chars().next() {
        Some('+') => ("plus ", &name[1..]),
        Some('-') => ("minus ", &name[1..]),
        _ => ("", name),
    };
    let letter = |it: char| if it.is_ascii_alphanumeric() { it } else { ' ' };
    let words: String = sign.chars().chain(rest.chars().map(letter)).collect();
    let words = words.trim();
    match words.starts_with(|it: char| it.is_ascii_alphabetic()) {
        true => words.to_owned(),
        false => format!("x{words}"),
    }
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

/// The words that Rust keeps to itself (Reference, "Keywords", strict and reserved), for which a type, a function or a field
/// cannot be named.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

fn is_keyword(name: &str) -> bool {
    KEYWORDS.binary_search(&name).is_ok()
}

fn escape(name: String) -> String {
    if is_keyword(&name) { name + "_" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_none_that_syn_takes_for_a_name() {
        assert!(KEYWORDS.is_sorted(), "they are searched");
        for word in KEYWORDS {
            let is_name = syn::parse_str::<syn::Ident>(word).is_ok();
            // The first is one since edition 2024, the second in some places alone.
            assert!(!is_name || ["gen", "macro"].contains(&word), "{word}");
            assert!(escape(word.to_owned()).ends_with('_'), "{word}");
        }
        assert_eq!(value("union"), "union");
    }
}
