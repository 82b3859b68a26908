//! One thing that is wrong with a request, in words for the caller.
//!
//! A message says what is allowed and what came instead. What came is described, not repeated: a text
//! by its length, a number by its literal when that is short, and only a value that misses a closed
//! list is shown, when it is short. Whatever a request carries may be a secret, and answers and logs
//! are read by more people than requests.
//!
//! Names are told whole, however long, in the path of the violation and not again in its message: all
//! violations together are no longer than the request times a constant.

use std::borrow::Cow;

/// What is wrong with one value of a request, as it stands in an error's `details`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A JSON Pointer (RFC 6901) into the body, or the name of the parameter or header.
    pub path: String,
    /// The keyword of the schema that is violated, or one of [`constraint`].
    pub constraint: &'static str,
    /// What is allowed, and what came.
    pub message: Cow<'static, str>,
}

impl Violation {
    /// A violation at this place.
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

/// The constraints that are no schema keywords.
pub mod constraint {
    /// The body is not JSON.
    pub const JSON: &str = "json";
    /// A number has more digits or a larger exponent than a [`Decimal`](crate::Decimal) holds.
    pub const PRECISION: &str = "precision";
    /// A query parameter that the operation does not have.
    pub const UNKNOWN: &str = "unknown";
    /// A parameter or header that is given more than once.
    pub const REPEATED: &str = "repeated";
    /// The body is not of the media type that the operation reads.
    pub const CONTENT_TYPE: &str = "contentType";
    /// The body is too large.
    pub const MAX_BYTES: &str = "maxBytes";
    /// The body did not arrive in time.
    pub const TIMEOUT: &str = "timeout";
    /// The path does not have the method.
    pub const METHOD: &str = "method";
}

/// The longest text that a message repeats, in characters: shorter than any credential.
const MAX_SHOWN: usize = 32;

/// A text for a message: quoted and with control characters escaped, or only its length.
///
/// For what is no secret by its place: names of members, values of closed lists. A long one is not
/// shown even in part, since it may be a secret that was put in the wrong place.
pub(crate) fn shown(text: &str) -> String {
    match text.chars().count() {
        ..=MAX_SHOWN => format!("{text:?}"),
        length => format!("a text of {length} characters"),
    }
}
