//! The error codes that a document lists.
//!
//! The schema of a code is an open string, so that the list may grow. It appears in two places: each
//! response shows its errors in its examples, and the tables of `info.description` list all of them,
//! including those that no operation returns (405 is the response to a method that a path does not
//! have).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::document::{Document, Node};

/// Returns the codes that the examples of a response show, each with its type; OAuth errors have none.
pub fn of_answer(answer: &Node<'_>) -> BTreeMap<String, String> {
    let content = answer.at("content").members();
    let bodies = content.into_iter().flat_map(|(_, media)| {
        let examples = media.at("examples").members();
        let values = examples
            .into_iter()
            .map(|(_, example)| example.value.get("value"));
        values
            .chain([media.value.get("example")])
            .flatten()
            .collect::<Vec<_>>()
    });
    bodies.filter_map(code).collect()
}

/// Returns code and type of an error body in either of its two forms: an object `error` with `type` and
/// `code`, or, by RFC 6749 (section 5.2), the code itself as `error`.
fn code(body: &Value) -> Option<(String, String)> {
    match &body["error"] {
        Value::Object(error) => {
            let text = |name: &str| Some(error.get(name)?.as_str()?.to_owned());
            Some((text("code")?, text("type").unwrap_or_default()))
        }
        code => Some((code.as_str()?.to_owned(), String::new())),
    }
}

/// Returns status and code of each error that only the tables of `info.description` list.
pub fn of_tables(document: &Document) -> BTreeSet<(String, String)> {
    let answered: BTreeSet<_> = document
        .operations()
        .iter()
        .flat_map(|operation| operation.node.at("responses").members())
        .flat_map(|(status, answer)| {
            let codes = of_answer(&answer).into_keys();
            codes
                .map(move |code| (status.clone(), code))
                .collect::<Vec<_>>()
        })
        .collect();
    let text = document.json["info"]["description"].as_str();
    let rows = text.unwrap_or_default().lines().filter_map(row);
    rows.filter(|error| !answered.contains(error)).collect()
}

/// Returns status and code of a row like ``| 409 | `conflict_error` | `duplicate_sku` | When ...``: the
/// code is the last of the cells after the status that contain nothing but code.
fn row(line: &str) -> Option<(String, String)> {
    let mut cells = line.trim().strip_prefix('|')?.split('|').map(str::trim);
    let status = cells.next()?;
    let number: u16 = status.parse().ok()?;
    let codes = cells.map_while(|cell| cell.strip_prefix('`')?.strip_suffix('`'));
    let code = codes.last().filter(|code| !code.contains('`'))?;
    (400..600)
        .contains(&number)
        .then(|| (status.to_owned(), code.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_row_of_a_table_of_errors_tells_status_and_code() {
        let error = |status: &str, code: &str| Some((status.to_owned(), code.to_owned()));
        for (line, expected) in [
            (
                "| 409 | `conflict_error` | `duplicate_sku` | Taken. | Choose another. |",
                error("409", "duplicate_sku"),
            ),
            (
                "  | 400 | `invalid_grant` | It is spent. |",
                error("400", "invalid_grant"),
            ),
            ("| Status | `type` | `code` | When |", None),
            ("|---|---|---|---|", None),
            ("| 200 | `ok` | Fine. |", None),
            ("| 404 | Not here. |", None),
            ("409 `duplicate_sku`", None),
            ("", None),
        ] {
            assert_eq!(row(line), expected, "{line}");
        }
    }
}
