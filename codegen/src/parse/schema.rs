//! Reads schemas, one by one. [`super::graph`] handles what concerns several of them.

use serde_json::Value;

use crate::model::{Kind, Limit, Schema};
use crate::names::part;

use super::lenient;
use super::limits;
use super::object;
use super::one_of;
use super::parts;
use super::reader::{Keywords, Place, Reader};
use super::scalar;

const ANY_TYPE: &[&str] = &["boolean", "integer", "number", "string", "array", "object"];

const BOOLEAN: Keywords = Keywords::of_schema(
    "a schema of type boolean",
    &["type", "nullable", "default", "enum"],
);
const ARRAY: Keywords = Keywords::of_schema(
    "a schema of type array",
    &[
        "type",
        "nullable",
        "default",
        "items",
        "minItems",
        "maxItems",
        "uniqueItems",
    ],
);
const ANY: Keywords = Keywords::of_schema("a schema without a type", &["nullable", "default"]);
const NEVER: Keywords = Keywords::of_schema("a schema that nothing is", &["not"]);

/// How long a chain of components that repeat the next one may be. Reading recurses.
const MAX_SAID: usize = 32;

/// The meaning of a schema, merged from its parts.
pub(super) struct Said {
    pub(super) kind: Kind,
    pub(super) limits: Vec<Limit>,
    pub(super) nullable: bool,
}

impl Said {
    /// Creates one without limits.
    pub(super) fn plain(kind: Kind, nullable: bool) -> Said {
        Said {
            kind,
            limits: Vec::new(),
            nullable,
        }
    }
}

