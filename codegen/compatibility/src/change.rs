//! A change, its severity, and whom it affects.

use std::collections::BTreeSet;
use std::fmt;

/// The severity of a change, the most severe last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It only affects descriptions and examples: no request and no response changes.
    Text,
    /// There is something new to use or to know, and everything that worked still works.
    Compatible,
    /// Something that worked with the older document may fail with the newer one.
    Breaking,
}

/// A difference that a consumer can see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its severity.
    pub severity: Severity,
    /// The operation, the schema or the part of them that changed: `create_product`, `ProductName`.
    pub subject: String,
    /// The difference, as a sentence about the subject.
    pub what: String,
    /// Whom it breaks; if it breaks nothing, whom it concerns. Empty for texts.
    pub whom: String,
    /// Where it is, in both documents.
    pub place: Place,
}

/// Where a change is: JSON Pointers (RFC 6901).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// In the older document, unless the thing is new.
    pub old: Option<String>,
    /// In the newer document, unless the thing is gone.
    pub new: Option<String>,
}

impl Place {
    /// Returns the pointer into the newer document, or into the older one for something removed.
    #[must_use]
    pub fn pointer(&self) -> &str {
        let pointer = self.new.as_ref().or(self.old.as_ref());
        pointer.map_or("", String::as_str)
    }
}

/// The effect of a change, before it is known whom it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Fewer values are valid: a sender of one may be refused.
    Fewer,
    /// More values are valid: a reader of one may not expect it.
    More,
    /// It means something else: neither senders nor readers can rely on it.
    Different,
    /// It has another name, or none, in the code that generators produce.
    Renamed,
    /// Nothing that worked can fail.
    Harmless,
    /// It only explains.
    Text,
}

/// The operations that meet a part of a document, as senders or as readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// Operations whose requests contain it.
    pub senders: BTreeSet<String>,
    /// Operations whose responses contain it.
    pub readers: BTreeSet<String>,
}

impl Users {
    /// Creates those who call an operation, whatever they send and read.
    #[must_use]
    pub fn callers(operations: impl IntoIterator<Item = String>) -> Self {
        let operations: BTreeSet<_> = operations.into_iter().collect();
        Self {
            senders: operations.clone(),
            readers: operations,
        }
    }

    /// Returns the severity of an effect for these, and for which of them.
    #[must_use]
    pub fn judge(&self, effect: Effect) -> (Severity, String) {
        let (senders, readers) = match effect {
            Effect::Text => return (Severity::Text, String::new()),
            Effect::Renamed => return (Severity::Breaking, "generated clients".to_owned()),
            Effect::Fewer => (self.senders.clone(), BTreeSet::new()),
            Effect::More => (BTreeSet::new(), self.readers.clone()),
            Effect::Different => (self.senders.clone(), self.readers.clone()),
            Effect::Harmless => (BTreeSet::new(), BTreeSet::new()),
        };
        let broken = Self { senders, readers };
        if broken == Self::default() {
            (Severity::Compatible, self.to_string())
        } else {
            (Severity::Breaking, broken.to_string())
        }
    }
}

impl fmt::Display for Users {
    /// `senders of create_product; readers of create_product, get_product`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |operations: &BTreeSet<String>| {
            let operations: Vec<_> = operations.iter().map(String::as_str).collect();
            operations.join(", ")
        };
        let (senders, readers) = (list(&self.senders), list(&self.readers));
        if senders == readers {
            return write!(f, "callers of {senders}");
        }
        match (senders.as_str(), readers.as_str()) {
            (_, "") => write!(f, "senders of {senders}"),
            ("", _) => write!(f, "readers of {readers}"),
            _ => write!(f, "senders of {senders}; readers of {readers}"),
        }
    }
}
