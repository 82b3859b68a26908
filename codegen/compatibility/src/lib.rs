//! Determines what changed between two OpenAPI documents, whom it breaks, and which version it calls
//! for.
//!
//! ```text
//! old, new --walk--> parts that both have, and who meets them
//!          --rules-> changes: where, what, how grave, for whom
//!          --drift-> whatever the rules have missed
//!          --version-> the version that the gravest change calls for
//! ```
//!
//! 1. Both documents are walked together, operation by operation (`walk`). A part that several
//!    operations meet is one part, with a list of the operations whose requests and responses contain
//!    it.
//! 2. Each part is judged by itself (`whole`, `operation`, `schema`). A rule states the effect of a
//!    change (`Effect`), and who meets the part decides whether it is a break. A change of a member
//!    without a rule is a break, too.
//! 3. `drift` compares the documents as well. The rules must have found everything that it finds
//!    (`second_opinion`).
//! 4. `info.version` must reflect the most severe change (`version`).
//!
//! # What breaks
//!
//! - **Senders**: fewer values are valid in a request. A lower maximum, one value fewer in an
//!   enumeration, null refused, another required member or parameter, another credential.
//! - **Readers**: more values are valid in a response. A higher maximum, another value, null, a member
//!   that may be absent; and a member, header, status or error code that is removed.
//! - A schema that requests and responses share is judged for both. So the limit of a field that is
//!   both sent and returned cannot change at all without a new major version: readers of the older
//!   document may have relied on it, and generated types check it.
//! - **Both**: another type, format, pattern or default; another place of an operation.
//! - **Generated clients**: another operationId, tag, name of a path's variable, or name of a schema.
//!
//! # What does not
//!
//! - Objects in responses may grow: the documents ask consumers to ignore members that they do not
//!   know.
//! - So may the errors of an operation, if new ones have the shape of the existing ones: the documents
//!   say that a code may be added, and RFC 9110 (section 15) how to treat an unknown status. They call
//!   for a minor version.
//! - Descriptions, examples, links and order are for readers. They call for a patch version, so that
//!   one version is one text.

mod change;
mod changelog;
mod document;
mod errors;
mod operation;
mod pair;
mod releases;
mod report;
mod schema;
mod second_opinion;
mod version;
mod walk;
mod whole;

use semver::Version;

pub use change::{Change, Place, Severity};
pub use changelog::changelog;
pub use document::Document;
pub use openapi_dropshot::Problem;
pub use releases::{Api, apis};
pub use report::report;
pub use version::called_for;

use change::Users;
use pair::{Both, Pair};
use walk::Kind;

/// The differences between two documents.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// `info.version` of the older document.
    pub old: Version,
    /// `info.version` of the newer document.
    pub new: Version,
    /// All changes, the most severe first, otherwise in the order of the newer document.
    pub changes: Vec<Change>,
}

impl Comparison {
    /// Returns the lowest version that the newer document may have.
    #[must_use]
    pub fn called_for(&self) -> Version {
        called_for(
            &self.old,
            self.changes.first().map(|change| change.severity),
        )
    }

    /// Returns whether the version of the newer document reflects the changes.
    #[must_use]
    pub fn is_said(&self) -> bool {
        self.new >= self.called_for()
    }

    /// Returns the changes of one severity.
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Change> {
        let changes = self.changes.iter();
        changes.filter(move |change| change.severity == severity)
    }
}

/// Returns everything in `new` that a consumer of `old` can see to be different.
///
/// # Errors
/// If one of them cannot be compared.
pub fn compare(old: &Document, new: &Document) -> Result<Comparison, Problem> {
    let operations = pair::operations(old, new);
    let pairs = walk::pairs(&operations.kept);
    let mut changes = whole::changes(old, new, &operations);
    for (old, new) in &operations.kept {
        let both = Both {
            old: old.node.clone(),
            new: new.node.clone(),
        };
        let pair = Pair {
            subject: new.name.clone(),
            both,
            users: Users::callers([new.name.clone()]),
        };
        changes.extend(operation::changes(&pair, old, new));
    }
    for (kind, pair) in &pairs {
        changes.extend(match kind {
            Kind::Parameter => operation::parameter(pair),
            Kind::Body => operation::body(pair),
            Kind::Answer => operation::answer(pair),
            Kind::Header => operation::header(pair),
            Kind::Media => operation::media(pair),
            Kind::Schema => schema::changes(pair),
        });
    }
    let missed = second_opinion::missed(old, new, &pairs, &changes)?;
    changes.extend(missed);
    changes.sort_by_key(|change| std::cmp::Reverse(change.severity));
    Ok(Comparison {
        old: old.version.clone(),
        new: new.version.clone(),
        changes,
    })
}
