//! The printed report of a comparison.

use std::fmt::Write;

use crate::{Comparison, Document, Severity};

/// Returns a report of what changed, whom it breaks, which version that calls for, and whether the
/// document has it.
#[must_use]
pub fn report(old: &Document, new: &Document, comparison: &Comparison) -> String {
    let mut text = format!(
        "{} {}, since {} {}\n",
        new.file, new.version, old.file, old.version
    );
    for (severity, title, verb) in [
        (Severity::Breaking, "breaking", "breaks"),
        (Severity::Compatible, "compatible", "for"),
        (Severity::Text, "texts", ""),
    ] {
        let mut changes = comparison.of(severity).peekable();
        if changes.peek().is_some() {
            let _ = writeln!(text, "  {title}");
        }
        for change in changes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "    {}: {}", change.subject, change.what);
            if severity != Severity::Text {
                let at = if change.place.new.is_some() {
                    "at"
                } else {
                    "was at"
                };
                let place = change.place.pointer();
                let _ = writeln!(text, "      {verb} {}\n      {at} {place}", change.whom);
            }
        }
    }
    text.push_str(&verdict(comparison));
    text
}

/// The last line: the version called for, and whether the document has it.
fn verdict(comparison: &Comparison) -> String {
    let called_for = comparison.called_for();
    let because = match comparison.changes.first().map(|change| change.severity) {
        None if comparison.is_said() => return "  no change\n".to_owned(),
        None => {
            let (old, new) = (&comparison.old, &comparison.new);
            return format!("  no change, but info.version went back from {old} to {new}\n");
        }
        Some(Severity::Breaking) => "Breaking changes",
        Some(Severity::Compatible) => "Compatible changes, and no breaking ones,",
        Some(Severity::Text) => "Changes of texts alone",
    };
    let remedy = match comparison.is_said() {
        true => format!("info.version {} says so.", comparison.new),
        false => format!(
            "info.version is {}: undo the changes, or write {called_for} there.",
            comparison.new
        ),
    };
    format!("  {because} call for {called_for}. {remedy}\n")
}
