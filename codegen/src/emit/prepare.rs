//! Prepares the document for progenitor.
//!
//! Much of what typify and progenitor do, they do well: structs, enumerations, checked strings, builders. What they
//! would get wrong is replaced, before they see it, by a name that [`super::patch`] finds again in their output:
//!
//! - a component whose type this crate emits itself (a number, an integer, a UUID, a time, an address, a `oneOf`)
//!   is replaced by [`own`]: `::patch::types::Amount`;
//! - null, lists, maps and decimals are [`marker`]s: `::patch::Field<T>`, `::patch::Nullable<T>`,
//!   `::patch::List<T>`, `::patch::Map<T>`, `::patch::Optional<T>`, `::patch::Decimal` and `::patch::Any`. typify
//!   has no third state besides a value and none, cannot tell an absent list from an empty one, and makes every
//!   number an `f64`;
//! - properties and values of enumerations that typify would rename differently are given their Rust names;
//! - defaults are removed. They say how the server treats an absent value, and would make typify forget that it is
//!   absent.
//!
//! The document is rebuilt from the model, so nothing unknown to the model can reach progenitor, which panics on
//! much that it does not like.

use serde_json::{Map, Value, json};

use crate::model::{
    Body, Content, Document, Format, JSON, Kind, Limit, Location, Operation, OrNull, Others,
    Parameter, Response, Schema, Status, Text,
};
use crate::names;

use super::several;

/// A crate that does not exist, whose items are rewritten later.
pub(super) const MARKER: &str = "patch";

/// The start of its types' paths, as tokens are written.
pub(super) const MARKED: &str = ":: patch :: types :: ";

/// Whether this crate emits the type of the component itself.
pub(super) fn is_own(schema: &Schema) -> bool {
    match &schema.kind {
        Kind::Integer { .. }
        | Kind::Number { .. }
        | Kind::OneOf { .. }
        | Kind::Union(_)
        | Kind::Null
        | Kind::Any
        | Kind::Never => true,
        Kind::String(text) => !matches!(text.format, None | Some(Format::Password | Format::Uri)),
        _ => false,
    }
}

/// The path that stands for the type of a component that this crate emits itself.
pub(super) fn own(name: &str) -> String {
    format!("::{MARKER}::types::{name}")
}

/// The prepared document.
pub(super) fn document(document: &Document) -> Value {
    let mut paths = Map::new();
    for operation in &document.operations {
        let item = paths
            .entry(operation.path.clone())
            .or_insert_with(|| json!({}));
        item[operation.method.as_str().to_lowercase()] = prepared(document, operation);
    }
    with_paths(document, paths)
}

/// The same without operations, none of which becomes a type: for the server, which would throw the client away.
pub(super) fn components(document: &Document) -> Value {
    with_paths(document, Map::new())
}

