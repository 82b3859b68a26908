//! Parts of documents: a few paths, and everything that they refer to.
//!
//! A mistake in one of ten operations is as likely to be noticed as one in a thousand, and costs a
//! hundredth.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Returns a document of up to three of the paths of this one, and the components that these use.
pub fn of(document: &Value, random: &mut Rng) -> Value {
    let mut part = Map::new();
    for (name, value) in document.as_object().into_iter().flatten() {
        if name != "paths" && name != "components" {
            part.insert(name.clone(), value.clone());
        }
    }
    let all: Vec<_> = document["paths"]
        .as_object()
        .into_iter()
        .flatten()
        .collect();
    let chosen = random.choose_multiple(all, random.clone().usize(1..4));
    let paths: Map<String, Value> = chosen
        .into_iter()
        .map(|(name, item)| (name.clone(), item.clone()))
        .collect();
    let mut components = json!({});
    // Operations name them without a reference.
    if let Some(schemes) = document["components"].get("securitySchemes") {
        components["securitySchemes"] = schemes.clone();
    }
    let mut open = vec![Value::Object(paths.clone())];
    while let Some(value) = open.pop() {
        for (kind, name) in references(&value) {
            if components[&kind].get(&name).is_none()
                && let Some(component) = document["components"][&kind].get(&name)
            {
                components[&kind][&name] = component.clone();
                open.push(component.clone());
            }
        }
    }
    part.insert("paths".to_owned(), paths.into());
    part.insert("components".to_owned(), components);
    part.into()
}

/// The components that a value refers to: kind and name.
fn references(value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Object(members) => members.values().flat_map(references).collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::String(text) => {
            let path = text.strip_prefix("#/components/");
            let names = path.and_then(|it| it.split_once('/'));
            names
                .map(|(kind, name)| (kind.to_owned(), name.to_owned()))
                .into_iter()
                .collect()
        }
        _ => Vec::new(),
    }
}
