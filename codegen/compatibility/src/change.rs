//! One change, how grave it is, and for whom.

use std::collections::BTreeSet;
use std::fmt;

/// How grave a change is, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is in descriptions and examples alone: no request and no answer changes.
    Text,
    /// There is something new to use or to know, and what worked works on.
    Compatible,
    /// Something that worked with the older document may fail with the newer one.
    Breaking,
}

/// One thing that a consumer can see to be different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// How grave it is.
    pub severity: Severity,
    /// The operation, the schema or the part of them that changed: `create_product`, `ProductName`.
    pub subject: String,
    /// What is different, as a sentence about the subject.
    pub what: String,
    /// Whom it breaks; when it breaks nobody, whom it concerns. Empty for texts.
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
    /// The pointer into the newer document, or into the older one for what is gone.
    #[must_use]
    pub fn pointer(&self) -> &str {
        let pointer = self.new.as_ref().or(self.old.as_ref());
        pointer.map_or("", String::as_str)
    }
}

/// What a change does, before it is known who meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Fewer values are valid: who sends one may be refused.
    Fewer,
    /// More values are valid: who reads one may not expect it.
    More,
    /// It means something else: neither who sends nor who reads can rely on it.
    Different,
    /// It has another name, or none, in the code that generators make.
    Renamed,
    /// Nothing that worked can fail.
    Harmless,
    /// It only explains.
    Text,
}

/// The operations that meet a part of a document, by who meets it there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// Operations whose requests hold it.
    pub senders: BTreeSet<String>,
    /// Operations whose answers hold it.
    pub readers: BTreeSet<String>,
}

impl Users {
    /// Those who call an operation, whatever they send and read.
    #[must_use]
    pub fn callers(operations: impl IntoIterator<Item = String>) -> Self {
        let operations: BTreeSet<_> = operations.into_iter().collect();
        Self {
            senders: operations.clone(),
            readers: operations,
        }
    }

    /// How grave an effect is for these, and for which of them.
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
