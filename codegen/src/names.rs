//! How the names of a document become Rust names.
//!
//! typify and progenitor have rules of their own for this; these are the same. They are restated because the server's glue
//! needs them too, and because two names of a document that become one Rust name must be refused when the document is read,
//! not by the compiler. [`is_plain`] accepts only names for which the rules cannot differ.

use std::collections::{HashMap, HashSet};

use heck::{ToPascalCase, ToSnakeCase};

/// Returns the Rust type for this name: `share-link` and `shareLink` become `ShareLink`.
#[must_use]
pub fn of_type(name: &str) -> String {
    escape(name.to_pascal_case())
}

/// Returns the Rust function, field or module for this name: `unitPrice` becomes `unit_price`, `type` becomes `type_`.
#[must_use]
pub fn value(name: &str) -> String {
    escape(name.to_snake_case())
}

/// Returns the Rust fields for the properties of an object, in order: [`value`] applied to the result of [`plain`]. If two
/// become the same, the later gets `_2`, or the next number that is free.
#[must_use]
pub fn fields<'n>(properties: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let names = properties.into_iter().map(|it| plain(it).to_snake_case());
    distinct(names.collect(), "_")
        .into_iter()
        .map(escape)
        .collect()
}

/// Returns the Rust variants for the values of an enumeration, in order: [`of_type`] applied to the result of [`plain`]. If
/// two become the same, the later gets `2`, or the next number that is free.
#[must_use]
pub fn variants<'n>(values: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let names = values.into_iter().map(|it| plain(it).to_pascal_case());
    let names = distinct(names.collect(), "").into_iter();
    // The only reserved word in this case.
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
        // Numbers tried before are not tried again, so many names that are the same take no longer.
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

/// Returns the words of a name that is not valid in Rust: characters other than A-Z, a-z and digits separate words, but a
/// leading `+` or `-` is a word. If the result would not start with a letter, an `x` is put in front.
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

/// Returns the name of an inline schema: the name of what contains it, followed by its part in that. `Crate` and `unitPrice`
/// make `CrateUnitPrice`.
#[must_use]
pub fn part(whole: &str, part: &str) -> String {
    whole.to_pascal_case() + &part.to_pascal_case()
}

/// Returns whether the name starts with an ASCII letter, and continues with letters, digits and single `_`, `-` or `.`
/// between them. Such a name is also a token of HTTP (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .split(['_', '-', '.'])
            .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Returns whether the name is plain, or would be with a single `-` in place of whatever separates its words:
/// `find pet by id`, `pets/list`. Rust names do not distinguish these.
#[must_use]
pub fn is_phrase(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let words: Vec<_> = name
        .split(|c| !is_word(c))
        .filter(|it| !it.is_empty())
        .collect();
    name.starts_with(is_word) && name.is_ascii() && is_plain(&words.join("-"))
}

/// Rust's reserved words (Reference, "Keywords", strict and reserved), which cannot name a type, a function or a field.
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
            // The first is a keyword only since edition 2024, the second only in some places.
            assert!(!is_name || ["gen", "macro"].contains(&word), "{word}");
            assert!(escape(word.to_owned()).ends_with('_'), "{word}");
        }
        assert_eq!(value("union"), "union");
    }
}
