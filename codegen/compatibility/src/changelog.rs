//! The changelog of the documents, built from their releases and their current state.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{Api, Comparison, Document, Problem, Severity, compare};

const HEAD: &str = "\
# Changelog of the documents

What changed for those who call the APIs, by `info.version`, the newest first. A version by
[Semantic Versioning](https://semver.org) says how much: a new major one that something which worked
may fail, a new minor one that there is more, a new patch one that only texts differ.

*Senders* are broken by what an operation refuses that it took before, *readers* by what it answers
that it did not answer before, and *generated clients* by another name of something.

Made by `openapi-dropshot compare changelog` from `released/` and the present documents; not to be edited.
";

/// Returns the changelog of these documents, as Markdown.
///
/// # Errors
/// If two of the documents cannot be compared.
pub fn changelog(apis: &[Api]) -> Result<String, Problem> {
    let mut text = HEAD.to_owned();
    for api in apis {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n[`{}.yaml`]({}.yaml)\n",
            api.present.title(),
            api.name,
            api.name
        );
        let comparison = compare(&api.newest, &api.present)?;
        if api.present.version != api.newest.version || !comparison.changes.is_empty() {
            let heading = format!("{}, not released", api.present.version);
            text.push_str(&changes(&heading, &comparison));
        }
        let releases: Vec<_> = api.earlier.iter().chain([&api.newest]).collect();
        for steps in releases.windows(2).rev() {
            let comparison = compare(steps[0], steps[1])?;
            text.push_str(&changes(&steps[1].version.to_string(), &comparison));
        }
        text.push_str(&first(releases[0]));
    }
    Ok(text)
}

/// One version, described by its changes.
fn changes(heading: &str, comparison: &Comparison) -> String {
    let mut text = format!("\n### {heading}\n");
    for (severity, title) in [
        (Severity::Breaking, "Breaking"),
        (Severity::Compatible, "Compatible"),
    ] {
        let mut lines = comparison.of(severity).peekable();
        if lines.peek().is_some() {
            let _ = writeln!(text, "\n{title}\n");
        }
        for change in lines {
            let whom = match severity {
                Severity::Breaking => format!("Breaks {}.", change.whom),
                _ => format!("For {}.", change.whom),
            };
            let _ = writeln!(text, "- **{}**: {}. {whom}", change.subject, change.what);
        }
    }
    let mut texts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for change in comparison.of(Severity::Text) {
        texts.entry(&change.subject).or_default().push(&change.what);
    }
    if !texts.is_empty() {
        text.push_str("\nTexts\n\n");
    }
    for (subject, changes) in texts {
        let _ = writeln!(text, "- **{subject}**: {}.", changes.join(", "));
    }
    if comparison.changes.is_empty() {
        text.push_str("\nNothing that a consumer can see.\n");
    }
    text
}

/// The first release, described by its operations.
fn first(document: &Document) -> String {
    let mut text = format!(
        "\n### {}\n\nThe first release.\n\n| operation | | |\n|---|---|---|\n",
        document.version
    );
    for operation in document.operations() {
        let summary = operation.node.text("summary").replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {summary} |",
            operation.name, operation.route
        );
    }
    text
}
