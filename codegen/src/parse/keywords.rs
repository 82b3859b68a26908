//! Which keywords an object of the document may have. Whatever its list lacks is refused ([`super::reader`]).

/// The keywords of one kind of object.
#[derive(Clone, Copy)]
pub(super) struct Keywords {
    /// What the object is, as problems call it: `an operation`.
    pub(super) what: &'static str,
    /// What the generator reads.
    pub(super) read: &'static [&'static str],
    /// What is told to readers, and changes nothing.
    pub(super) told: &'static [&'static str],
    /// Whether every `x-...` is told to readers, too, and not only [`EXTENSIONS`].
    pub(super) extensions: bool,
}

/// Extensions that say nothing about what is sent, wherever they stand: of dropshot and typify, what the
/// schema or the parameters beside them say, too; of others, how pages about the document look.
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

/// What every schema may tell.
pub(super) const TOLD: &[&str] = &[
    "title",
    "description",
    "example",
    "externalDocs",
    "deprecated",
    // Told, because no message has what goes the other way ([`super::direction`]).
    "readOnly",
    "writeOnly",
];

impl Keywords {
    /// A list without extensions.
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

    /// The list of a schema. What begins with `x-` says nothing about which values it admits: the standard
    /// has none of these.
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
