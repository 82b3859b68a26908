//! `schemars::JsonSchema` of every component: the schema as the document publishes it.
//!
//! dropshot asks types for their schemas, and publishes the result. Derived implementations would be a second
//! description beside the document's, and a different one; so the types repeat the document. Two things differ in
//! schemars' dialect of JSON Schema: an exclusive bound is a number of its own, and a type that uses `$ref` must
//! request its target, so that it is among the components. (Implied types are also written out.) A component made
//! of an inline schema is not a component for dropshot either: it is published inline.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

use crate::model::{Document, Kind, Schema};
use crate::names;

/// The implementations for all components, beside `mod types`.
pub(super) fn tokens(document: &Document) -> TokenStream {
    document
        .schemas
        .iter()
        .map(|(name, schema)| implementation(document, name, schema))
        .collect()
}

fn implementation(document: &Document, name: &str, schema: &Schema) -> TokenStream {
    let ident = format_ident!("{}", names::of_type(name));
    let mut references = Vec::new();
    collect(document, schema, &mut references);
    written(document, &schema.json, &mut references);
    let references = references
        .iter()
        .map(|name| format_ident!("{}", names::of_type(name)));
    let json = in_dialect(&schema.json).to_string();
    let is_referenceable = !schema.is_made;
    quote! {
        ::openapi_dropshot_runtime::impl_schema!(
            types::#ident, #name, #is_referenceable, #json, [#(types::#references),*]
        );
    }
}

/// The published components that the schema refers to, each once.
fn collect<'a>(document: &'a Document, schema: &'a Schema, found: &mut Vec<&'a str>) {
    let mut add = |name: &'a String| match document.schemas.get(name) {
        Some(made) if made.is_made => collect(document, made, found),
        _ if found.contains(&name.as_str()) => {}
        _ => found.push(name),
    };
    match &schema.kind {
        Kind::Ref(name) => add(name),
        Kind::OneOf { mapping, .. } => mapping.values().for_each(add),
        Kind::Union(alternatives) => alternatives.iter().for_each(|it| add(&it.schema)),
        Kind::Array { items, .. } => collect(document, items, found),
        Kind::Map(values) => collect(document, values, found),
        Kind::Object {
            properties, others, ..
        } => {
            let all = properties.values().chain(others.kept());
            all.for_each(|it| collect(document, it, found));
        }
        _ => {}
    }
}

/// The components that the text of a schema also refers to: the parts of an `allOf`.
fn written<'a>(document: &'a Document, schema: &Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            let name = target.and_then(|it| it.strip_prefix("#/components/schemas/"));
            let component = name.and_then(|it| document.schemas.get_key_value(it));
            if let Some((name, _)) = component.filter(|(it, _)| !found.contains(&it.as_str())) {
                found.push(name);
            }
            let schemas = members
                .iter()
                .filter(|(name, _)| *name != "example" && *name != "default");
            schemas.for_each(|(_, it)| written(document, it, found));
        }
        Value::Array(items) => items.iter().for_each(|it| written(document, it, found)),
        _ => {}
    }
}

/// Writes out the implied type: dropshot drops limits without a type.
fn imply(schema: &mut Value) {
    let Some(members) = schema.as_object_mut().filter(|it| !it.contains_key("type")) else {
        return;
    };
    let values = members.get("enum").and_then(Value::as_array);
    let implied = match values {
        Some(values) if values.iter().all(Value::is_string) => "string",
        None if members.contains_key("properties") || members.contains_key("required") => "object",
        _ => return,
    };
    members.insert("type".to_owned(), implied.into());
}

/// The schema as schemars writes it.
pub(super) fn in_dialect(schema: &Value) -> Value {
    let mut schema = schema.clone();
    for (bound, exclusive) in [
        ("minimum", "exclusiveMinimum"),
        ("maximum", "exclusiveMaximum"),
    ] {
        let Some(members) = schema.as_object_mut() else {
            continue;
        };
        if members.remove(exclusive) == Some(Value::Bool(true))
            && let Some(value) = members.remove(bound)
        {
            members.insert(exclusive.to_owned(), value);
        }
    }
    imply(&mut schema);
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(keyword) {
            *inner = in_dialect(inner);
        }
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = schema.get_mut(keyword).and_then(Value::as_array_mut) {
            all.iter_mut().for_each(|it| *it = in_dialect(it));
        }
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|it| *it = in_dialect(it));
    }
    schema
}
