//! Checks the rules of this crate against `drift`, on the same two documents.
//!
//! `drift` does not distinguish the direction of a limit, and does not look at names, credentials,
//! headers, defaults, null and error codes; but it finds every difference of a schema, and judges
//! operations, parameters and responses. It is the safety net below the rules of this crate:
//!
//! 1. Both documents are normalized if `drift` would see a difference that is none (the order of
//!    `required` and `enum`, the case of a header), or would give up (a media type that only one of
//!    them has).
//! 2. Each difference that `drift` finds must have been found by the rules, in the same place.
//! 3. What `drift` calls incompatible must be breaking by the rules, too. The one exception is a new
//!    error status, which the rules may take for compatible.
//! 4. What is left is reported as breaking, in `drift`'s words.

use std::panic::{AssertUnwindSafe, catch_unwind};

use drift::{ChangeClass, ChangeDetails, ChangeInfo, JsonPathStack};
use openapi_dropshot::Problem;
use openapi_dropshot::model::Pointer;
use serde_json::Value;

use crate::change::{Change, Place, Severity};
use crate::document::Document;
use crate::pair::Pair;
use crate::walk::Kind;

/// Returns what `drift` finds and the rules have missed, or taken too lightly.
///
/// # Errors
/// If `drift` cannot read one of the documents.
pub fn missed(
    old: &Document,
    new: &Document,
    pairs: &[(Kind, Pair<'_>)],
    found: &[Change],
) -> Result<Vec<Change>, Problem> {
    let (before, after) = written_alike(old, new, pairs);
    let compared = catch_unwind(AssertUnwindSafe(|| drift::compare(&before, &after)));
    let seen = match compared {
        Ok(Ok(seen)) => seen,
        Ok(Err(error)) => {
            return Err(Problem {
                file: new.file.clone(),
                pointer: Pointer::default(),
                cause: format!("drift cannot compare it with {}: {error:#}", old.file),
                remedy: "correct what is no OpenAPI 3.0 in one of them".to_owned(),
            });
        }
        Err(_) => {
            return Ok(vec![breaking(
                Place::default(),
                "drift gave up on a difference",
            )]);
        }
    };
    let seen = seen.iter().flat_map(|change| {
        let path = change.paths.first();
        let infos = change.changes.iter();
        infos.filter_map(move |info| Some((path?, info)))
    });
    Ok(seen
        .filter(|(_, info)| info.class != ChangeClass::Trivial)
        .filter_map(|(path, info)| {
            let place = Place {
                old: pointer(&path.old, &info.old_subpath),
                new: pointer(&path.new, &info.new_subpath),
            };
            let known = found.iter().any(|change| agrees(change, &place, info));
            (!known).then(|| breaking(place, &info.message))
        })
        .collect())
}

/// Steps 2 and 3.
fn agrees(change: &Change, place: &Place, seen: &ChangeInfo) -> bool {
    let below = |inner: &Option<String>, outer: &Option<String>| match (inner, outer) {
        (Some(inner), Some(outer)) => inner
            .strip_prefix(outer.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        _ => false,
    };
    let there = match seen.details {
        ChangeDetails::Removed => below(&change.place.old, &place.old),
        ChangeDetails::Added | ChangeDetails::AddedRequired => below(&change.place.new, &place.new),
        _ => below(&change.place.new, &place.new) || below(&change.place.old, &place.old),
    };
    let grave_enough = match (seen.class, change.severity) {
        (_, Severity::Text) => false,
        (ChangeClass::BackwardIncompatible | ChangeClass::Incompatible, Severity::Compatible) => {
            seen.details == ChangeDetails::Added && is_new_error(&change.place)
        }
        _ => true,
    };
    there && grave_enough
}

fn is_new_error(place: &Place) -> bool {
    let status = place
        .new
        .as_ref()
        .and_then(|it| it.rsplit_once("/responses/"));
    place.old.is_none() && status.is_some_and(|(_, it)| it.starts_with(['4', '5']))
}

/// Converts `drift`'s pointer to a JSON Pointer; `None` for the place of all paths, which is not a
/// particular place.
fn pointer(base: &JsonPathStack, subpath: &str) -> Option<String> {
    let base = base.base_and_subpath().0.trim_start_matches('#');
    // The only segment that `drift` names differently from the document.
    let subpath = subpath.replace("request_body", "requestBody");
    match (base, subpath.as_str()) {
        ("/paths", _) => None,
        (_, "") => Some(base.to_owned()),
        _ => Some(format!("{base}/{subpath}")),
    }
}

fn breaking(place: Place, what: &str) -> Change {
    Change {
        severity: Severity::Breaking,
        subject: place.pointer().to_owned(),
        what: format!("{what} (seen by drift; no rule judges it)"),
        whom: "whoever meets it".to_owned(),
        place,
    }
}

/// Step 1.
fn written_alike(old: &Document, new: &Document, pairs: &[(Kind, Pair<'_>)]) -> (Value, Value) {
    let (mut before, mut after) = (old.json.clone(), new.json.clone());
    for (kind, pair) in pairs {
        if !matches!(kind, Kind::Body | Kind::Answer) {
            continue;
        }
        let content = pair.both.at("content");
        let comparable = |media: &String| {
            let media = content.at(media);
            media.old.get("schema").is_some() && media.new.get("schema").is_some()
        };
        let kept: Vec<_> = content
            .names()
            .kept
            .into_iter()
            .filter(comparable)
            .collect();
        for (json, pointer) in [
            (&mut before, &content.old.pointer),
            (&mut after, &content.new.pointer),
        ] {
            if let Some(Value::Object(media)) = json.pointer_mut(pointer) {
                media.retain(|name, _| kept.contains(name));
            }
        }
    }
    rewrite(&mut before);
    rewrite(&mut after);
    (before, after)
}

fn rewrite(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("in").is_some_and(|it| it == "header")
                && let Some(Value::String(name)) = members.get_mut("name")
            {
                name.make_ascii_lowercase();
            }
            for (name, member) in members {
                match member {
                    Value::Array(items) if name == "required" || name == "enum" => {
                        items.sort_by_key(Value::to_string);
                    }
                    member => rewrite(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{pair, walk};

    fn document(json: Value) -> Document {
        Document::new("test.yaml", json).expect("it is a document")
    }

    /// A document with one operation, which returns `schema`.
    fn answering(schema: Value) -> Document {
        let content = json!({ "application/json": { "schema": schema } });
        let answer = json!({ "description": "An answer", "content": content });
        let operation = json!({ "operationId": "read", "responses": { "200": answer } });
        document(json!({
            "openapi": "3.0.3",
            "info": { "title": "Test", "version": "1.0.0" },
            "paths": { "/things": { "get": operation } },
        }))
    }

    /// What is missed of the difference of two responses if the rules have found `found`.
    fn missed_of(old: Value, new: Value, found: &[Change]) -> Vec<String> {
        let (old, new) = (answering(old), answering(new));
        let pairs = walk::pairs(&pair::operations(&old, &new).kept);
        let missed = missed(&old, &new, &pairs, found).expect("drift can read both");
        missed.into_iter().map(|change| change.what).collect()
    }

    const SCHEMA: &str =
        "/paths/~1things/get/responses/200/content/application~1json/schema/maxLength";

    fn change(severity: Severity, pointer: &str) -> Change {
        let place = Place {
            old: Some(pointer.to_owned()),
            new: Some(pointer.to_owned()),
        };
        Change {
            severity,
            ..breaking(place, "a rule")
        }
    }

    #[test]
    fn what_the_rules_have_not_seen_is_reported() {
        let (old, new) = (
            json!({ "type": "string" }),
            json!({ "type": "string", "maxLength": 7 }),
        );
        let elsewhere = change(Severity::Breaking, "/paths/~1other/get");
        let text = change(Severity::Text, SCHEMA);
        for found in [vec![], vec![elsewhere], vec![text]] {
            let missed = missed_of(old.clone(), new.clone(), &found);
            assert_eq!(
                missed,
                ["string schema changed (seen by drift; no rule judges it)"]
            );
        }
        let seen = change(Severity::Compatible, SCHEMA);
        assert!(missed_of(old, new, &[seen]).is_empty());
    }

    #[test]
    fn what_drift_calls_incompatible_must_be_breaking() {
        let (old, new) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        let lenient = change(Severity::Compatible, SCHEMA);
        let missed = missed_of(old.clone(), new.clone(), &[lenient]);
        assert_eq!(
            missed,
            ["schema types changed (seen by drift; no rule judges it)"]
        );
        let strict = change(Severity::Breaking, SCHEMA);
        assert!(missed_of(old, new, &[strict]).is_empty());
    }

    #[test]
    fn what_drift_cannot_read_is_a_problem_and_no_verdict() {
        let (old, new) = (
            json!({ "type": "string" }),
            json!({ "$ref": "#/components/schemas/Gone" }),
        );
        let (old, new) = (answering(old), answering(new));
        let problem = missed(&old, &new, &[], &[]).expect_err("there is no such schema");
        assert!(
            problem.to_string().contains("invalid reference"),
            "{problem}"
        );
    }
}
