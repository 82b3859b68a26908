//! The keywords that each kind of object in the document may have. Any other is refused ([`super::reader`]).

/// The keywords of one kind of object.
#[derive(Clone, Copy)]
pub(super) struct Keywords {
    /// What the object is called in problems: `an operation`.
    pub(super) what: &'static str,
    /// The keywords that the generator reads.
    pub(super) read: &'static [&'static str],
    /// The keywords that are documentation, and change nothing.
    pub(super) told: &'static [&'static str],
    /// Whether every `x-...` counts as documentation, not only [`EXTENSIONS`].
    pub(super) extensions: bool,
}

/// Extensions that never affect what is sent: those of dropshot and typify repeat what the schema or the
/// parameters beside them say; the others concern the look of pages about the document.
const EXTENSIONS: &[&str] = &[
    "x-addedInVersion",
    "x-codeSamples",
    "x-code-samples",
    "x-deprecatedInVersion",
    "x-deprecatedMessage",
    "x-displayName",
    "x-dropshot-pagination",
    "x-group-parameters",
    "x-groupIndex",
    "x-logo",
    "x-methodName",
    "x-publicVersion",
    "x-rust-type",
    "x-sortIndex",
    "x-tagGroups",
];

/// The documentation keywords of every schema.
pub(super) const TOLD: &[&str] = &[
    "title",
    "description",
    "example",
    "externalDocs",
    "deprecated",
    // Only documentation, because no message has what goes the other way ([`super::direction`]).
    "readOnly",
    "writeOnly",
];

impl Keywords {
    /// Creates a list without extensions.
    pub(super) const fn new(
        what: &'static str,
        read: &'static [&'static str],
        told: &'static [&'static str],
    ) -> Self {
        Self {
            what,
            read,
            told,
            extensions: false,
        }
    }

    /// Creates the list of a schema. Keywords that start with `x-` do not affect which values it admits,
    /// since they are not part of the standard.
    pub(super) const fn of_schema(what: &'static str, read: &'static [&'static str]) -> Self {
        Self {
            extensions: true,
            ..Self::new(what, read, TOLD)
        }
    }

    pub(super) fn know(&self, keyword: &str) -> bool {
        self.read.contains(&keyword)
            || self.told.contains(&keyword)
            || EXTENSIONS.contains(&keyword)
            || (self.extensions && keyword.starts_with("x-"))
    }
}
