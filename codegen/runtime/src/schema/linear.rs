//! Translates ECMA-262 patterns for an engine that takes time in proportion to the text, whatever the text
//! is.
//!
//! A backtracking matcher may try every way to divide a text among nested repetitions: `^(a+)+$` takes
//! twice as long for each further `a`. The crate `regex` never does. Its syntax differs in places, so a
//! pattern is not passed to it but rewritten, symbol by symbol, using only what both agree on: literals,
//! classes, groups, alternatives, repetitions, and the two ends of the text. Whether there is a match does
//! not depend on which of several is preferred. Look-arounds, back-references and word boundaries are left
//! to a backtracking matcher.
//!
//! This file depends only on `std`: the generator also uses it to check defaults.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// What `.` does not match.
const LINE_ENDS: &str = r"\n\r\x{2028}\x{2029}";

/// What `\s` means (ECMA-262, section 12.2 and 12.3), as the inside of a class.
const SPACES: &str = r"\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

/// Returns the same pattern in the syntax of the crate `regex`; `None` for what that engine cannot do, or
/// what the two might not agree on.
pub(crate) fn translated(source: &str) -> Option<String> {
    let mut from = source.chars().peekable();
    let mut to = String::with_capacity(source.len() * 2);
    let mut open = 0_usize;
    // Whether a quantifier may follow.
    let mut repeatable = false;
    while let Some(symbol) = from.next() {
        repeatable = match symbol {
            '^' | '$' | '|' => {
                to.push(symbol);
                false
            }
            '(' => {
                if from.next_if_eq(&'?').is_some() {
                    from.next_if_eq(&':')?;
                }
                to.push_str("(?:");
                open += 1;
                false
            }
            ')' => {
                open = open.checked_sub(1)?;
                to.push(')');
                true
            }
            '[' => {
                class(&mut from, &mut to)?;
                true
            }
            '.' => {
                let _ = write!(to, "[^{LINE_ENDS}]");
                true
            }
            '\\' => {
                match escape(&mut from)? {
                    Escape::Character(character) => literal(character, &mut to),
                    Escape::Class { negated, inside } => {
                        let _ = write!(to, "[{}{inside}]", if negated { "^" } else { "" });
                    }
                }
                true
            }
            '*' | '+' | '?' | '{' if repeatable => {
                to.push(symbol);
                if symbol == '{' {
                    counts(&mut from, &mut to)?;
                }
                // Lazy or not, there is a match or there is none.
                from.next_if_eq(&'?');
                false
            }
            '*' | '+' | '?' | '{' | '}' | ']' => return None,
            character => {
                literal(character, &mut to);
                true
            }
        };
    }
    (open == 0).then_some(to)
}

/// The rest of `{2}`, `{2,}` or `{2,5}`.
fn counts(from: &mut Peekable<Chars<'_>>, to: &mut String) -> Option<()> {
    let mut inside = String::new();
    loop {
        match from.next()? {
            '}' => break,
            symbol @ ('0'..='9' | ',') => inside.push(symbol),
            _ => return None,
        }
    }
    let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
    let is_number = |text: &str| text.parse::<u32>().is_ok();
    if !is_number(least) || !(most.is_empty() || is_number(most)) {
        return None;
    }
    to.push_str(&inside);
    to.push('}');
    Some(())
}

/// The rest of a class.
fn class(from: &mut Peekable<Chars<'_>>, to: &mut String) -> Option<()> {
    to.push('[');
    if from.next_if_eq(&'^').is_some() {
        to.push('^');
    }
    // An empty class matches nothing, and its negation everything: the other engine has neither.
    if from.peek() == Some(&']') {
        return None;
    }
    while let Some(first) = member(from)? {
        let range = from.peek() == Some(&'-') && {
            let mut behind = from.clone();
            behind.next();
            behind.peek() != Some(&']')
        };
        match (first, range) {
            (Escape::Class { negated: true, .. }, _) | (Escape::Class { .. }, true) => return None,
            (Escape::Class { inside, .. }, false) => to.push_str(inside),
            (Escape::Character(only), false) => literal(only, to),
            (Escape::Character(low), true) => {
                from.next();
                let Some(Escape::Character(high)) = member(from)? else {
                    return None;
                };
                if low > high {
                    return None;
                }
                literal(low, to);
                to.push('-');
                literal(high, to);
            }
        }
    }
    to.push(']');
    Some(())
}

