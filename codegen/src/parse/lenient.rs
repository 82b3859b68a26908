//! Lenient reading: reads a document of which a part is documentation only.
//!
//! Strict reading refuses every keyword that nothing enforces. Some of these could be dropped without changing what is
//! sent, where, or in which type; they are marked when they are refused ([`Reader::refuse_limit`]). A lenient reader
//! removes the marked ones, reads again, and reports each. So documents are read in only one way, the strict one.
//!
//! If alternatives are told apart by trial, an unenforced limit would change which of them is meant. There, it stays
//! refused.
//!
//! [`Reader::refuse_limit`]: super::reader::Reader::refuse_limit

use std::collections::BTreeSet;

use serde_json::Value;

use crate::model::{Document, Pointer};
use crate::{Problem, Problems};

use super::reader::Refused;

/// The keywords of OpenAPI and JSON Schema that change neither what is sent nor its types if nothing enforces them:
/// limits, and documentation. All others stay refused, since an unknown keyword may be one of these misspelt.
const TOLD: &[&str] = &[
    "$comment",
    "callbacks",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "if",
    "links",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "pattern",
    "propertyNames",
    "summary",
    "tags",
    "then",
    "title",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "webhooks",
    "xml",
];

/// Whether a keyword that is not understood may be taken as documentation.
pub(super) fn may_be_told(keyword: &str) -> bool {
    keyword.starts_with("x-") || TOLD.contains(&keyword)
}

/// Returns the document, by strict readings of what remains, and what was removed on the way.
pub(super) fn document(
    source: &Value,
    read: impl Fn(&Value) -> Result<Document, Refused>,
) -> Result<(Document, Vec<Problem>), Problems> {
    let mut rest = source.clone();
    let mut taken = Vec::<(Pointer, Problem)>::new();
    let document = loop {
        let refused = match read(&rest) {
            Ok(document) => break document,
            Err(refused) => refused,
        };
        let problems = refused.problems;
        let before = taken.len();
        for (pointer, problem) in refused.limits {
            // A place is read as often as something refers to it.
            if remove(&mut rest, &pointer) {
                taken.push((pointer, problem));
            }
        }
        if taken.len() == before {
            // A problem with a schema may be caused by what was removed from it.
            let is_cause = |(it, _): &(Pointer, Problem)| {
                let mut places = problems.iter().map(|problem| &problem.pointer);
                places.any(|place| is_inside(it, place))
            };
            let causes = taken.into_iter().filter(is_cause).map(|(_, it)| it);
            let all = problems.iter().cloned().chain(causes).collect();
            return Err(Problems::new(all).unwrap_or(problems));
        }
    };
    let is_tried = tried(&document, source);
    let (refused, told): (Vec<_>, Vec<_>) = taken.into_iter().partition(|(it, _)| is_tried(it));
    let refused = refused.into_iter().map(|(_, it)| it).collect();
    if let Some(problems) = Problems::new(refused) {
        return Err(problems);
    }
    let told = told.into_iter().map(|(pointer, problem)| {
        let keyword = pointer.as_str().rsplit('/').next().unwrap_or_default();
        let remedy = format!("`{keyword}` is told to readers, and nothing keeps it");
        Problem { remedy, ..problem }
    });
    let told = Problems::new(told.collect());
    let told = told.map_or(Vec::new(), |it| it.iter().cloned().collect());
    Ok((document, told))
}

/// Whether a place is in alternatives that are told apart by trial, or in anything that these refer to.
fn tried(document: &Document, source: &Value) -> impl Fn(&Pointer) -> bool + use<> {
    let schemas = document.schemas.values();
    let unions = schemas.filter(|it| it.tried().next().is_some());
    let mut open: Vec<_> = unions.map(|it| it.pointer.clone()).collect();
    let mut places = BTreeSet::new();
    while let Some(place) = open.pop() {
        if let Some(value) = source.pointer(place.as_str())
            && places.insert(place)
        {
            references(value, &mut open);
        }
    }
    move |it| places.iter().any(|place| is_inside(it, place))
}

/// The places that anything in a value refers to.
fn references(value: &Value, found: &mut Vec<Pointer>) {
    match value {
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            let steps = target.and_then(|it| it.strip_prefix("#/"));
            found.extend(steps.map(|it| {
                it.split('/')
                    .fold(Pointer::default(), |at, step| at.child(step))
            }));
            members.values().for_each(|it| references(it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| references(it, found)),
        _ => {}
    }
}

fn is_inside(it: &Pointer, place: &Pointer) -> bool {
    let rest = it.as_str().strip_prefix(place.as_str());
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// Removes a member; `false` if it is already gone.
fn remove(value: &mut Value, pointer: &Pointer) -> bool {
    let Some((parent, name)) = pointer.as_str().rsplit_once('/') else {
        return false;
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    let members = value.pointer_mut(parent).and_then(Value::as_object_mut);
    members.is_some_and(|it| it.shift_remove(&name).is_some())
}
