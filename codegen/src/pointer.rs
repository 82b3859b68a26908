//! Places in a document.

use std::fmt;

/// A JSON Pointer (RFC 6901) into the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(String);

impl Pointer {
    /// Returns the pointer to the member of this name, or to the item of this index, in the value
    /// that this points to.
    #[must_use]
    pub fn child(&self, token: impl fmt::Display) -> Self {
        let token = token.to_string().replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{token}", self.0))
    }

    /// The pointer as text; empty for the whole document.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
