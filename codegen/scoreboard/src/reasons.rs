//! The operations that a refusal affects: a problem of a component affects every operation that refers
//! to it, however indirectly; a problem without a particular place affects all.

use std::collections::{BTreeMap, HashSet};

use openapi_dropshot::Problems;
use serde_json::Value;

const METHODS: [&str; 8] = [
    "get", "put", "post", "patch", "delete", "head", "options", "trace",
];

/// Returns the operations of a document, each with its pointer.
pub fn operations(source: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = source["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let path = path.replace('~', "~0").replace('/', "~1");
        let members = item.as_object().into_iter().flatten();
        members
            .filter(|(method, _)| METHODS.contains(&method.as_str()))
            .map(move |(method, operation)| (format!("/paths/{path}/{method}"), operation))
    })
}

/// Returns every cause, and how many operations have it.
pub fn count(source: &Value, problems: &Problems) -> BTreeMap<String, usize> {
    let reached: Vec<(String, HashSet<String>)> = operations(source)
        .map(|(pointer, operation)| (pointer, components(source, operation)))
        .collect();
    let mut concerned: BTreeMap<String, HashSet<&str>> = BTreeMap::new();
    for problem in problems.iter() {
        let place = problem.pointer.as_str();
        let component = component_of(place);
        let is_concerned = |(pointer, components): &&(String, HashSet<String>)| {
            let inside = place.starts_with(pointer.as_str());
            let of_path = pointer.starts_with(place);
            inside || of_path || component.as_ref().is_some_and(|it| components.contains(it))
        };
        let all = concerned.entry(problem.cause.clone()).or_default();
        all.extend(
            reached
                .iter()
                .filter(is_concerned)
                .map(|(pointer, _)| pointer.as_str()),
        );
    }
    let counted = concerned.into_iter();
    counted.map(|(cause, all)| (cause, all.len())).collect()
}

/// Returns `/components/schemas/X` for any place in it.
fn component_of(place: &str) -> Option<String> {
    let mut tokens = place.strip_prefix("/components/")?.splitn(3, '/');
    Some(format!("/components/{}/{}", tokens.next()?, tokens.next()?))
}

/// Returns the components that a value refers to, directly or indirectly.
fn components(source: &Value, value: &Value) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    let pointer = target.trim_start_matches('#').to_owned();
                    if found.insert(pointer.clone()) {
                        open.extend(source.pointer(&pointer));
                    }
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