/// The next member of a class; `Some(None)` at its end. The outer `None` is a pattern that is not
/// translated.
#[allow(clippy::option_option)] // Not translated, at the end and a member are three things.
fn member(from: &mut Peekable<Chars<'_>>) -> Option<Option<Escape>> {
    Some(match from.next()? {
        ']' => None,
        '\\' => Some(escape(from)?),
        character => Some(Escape::Character(character)),
    })
}

/// The meaning of a backslash and what follows it.
enum Escape {
    Character(char),
    Class { negated: bool, inside: &'static str },
}

fn escape(from: &mut Peekable<Chars<'_>>) -> Option<Escape> {
    let class = |negated, inside| Some(Escape::Class { negated, inside });
    Some(Escape::Character(match from.next()? {
        'd' => return class(false, "0-9"),
        'D' => return class(true, "0-9"),
        'w' => return class(false, "0-9A-Za-z_"),
        'W' => return class(true, "0-9A-Za-z_"),
        's' => return class(false, SPACES),
        'S' => return class(true, SPACES),
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'f' => '\u{c}',
        'v' => '\u{b}',
        'x' => digits(from, 2)?,
        'u' => digits(from, 4)?,
        other if other.is_ascii_punctuation() => other,
        _ => return None,
    }))
}

/// The character with this many hexadecimal digits; `None` for half of a surrogate pair.
fn digits(from: &mut Peekable<Chars<'_>>, count: u32) -> Option<char> {
    let mut code = 0;
    for _ in 0..count {
        code = code * 16 + from.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}

fn literal(character: char, to: &mut String) {
    if character.is_ascii_alphanumeric() {
        to.push(character);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(to, "\\x{{{:x}}}", u32::from(character));
    }
}

#[cfg(test)]
mod tests {
    use super::translated;

    const TEXTS: [&str; 24] = [
        "",
        "a",
        "aaaa",
        "aaab",
        "ab",
        "abab",
        "A",
        "a-b",
        "a.b",
        "é",
        "aé",
        "\n",
        "a\n",
        "\u{2028}",
        "0",
        "09",
        "_",
        " ",
        "\u{a0}",
        "192.0.2.1",
        "a b",
        "]",
        "\\",
        "😀",
    ];

    #[test]
    fn a_translated_pattern_matches_what_the_original_does() {
        for source in [
            "a",
            "^a$",
            "^a+$",
            "^(a+)+$",
            "^(?:a|b)*$",
            "^a{2,3}b?$",
            "^a{4}$",
            "^.$",
            "^.*$",
            r"^\d+$",
            r"^\D$",
            r"^\w+$",
            r"\W",
            r"^\s$",
            r"^\S+$",
            r"^[a-z]+$",
            r"^[^a]$",
            r"^[\d.]+$",
            r"^[-a]+$",
            r"^[a-]+$",
            r"^[\w-]+$",
            r"^\u0061$",
            r"^\x61$",
            r"^[\u00e9]$",
            r"^a\.b$",
            r"^[\]\\]$",
            "^a*?$",
            "^$",
            "a|^$",
            r"^([0-9]{1,3}\.){3}[0-9]{1,3}$",
            "^é$",
            "^[😀é]$",
            r"\/",
            "^a\\-b$",
            "^[a-a]$",
            r"^[\t\n\r\f\v]$",
        ] {
            let original = regress::Regex::new(source).unwrap();
            let translated = regex::Regex::new(&translated(source).unwrap()).unwrap();
            let every = (0..=0x3000).filter_map(char::from_u32).map(String::from);
            for text in every.chain(TEXTS.map(String::from)) {
                let expected = original.find(&text).is_some();
                assert_eq!(translated.is_match(&text), expected, "{source} {text:?}");
            }
        }
    }

    #[test]
    fn what_engines_do_not_share_is_not_translated() {
        for source in [
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?<n>a)",
            r"(a)\1",
            r"\ba",
            r"\p{L}",
            r"[\W]",
            "[]",
            "[^]",
            r"\cA",
            r"\ud83d\ude00",
            "a{",
            "a{,2}",
            "}",
            "]",
            r"\0",
            r"[\b]",
            r"[\d-z]",
            "[z-a]",
            "*a",
            "a**",
            "a{2}{2}",
        ] {
            assert_eq!(translated(source), None, "{source}");
        }
    }
}
