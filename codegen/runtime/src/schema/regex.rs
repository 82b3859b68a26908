//! ECMA-262 regular expressions, as used by `pattern`.
//!
//! Most patterns of a document only list the characters of a text: `^[A-Za-z0-9_-]+$`. Those are checked by
//! looking up each byte, at a hundredth of the cost of a backtracking matcher. Others go to an engine whose
//! time grows only with the text, whatever a caller sends ([`linear`]); the generator refuses those that are
//! too large for it. `regress` handles those with look-arounds, back-references or word boundaries. A class
//! of ASCII characters can be matched by bytes as well as by characters, since every byte of any other
//! character is above them.

use super::linear;

/// A regular expression, with as much of the API of `regress` as typify's types use.
#[derive(Debug)]
pub struct Regex(Matcher);

#[derive(Debug)]
enum Matcher {
    Characters(Box<Characters>),
    Linear(Box<regex::Regex>),
    Backtracking(Box<regress::Regex>),
}

impl Regex {
    /// Compiles it.
    ///
    /// # Errors
    /// If it is not a valid pattern.
    pub fn new(source: &str) -> Result<Regex, regress::Error> {
        let regex = regress::Regex::new(source)?;
        if let Some(characters) = Characters::of(source) {
            return Ok(Regex(Matcher::Characters(Box::new(characters))));
        }
        let translated = linear::translated(source);
        // One that is too large for that engine comes from no document.
        let linear = translated.and_then(|it| regex::Regex::new(&it).ok());
        Ok(Regex(match linear {
            Some(linear) => Matcher::Linear(Box::new(linear)),
            None => Matcher::Backtracking(Box::new(regex)),
        }))
    }

    /// Returns `Some` if it matches anywhere in the text.
    pub fn find(&self, text: &str) -> Option<()> {
        match &self.0 {
            Matcher::Characters(characters) => characters.are_all_of(text).then_some(()),
            Matcher::Linear(regex) => regex.is_match(text).then_some(()),
            Matcher::Backtracking(regex) => regex.find(text).map(drop),
        }
    }
}

/// The meaning of `^[...]*$` and `^[...]+$`.
#[derive(Debug)]
struct Characters {
    /// Whether a text may have this byte.
    allowed: [bool; 256],
    /// The one byte that a text may not contain, if there is just one: searching for it is several times as
    /// fast.
    forbidden: Option<u8>,
    /// Whether a text may be empty.
    none: bool,
}

impl Characters {
    /// Returns `None` for a pattern of another form, or with characters beyond ASCII.
    fn of(source: &str) -> Option<Characters> {
        let class = source.strip_prefix("^[")?.strip_suffix('$')?;
        let (class, none) = match class.strip_suffix("]*") {
            Some(class) => (class, true),
            None => (class.strip_suffix("]+")?, false),
        };
        let (class, negated) = match class.strip_prefix('^') {
            Some(class) => (class, true),
            None => (class, false),
        };
        let mut allowed = [negated; 256];
        let mut rest = class;
        while !rest.is_empty() {
            let (first, after) = member(rest)?;
            let (last, after) = match after.strip_prefix('-') {
                Some(after) if !after.is_empty() => member(after)?,
                _ => (first, after),
            };
            for byte in first..=last {
                allowed[usize::from(byte)] = !negated;
            }
            rest = after;
        }
        let mut forbidden = (0..=u8::MAX).filter(|&byte| !allowed[usize::from(byte)]);
        let forbidden = forbidden.next().filter(|_| forbidden.next().is_none());
        Some(Characters {
            allowed,
            forbidden,
            none,
        })
    }

    fn are_all_of(&self, text: &str) -> bool {
        let text = text.as_bytes();
        (self.none || !text.is_empty())
            && match self.forbidden {
                Some(forbidden) => !text.contains(&forbidden),
                None => text.iter().all(|&byte| self.allowed[usize::from(byte)]),
            }
    }
}

/// The first member of a class, if it is an ASCII character or `\u` with the four digits of one, and what
/// follows it.
fn member(class: &str) -> Option<(u8, &str)> {
    let (member, rest) = match class.strip_prefix("\\u") {
        Some(escaped) => {
            let (digits, rest) = escaped.split_at_checked(4)?;
            let digits = digits.strip_prefix("00")?;
            let digits = Some(digits).filter(|it| !it.starts_with('+'))?;
            (u8::from_str_radix(digits, 16).ok()?, rest)
        }
        None => {
            let (member, rest) = class.split_at_checked(1)?;
            match member.as_bytes() {
                [b'\\' | b'[' | b']'] => return None,
                [member] => (*member, rest),
                _ => return None,
            }
        }
    };
    member.is_ascii().then_some((member, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 14] = [
        "",
        "a",
        "-",
        "z9_",
        "A B",
        "\0",
        "a\0b",
        "é",
        "aé",
        "\u{7f}",
        "\u{10ffff}",
        "]",
        "\n",
        "a\n",
    ];

    #[test]
    fn a_class_of_characters_is_matched_as_regress_does() {
        for source in [
            r"^[^\u0000]*$",
            "^[A-Za-z0-9_-]+$",
            "^[!-~]+$",
            "^[-a]*$",
            "^[a-z-9]+$",
            "^[^a-c-]+$",
            r"^[\u0041-\u005A]*$",
            r"^[ -!#-Z^-~]*$",
            "^[^-]*$",
            "^[a]*$",
        ] {
            let reference = regress::Regex::new(source).unwrap();
            let regex = Regex::new(source).unwrap();
            assert!(matches!(regex.0, Matcher::Characters(_)), "{source}");
            let every = (0..=0x250).filter_map(char::from_u32).map(String::from);
            for text in every.chain(TEXTS.map(String::from)) {
                let expected = reference.find(&text).is_some();
                assert_eq!(regex.find(&text).is_some(), expected, "{source} {text:?}");
            }
        }
    }

    #[test]
    fn other_forms_are_no_class_of_characters() {
        for source in [
            "^[a-z]$",
            "[a-z]*",
            "^[a-z]*",
            "^[é]*$",
            r"^[\d]*$",
            r"^[a\]]*$",
            "^[a][b]*$",
            r"^[\u00e9]*$",
            r"^[\u00+1]*$",
            r"^[^\u2028]*$",
            "^[a-z]*|[0-9]*$",
            "^[a-z]{1,2}$",
        ] {
            let regex = Regex::new(source).unwrap();
            assert!(!matches!(regex.0, Matcher::Characters(_)), "{source}");
        }
        assert!(Regex::new("^[z-a]*$").is_err());
    }

    #[test]
    fn a_text_does_not_decide_how_long_a_pattern_takes() {
        let text = "a".repeat(100_000) + "b";
        for source in ["^(a+)+$", "^(a|a)*$", "^([a-z]+)*[0-9]$"] {
            let regex = Regex::new(source).unwrap();
            assert!(matches!(regex.0, Matcher::Linear(_)), "{source}");
            assert_eq!(regex.find(&text), None, "{source}");
        }
        let regex = Regex::new("^(?!x)a$").unwrap();
        assert!(matches!(regex.0, Matcher::Backtracking(_)));
    }
}