/// Reads a schema under `components/schemas`. It is read only once, however many others repeat it.
pub(super) fn component(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<Schema> {
    if let Some(said) = reader.made.said(name) {
        return said;
    }
    reader.made.say(name, None);
    let schema = match place.get("$ref") {
        Some(_) => reader
            .reference(&place, "schemas")
            .and_then(|target| said(reader, &place, &target))
            .map(|it| Schema {
                json: place.value.clone(),
                pointer: place.pointer.clone(),
                ..it
            }),
        None => any(reader, place, name),
    };
    reader.made.say(name, Some(schema.clone()));
    schema
}

/// Reads the component of this name for the schema at `place`, which repeats it.
pub(super) fn said(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Schema> {
    if reader.made.is_open(name) {
        reader.refuse(
            &place.pointer,
            format!("`{name}` would have to say what it says itself"),
            "break the circle of references",
        );
        return None;
    }
    if reader.made.open() > MAX_SAID && reader.made.said(name).is_none() {
        reader.refuse(
            &place.pointer,
            format!("more than {MAX_SAID} components say what the next one says"),
            "refer to the last of them",
        );
        return None;
    }
    component(reader, reader.component("schemas", name)?, name)
}

/// Reads a schema anywhere else. One that needs a type becomes a component of this name, and the schema a
/// reference to it; what remains is a reference, an unconstrained scalar, or a list or map of such.
pub(super) fn inline(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<Schema> {
    if let Some(made) = reader.made.at(&place.pointer) {
        return Some(reference(place, made));
    }
    if place.get("$ref").is_some() {
        let name = reader.reference(&place, "schemas")?;
        return Some(reference(place, name));
    }
    if let Some(target) = parts::only_reference(reader, &place) {
        return Some(Schema {
            nullable: reader.flag(&place, "nullable"),
            description: reader.text(&place, "description"),
            default: place.get("default").map(|it| it.value.clone()),
            ..reference(place, target?)
        });
    }
    let schema = any(reader, place.clone(), name)?;
    let needs_type = match &schema.kind {
        Kind::Object { .. } | Kind::OneOf { .. } | Kind::Union(_) | Kind::Null | Kind::Never => {
            true
        }
        Kind::Array { .. } | Kind::Map(_) | Kind::Any | Kind::Ref(_) => false,
        kind => schema.default.is_some() || scalar::is_constrained(kind),
    };
    if !needs_type {
        return Some(schema);
    }
    let made = reader.made.add(name, schema);
    Some(reference(place, made))
}

fn reference(place: Place<'_>, name: String) -> Schema {
    Schema {
        kind: Kind::Ref(name),
        limits: Vec::new(),
        nullable: false,
        description: None,
        default: None,
        json: place.value.clone(),
        is_made: false,
        pointer: place.pointer,
    }
}

/// Reads a schema that is not a reference.
pub(super) fn any(reader: &Reader<'_>, place: Place<'_>, name: &str) -> Option<Schema> {
    let flag = reader.flag(&place, "nullable");
    let Said {
        kind,
        mut limits,
        nullable,
    } = if place.get("allOf").is_some() {
        parts::all_of(reader, &place, name)?
    } else if place.get("oneOf").or_else(|| place.get("anyOf")).is_some() {
        one_of::read(reader, &place, name)?
    } else {
        Said::plain(of_type(reader, &place, name)?, false)
    };
    limits.extend(limits::read(reader, &place, &kind));
    // Any value already includes null.
    let nullable = (flag || nullable) && !matches!(kind, Kind::Any);
    Some(Schema {
        kind,
        limits,
        nullable,
        description: place
            .get("description")
            .and_then(|it| it.value.as_str())
            .map(str::to_owned),
        default: place.get("default").map(|it| it.value.clone()),
        json: place.value.clone(),
        is_made: false,
        pointer: place.pointer,
    })
}

fn of_type(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let Some(kind) = place.get("type") else {
        return without_type(reader, place);
    };
    match reader.expect(&kind, "text", Value::as_str)? {
        "boolean" => reader
            .object(place.clone(), &BOOLEAN)
            .map(|_| Kind::Boolean),
        "integer" => scalar::integer(reader, place),
        "number" => scalar::number(reader, place),
        "string" => scalar::string(reader, place),
        "array" => array(reader, place, name),
        "object" => object::read(reader, place, name),
        other => {
            reader.refuse(
                &kind.pointer,
                format!("`{other}` is not a type"),
                format!("write one of {}", ANY_TYPE.join(", ")),
            );
            None
        }
    }
}

/// A schema without limits is any value. A limit that applies to one type, without that type, would let all
/// values of other types pass, which is never meant.
fn without_type(reader: &Reader<'_>, place: &Place<'_>) -> Option<Kind> {
    if place
        .get("not")
        .is_some_and(|it| it.value == &Value::Object(Default::default()))
    {
        return reader.object(place.clone(), &NEVER).map(|_| Kind::Never);
    }
    let texts = place.value.get("enum").and_then(Value::as_array);
    if texts.is_some_and(|all| all.iter().all(Value::is_string)) {
        return scalar::string(reader, place);
    }
    let implied = [
        ("properties", "object"),
        ("required", "object"),
        ("additionalProperties", "object"),
        ("items", "array"),
        ("pattern", "string"),
        ("minLength", "string"),
        ("maxLength", "string"),
        ("format", "string"),
    ];
    if let Some((keyword, of)) = implied.iter().find(|it| place.get(it.0).is_some()) {
        let cause = format!(
            "the schema has `{keyword}` and no `type`, so that it limits values of one type and lets all others pass"
        );
        let remedy = format!("write `type: {of}`");
        match lenient::may_be_told(keyword) {
            true => {
                let limit = place.pointer.child(keyword);
                reader.refuse_limit(&place.pointer, limit, cause, remedy);
            }
            false => reader.refuse(&place.pointer, cause, remedy),
        }
        return None;
    }
    let place = reader.object(place.clone(), &ANY)?;
    place.get("enum").is_none().then_some(Kind::Any)
}

fn array(reader: &Reader<'_>, place: &Place<'_>, name: &str) -> Option<Kind> {
    let place = reader.object(place.clone(), &ARRAY)?;
    let (min_items, max_items) = (
        reader.count(&place, "minItems"),
        reader.count(&place, "maxItems"),
    );
    scalar::check_range(reader, &place.pointer, "Items", min_items, max_items);
    let Some(items) = place.get("items") else {
        reader.missing(&place, "items");
        return None;
    };
    Some(Kind::Array {
        items: Box::new(inline(reader, items, &part(name, "item"))?),
        min_items,
        max_items,
        unique_items: reader.flag(&place, "uniqueItems"),
    })
}
