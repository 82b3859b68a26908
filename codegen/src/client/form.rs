//! Forms whose members are more than single values (OpenAPI 3.0.3, Encoding Object).
//!
//! A list of single values repeats its name for each; any other member that is not a single value is
//! written as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// Returns the pairs of a form; the members named in `json` are written as JSON. A null member is left
/// out.
///
/// # Errors
/// If the body cannot be written as an object.
pub fn pairs<B: Serialize>(body: &B, json: &[&str]) -> serde_json::Result<Vec<(String, String)>> {
    let text = serde_json::to_string(body)?;
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(&text)?;
    let mut pairs = Vec::new();
    for (name, value) in members {
        let value = value.get();
        if json.contains(&name.as_str()) {
            pairs.push((name, value.to_owned()));
        } else if value.starts_with('[') {
            for item in serde_json::from_str::<Vec<&RawValue>>(value)? {
                pairs.push((name.clone(), single(item.get())?));
            }
        } else if value != "null" {
            pairs.push((name, single(value)?));
        }
    }
    Ok(pairs)
}

/// Returns a single value as it is written in a form.
fn single(value: &str) -> serde_json::Result<String> {
    match value.starts_with('"') {
        true => serde_json::from_str(value),
        false => Ok(value.to_owned()),
    }
}
