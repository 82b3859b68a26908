//! A change that breaks a consumer fails until `info.version` says so.
//!
//! 1. The documents as released are kept under `openapi/released/`, named after document and
//!    version. The newest of each is compared with the document as it is now.
//! 2. `drift` compares first. It calls most changes of a schema "unhandled", because it does not
//!    know in which direction a limit moved, and it does not look at operationIds, security,
//!    headers, defaults, `nullable` and error codes.
//! 3. Those are compared here ([`operations`], [`schemas`]): what a request may be must not shrink,
//!    what an answer may be must not grow, and nothing that has a name may lose it.
//! 4. Whatever `drift` sees and this module does not understand counts as breaking.
//! 5. A breaking change needs a new major version, any other change that a consumer can see at
//!    least a new minor one. Texts and examples may change freely.
//!
//! Three things are compatible by policy. Objects in answers may grow (decisions.md), and so may the
//! errors of an operation. A limit on what answers hold may be raised: every limit of a request is
//! also one of the answers that show it again, so that otherwise no limit could ever be raised.

mod operations;
mod released;
mod schemas;
mod verdicts;

use std::panic::{AssertUnwindSafe, catch_unwind};

use drift::ChangeClass;
use serde_json::Value;
use test_support::document::Document;

/// How much a change matters to a consumer of the older document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// It can be ignored.
    Compatible,
    /// It can make a working consumer fail.
    Breaking,
}

/// One change that a consumer can see.
#[derive(Clone, Debug)]
pub struct Change {
    pub severity: Severity,
    /// A JSON Pointer into one of the documents, or the operation.
    pub place: String,
    pub what: String,
}

impl Change {
    pub fn breaking(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            severity: Severity::Breaking,
            place: place.into(),
            what: what.into(),
        }
    }

    pub fn compatible(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            severity: Severity::Compatible,
            place: place.into(),
            what: what.into(),
        }
    }
}

/// Everything that a consumer of `old` can see to be different in `new`.
pub fn changes(old: &Document, new: &Document) -> Vec<Change> {
    let mut changes = operations::changes(old, new);
    let breaking = |change: &Change| change.severity == Severity::Breaking;
    for (class, place, what) in drift_changes(old, new) {
        let understood = match class {
            ChangeClass::BackwardIncompatible | ChangeClass::Incompatible => {
                changes.iter().any(breaking)
            }
            _ => !changes.is_empty(),
        };
        if !understood {
            changes.push(Change::breaking(place, format!("drift: {what}")));
        }
    }
    changes
}

/// What `drift` finds, without what it calls trivial. It panics on some differences of bodies, for
/// which it has no words yet; such a panic is a difference too.
fn drift_changes(old: &Document, new: &Document) -> Vec<(ChangeClass, String, String)> {
    let newer = without_new_errors(old, new);
    let compared = catch_unwind(AssertUnwindSafe(|| drift::compare(&old.json, &newer)));
    let changes = match compared {
        Ok(Ok(changes)) => changes,
        Ok(Err(error)) => panic!("drift cannot read a document: {error:#}"),
        Err(_) => {
            let what = "gave up on a difference".to_owned();
            return vec![(ChangeClass::Incompatible, String::new(), what)];
        }
    };
    changes
        .into_iter()
        .flat_map(|change| {
            let place = change.paths.first().map(|path| path.new.to_string());
            let place = place.unwrap_or_default();
            change
                .changes
                .into_iter()
                .filter(|info| info.class != ChangeClass::Trivial)
                .map(move |info| {
                    let place = format!("{place} {}", info.new_subpath);
                    (info.class, place, info.message)
                })
        })
        .collect()
}

/// The newer document without the error statuses that the older one lacks: `drift` calls every new
/// status breaking, but a consumer treats an error that it does not know by its class.
fn without_new_errors(old: &Document, new: &Document) -> Value {
    let mut json = new.json.clone();
    for operation in &new.operations {
        let before = old
            .operations
            .iter()
            .find(|before| before.id == operation.id);
        let listed =
            |status: &u16| before.is_some_and(|before| before.answers.contains_key(status));
        let responses = json.pointer_mut(&format!("{}/responses", operation.pointer));
        if let Some(responses) = responses.and_then(Value::as_object_mut) {
            responses.retain(|status, _| {
                status
                    .parse()
                    .is_ok_and(|status: u16| status < 400 || listed(&status))
            });
        }
    }
    json
}

/// Whether `info.version` of the newer document says what the changes are.
pub fn verdict(old: &Document, new: &Document) -> Result<(), String> {
    let (before, now) = (version(old), version(new));
    let changes = changes(old, new);
    let breaking = |change: &&Change| change.severity == Severity::Breaking;
    let breaking: Vec<_> = changes.iter().filter(breaking).collect();
    let (needed, because) = if !breaking.is_empty() {
        ([before[0] + 1, 0, 0], breaking)
    } else if !changes.is_empty() {
        ([before[0], before[1] + 1, 0], changes.iter().collect())
    } else {
        (before, Vec::new())
    };
    if now >= needed {
        return Ok(());
    }
    let number = |version: [u32; 3]| version.map(|part| part.to_string()).join(".");
    let reasons: Vec<_> = because
        .iter()
        .map(|change| format!("  {}: {}", change.place, change.what))
        .collect();
    Err(format!(
        "openapi/{}.yaml changed since {} and needs info.version {} or later, not {}:\n{}",
        new.name,
        number(before),
        number(needed),
        number(now),
        reasons.join("\n")
    ))
}

fn version(document: &Document) -> [u32; 3] {
    let text = document.json["info"]["version"]
        .as_str()
        .unwrap_or_default();
    let parts: Vec<u32> = text.split('.').flat_map(str::parse).collect();
    parts
        .try_into()
        .unwrap_or_else(|_| panic!("info.version {text:?} is not MAJOR.MINOR.PATCH"))
}
