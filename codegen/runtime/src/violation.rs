//! One violation of a request, worded for the caller.
//!
//! A message says what is allowed and what was sent instead. What was sent is described, not repeated: a text by its
//! length, a number by its literal if that is short; only a value that is not in a closed list is shown, if it is
//! short. Anything in a request may be a secret, and more people read responses and logs than requests.
//!
//! Names are given in full, in the path of the violation and not again in its message. A path of more than [`MAX_PATH`]
//! characters is not written: the violation is then reported at the place above it, and its message gives the length of
//! the name.
//!
//! A response must not be many times as long as its request. So at most [`MAX_VIOLATIONS`] are reported, and no more
//! than [`MAX_TOLD`] bytes of them; further ones are counted, but not even built.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Deref;

/// What is wrong with one value of a request, as it appears in an error's `details`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A JSON Pointer (RFC 6901) into the body, or the name of the parameter or header.
    pub path: String,
    /// The keyword of the schema that is violated, or one of [`constraint`].
    pub constraint: &'static str,
    /// What is allowed, and what was sent.
    pub message: Cow<'static, str>,
}

impl Violation {
    /// Creates a violation at this place.
    pub fn new(
        path: impl Into<String>,
        constraint: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Violation {
        Violation {
            path: path.into(),
            constraint,
            message: message.into(),
        }
    }
}

/// The most violations that are reported.
pub const MAX_VIOLATIONS: usize = 100;

/// The most characters of a path.
pub const MAX_PATH: usize = 256;

/// The most bytes of all reported violations, in JSON: below 64 KiB by more than the rest of a response takes.
pub const MAX_TOLD: usize = 60 * 1024;

/// The violations of a request: those reported, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    told: Vec<Violation>,
    /// Their size as JSON.
    bytes: usize,
    total: usize,
}

impl Violations {
    /// Returns how many there are, reported or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Adds a violation, which is only built if there is room for it. The first ones are those reported.
    pub(crate) fn add(&mut self, make: impl FnOnce() -> Violation) {
        let all_told = self.told.len() == self.total;
        self.total += 1;
        if !all_told || self.told.len() == MAX_VIOLATIONS {
            return;
        }
        let violation = make();
        self.bytes += violation.json_length();
        // The first is always reported: a request with a violation must not look like one without.
        if self.bytes <= MAX_TOLD || self.told.is_empty() {
            self.told.push(violation);
        }
    }
}

/// The violations reported.
impl Deref for Violations {
    type Target = [Violation];

    fn deref(&self) -> &[Violation] {
        &self.told
    }
}

impl IntoIterator for Violations {
    type Item = Violation;
    type IntoIter = std::vec::IntoIter<Violation>;

    fn into_iter(self) -> Self::IntoIter {
        self.told.into_iter()
    }
}

impl FromIterator<Violation> for Violations {
    fn from_iter<I: IntoIterator<Item = Violation>>(all: I) -> Violations {
        let mut violations = Violations::default();
        all.into_iter().for_each(|it| violations.add(|| it));
        violations
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Violations {
        Violations::from_iter([violation])
    }
}

impl Violation {
    /// The bytes of `{"path":...,"constraint":...,"message":...},`.
    fn json_length(&self) -> usize {
        const AROUND: usize = r#"{"path":"","constraint":"","message":""},"#.len();
        let texts = [&self.path, self.constraint, &self.message];
        AROUND + texts.into_iter().map(json_length).sum::<usize>()
    }
}

/// The bytes of a text in JSON, without its quotes.
fn json_length(text: &str) -> usize {
    let length = |character| match character {
        '"' | '\\' => 2,
        '\0'..'\x20' => "\\u0000".len(),
        other => other.len_utf8(),
    };
    text.chars().map(length).sum()
}

/// A text of at most [`MAX_PATH`] characters: writing more fails.
#[derive(Default)]
pub(crate) struct Path {
    text: String,
    characters: usize,
}

impl Path {
    /// Returns a path, unless it is too long.
    pub(crate) fn of(place: impl fmt::Display) -> Option<String> {
        let mut path = Path::default();
        write!(path, "{place}").ok().map(|()| path.text)
    }
}

impl fmt::Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.characters += text.chars().count();
        if self.characters > MAX_PATH {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// The constraints that are not schema keywords.
pub mod constraint {
    /// The body is not JSON.
    pub const JSON: &str = "json";
    /// A number has more digits or a larger exponent than a [`Decimal`](crate::Decimal) holds.
    pub const PRECISION: &str = "precision";
    /// A query parameter that the operation does not have.
    pub const UNKNOWN: &str = "unknown";
    /// A parameter or header that occurs more than once.
    pub const REPEATED: &str = "repeated";
    /// The body is not of the media type that the operation reads.
    pub const CONTENT_TYPE: &str = "contentType";
    /// The body is too large.
    pub const MAX_BYTES: &str = "maxBytes";
    /// The body did not arrive in time.
    pub const TIMEOUT: &str = "timeout";
    /// The path does not have the method.
    pub const METHOD: &str = "method";
    /// The headers do not ask for a websocket.
    pub const WEBSOCKET: &str = "websocket";
}

/// The longest text that a message repeats, in characters: shorter than any credential.
const MAX_SHOWN: usize = 32;

/// A text for a message: quoted and with control characters escaped, or only its length.
///
/// For values that are not secret by their place: names of members, values of closed lists. A long one is not shown
/// even in part, since it may be a secret that was put in the wrong place.
pub(crate) fn shown(text: &str) -> String {
    match text.chars().count() {
        ..=MAX_SHOWN => format!("{text:?}"),
        length => format!("a text of {length} characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_told_as_fit_and_the_first_in_any_case() {
        let of = |message: &str| {
            let one = || Violation::new("/é", "format", message.to_owned());
            let all = std::iter::repeat_with(one).take(MAX_VIOLATIONS);
            all.collect::<Violations>()
        };
        let in_json = r#"{"path":"/é","constraint":"format","message":""},"#.len();
        for (message, bytes) in [
            ("x".repeat(1000), 1000),
            ("é".repeat(500), 1000),
            ("\"\\".repeat(250), 1000),
            ("\n".repeat(200), 1200),
        ] {
            let violations = of(&message);
            assert_eq!(violations.len(), MAX_TOLD / (in_json + bytes));
            assert_eq!(violations.total(), MAX_VIOLATIONS);
        }
        assert_eq!(of(&"x".repeat(MAX_TOLD)).len(), 1);
        assert_eq!(of("x").len(), MAX_VIOLATIONS);
    }
}