fn with_paths(document: &Document, paths: Map<String, Value>) -> Value {
    let schemas: Map<String, Value> = document
        .schemas
        .iter()
        .map(|(name, schema)| (name.clone(), component(document, schema)))
        .collect();
    json!({
        "openapi": "3.0.3",
        "info": { "title": document.title, "version": document.version },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn prepared(document: &Document, operation: &Operation) -> Value {
    let mut responses = Map::new();
    for (status, answer) in statuses(operation) {
        let mut prepared = prepared_answer(answer);
        let is_error = operation.errors.iter().any(|it| std::ptr::eq(it, answer));
        let has_several = match is_error {
            true => several::has_several(operation),
            false => !operation.success_bodies().is_empty(),
        };
        if has_several {
            prepared["content"] = json!({ "*/*": { "schema": {} } });
        }
        responses.insert(status.to_string(), prepared);
    }
    let parameters: Vec<_> = operation
        .parameters
        .iter()
        .map(|it| prepared_parameter(document, it))
        .collect();
    let mut value = json!({
        "operationId": operation.plain_id(),
        "parameters": parameters,
        "responses": responses,
        "deprecated": operation.deprecated,
    });
    tell(&mut value, "summary", operation.summary.as_deref());
    tell(&mut value, "description", operation.description.as_deref());
    if operation.success.is_upgrade() {
        value["x-dropshot-websocket"] = json!({});
    }
    if let Some(body) = &operation.body {
        value["requestBody"] = json!({ "required": true, "content": request_content(body) });
    }
    value
}

/// The responses of an operation, such that no two share a status: progenitor would match the wider first, and also
/// take `default` for a success.
fn statuses(operation: &Operation) -> Vec<(Status, &Response)> {
    let several = several::has_several(operation);
    // progenitor does not take 3xx for a success: the client follows it, and returns the result.
    let success = &operation.success;
    let is_redirect = matches!(success.status, Status::Code(300..400));
    let mut all = Vec::from_iter((!is_redirect).then_some((success.status, success)));
    all.extend(operation.further.iter().map(|it| (it.status, it)));
    let first = all.len();
    let mut classes = Vec::new();
    for answer in operation.errors.iter().rev() {
        match answer.status {
            Status::Code(code) if classes.contains(&(code / 100)) => {}
            // What each status means is put back later.
            Status::Code(code) if several => classes.push(code / 100),
            Status::Code(_) => all.insert(first, (answer.status, answer)),
            Status::Class(digit) if !classes.contains(&digit) => classes.push(digit),
            Status::Class(_) => {}
            Status::Other if several => classes = vec![4, 5],
            Status::Other => classes.extend([4, 5]),
        }
    }
    let of_class = |digit| operation.errors.last().map(|it| (Status::Class(digit), it));
    all.extend(classes.into_iter().filter_map(of_class));
    all
}

fn prepared_parameter(document: &Document, parameter: &Parameter) -> Value {
    let location = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
    };
    let mut value = json!({
        "name": parameter.name,
        "in": location,
        "required": parameter.required,
        "schema": inline(document, &parameter.schema),
    });
    tell(&mut value, "description", parameter.description.as_deref());
    value
}

fn prepared_answer(answer: &Response) -> Value {
    let mut value = json!({ "description": answer.description });
    match &answer.content {
        Some(Content::Json {
            component: schema, ..
        }) => {
            let schema = body(schema, answer.null);
            value["content"] = json!({ "application/json": { "schema": schema } });
        }
        // progenitor returns the bytes.
        Some(_) => value["content"] = json!({ "*/*": { "schema": {} } }),
        None => {}
    }
    value
}

/// A reference to the component of a body that may be null.
fn body(component: &str, null: OrNull) -> Value {
    match null {
        OrNull::Here | OrNull::ByComponent => marker("Nullable", Some(reference(component))),
        OrNull::Never => reference(component),
    }
}

/// A request body in one of the media types that progenitor knows. [`super::bodies`] restores the real ones of
/// bytes.
fn request_content(body: &Body) -> Value {
    const FORM: &str = "application/x-www-form-urlencoded";
    let bytes = json!({ "type": "string", "format": "binary" });
    let (media_type, schema) = match &body.content {
        Content::Json { component, .. } => match body.required {
            true => (JSON, self::body(component, body.null)),
            false => (JSON, marker("Optional", Some(reference(component)))),
        },
        Content::Form(name) => match body.required {
            true => (FORM, reference(name)),
            false => (FORM, marker("Optional", Some(reference(name)))),
        },
        Content::Text(_) => ("text/plain", json!({ "type": "string" })),
        Content::Multipart | Content::Bytes(_) => ("application/octet-stream", bytes),
    };
    json!({ media_type: { "schema": schema } })
}

fn reference(component: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{component}") })
}

fn tell(value: &mut Value, keyword: &str, text: Option<&str>) {
    if let Some(text) = text {
        value[keyword] = text.into();
    }
}

/// A component, which is never null by itself: references to it are nullable instead.
fn component(document: &Document, schema: &Schema) -> Value {
    let mut value = match &schema.kind {
        // Replaced, so only the name matters.
        _ if is_own(schema) => json!({ "type": "string" }),
        Kind::Object {
            properties,
            required,
            others,
        } => {
            let (fields, _) = schema.fields();
            let seen = |name: &String| {
                let at = properties.get_index_of(name).unwrap_or_default();
                seen_field(name, &fields[at]).to_owned()
            };
            let members = properties.iter().map(|(name, schema)| {
                let member = property(document, schema, required.contains(name));
                (seen(name), member)
            });
            let members: Map<String, Value> = members.collect();
            let required: Vec<_> = required.iter().map(seen).collect();
            json!({
                "type": "object",
                "properties": members,
                "required": required,
                "additionalProperties": match others {
                    Others::Refused => json!(false),
                    Others::Ignored => json!(true),
                    Others::Kept(schema) => item(document, schema),
                },
            })
        }
        Kind::Array { items, .. } => json!({ "type": "array", "items": item(document, items) }),
        Kind::Map(values) => {
            json!({ "type": "object", "additionalProperties": item(document, values) })
        }
        Kind::String(text) => string(text),
        _ => json!({ "type": "boolean" }),
    };
    tell(&mut value, "description", described(schema).as_deref());
    value
}

/// The name under which typify sees a property: its own, unless typify would make another field of it.
pub(super) fn seen_field<'n>(name: &'n str, field: &'n str) -> &'n str {
    let is_own = names::is_plain(name) && names::value(name) == field;
    if is_own { name } else { field }
}

/// The values under which typify sees an enumeration: its own, unless typify would make other variants of them. It
/// would turn `BC` into `Bc`, so words of one letter are separated: `B-C`.
pub(super) fn seen_values(text: &Text) -> Vec<String> {
    let variants = text.variants();
    let is_own = |(value, variant): (&String, &String)| {
        names::is_plain(&value.replace(' ', "-")) && names::of_type(value) == *variant
    };
    match text.enumeration.iter().zip(&variants).all(is_own) {
        true => text.enumeration.clone(),
        false => variants.iter().map(|it| apart(it)).collect(),
    }
}

fn apart(variant: &str) -> String {
    let mut seen = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && seen.ends_with(|it: char| !it.is_ascii_lowercase()) {
            seen.push('-');
        }
        seen.push(letter);
    }
    seen
}

fn string(text: &Text) -> Value {
    let mut value = json!({ "type": "string" });
    if !text.enumeration.is_empty() {
        // The values were checked against the other keywords when the document was read.
        value["enum"] = json!(seen_values(text));
        return value;
    }
    for (keyword, limit) in [
        // No text is shorter than empty: rustc would warn about the comparison.
        ("minLength", text.min_length.filter(|it| *it > 0)),
        ("maxLength", text.max_length),
    ] {
        if let Some(limit) = limit {
            value[keyword] = limit.into();
        }
    }
    tell(&mut value, "pattern", text.pattern.as_deref());
    value
}

/// A property: null and absence are marked, so that they stay distinct.
fn property(document: &Document, schema: &Schema, required: bool) -> Value {
    let inner = inline(document, schema);
    let mut value = match (document.is_nullable(schema), required) {
        (false, _) => inner,
        (true, false) => marker("Field", Some(inner)),
        (true, true) => marker("Nullable", Some(inner)),
    };
    if value.get("$ref").is_none() {
        tell(&mut value, "description", described(schema).as_deref());
    }
    value
}

/// The description, and the limits that no type enforces, but the server's request checker does.
pub(super) fn described(schema: &Schema) -> Option<String> {
    let mut limits = Vec::new();
    if let Kind::Array {
        min_items,
        max_items,
        unique_items,
        ..
    } = &schema.kind
    {
        limits.extend(min_items.map(|limit| format!("at least {limit} items")));
        limits.extend(max_items.map(|limit| format!("at most {limit} items")));
        limits.extend(unique_items.then(|| "no item twice".to_owned()));
    }
    limits.extend(schema.limits.iter().map(|limit| match limit {
        Limit::MultipleOf(of) => format!("a multiple of {of}"),
        Limit::Values(values) => format!("one of {}", values.join(", ")),
        Limit::MinProperties(least) => format!("at least {least} members"),
        Limit::MaxProperties(most) => format!("at most {most} members"),
    }));
    if limits.is_empty() {
        return schema.description.clone();
    }
    let limits = format!("Limits: {}.", limits.join(", "));
    let description = schema.description.iter().map(|it| it.trim());
    let parts: Vec<_> = description.chain([limits.as_str()]).collect();
    Some(parts.join("\n\n"))
}

fn item(document: &Document, schema: &Schema) -> Value {
    let inner = inline(document, schema);
    if document.is_nullable(schema) {
        marker("Nullable", Some(inner))
    } else {
        inner
    }
}

/// An inline schema, apart from null.
fn inline(document: &Document, schema: &Schema) -> Value {
    match &schema.kind {
        Kind::Ref(name) => reference(name),
        Kind::Number { .. } => marker("Decimal", None),
        Kind::Any => marker("Any", None),
        Kind::Array { items, .. } => marker("List", Some(item(document, items))),
        Kind::Map(values) => marker("Map", Some(item(document, values))),
        Kind::Integer { width, .. } => json!({ "type": "integer", "format": width.format() }),
        Kind::Boolean => json!({ "type": "boolean" }),
        // Objects and `oneOf`s are components, so only plain text is left.
        _ => json!({ "type": "string" }),
    }
}

/// typify's own way to name the Rust type of a schema.
fn marker(name: &str, parameter: Option<Value>) -> Value {
    json!({
        "x-rust-type": {
            "crate": MARKER,
            "version": "*",
            "path": format!("{MARKER}::{name}"),
            "parameters": parameter.into_iter().collect::<Vec<_>>(),
        }
    })
}
