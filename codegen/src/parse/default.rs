//! Checks that each `default` passes the schema that it belongs to.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::model::{Alternative, Format, Kind, Others, Schema, Sign, Text};

use super::bounds;
use super::limits;
use super::linear;
use super::reader::Reader;

type Schemas = IndexMap<String, Schema>;

/// Refuses defaults that do not pass their own schemas, in this schema and in everything inside it.
pub(super) fn check(reader: &Reader<'_>, schemas: &Schemas, schema: &Schema) {
    if let Some(default) = &schema.default
        && let Some(fault) = fault(schemas, schema, default)
    {
        reader.refuse(
            &schema.pointer.child("default"),
            format!("the default does not pass its own schema: {fault}"),
            "correct the default, or remove it",
        );
    }
    match &schema.kind {
        Kind::Array { items, .. } => check(reader, schemas, items),
        Kind::Map(values) => check(reader, schemas, values),
        Kind::Object {
            properties, others, ..
        } => {
            let all = properties.values().chain(others.kept());
            all.for_each(|it| check(reader, schemas, it));
        }
        _ => {}
    }
}

fn fault(schemas: &Schemas, schema: &Schema, value: &Value) -> Option<&'static str> {
    if value.is_null() && matches!(schema.kind, Kind::Null | Kind::Any) {
        return None;
    }
    if value.is_null() {
        let target = match &schema.kind {
            Kind::Ref(name) => schemas.get(name)?,
            _ => schema,
        };
        let nullable = schema.nullable || target.nullable || matches!(target.kind, Kind::Any);
        return (!nullable).then_some("null is what leaving it out means");
    }
    let inside = |schema: &Schema, value: &Value| fault(schemas, schema, value);
    if let Some(fault) = limits::fault(&schema.limits, value) {
        return Some(fault);
    }
    match (&schema.kind, value) {
        // A component that was refused has already been reported.
        (Kind::Any, _) => None,
        (Kind::Ref(name), value) => inside(schemas.get(name)?, value),
        (Kind::Boolean, Value::Bool(_)) => None,
        (Kind::Integer { width, bounds }, Value::Number(number)) => {
            match bounds::whole(*width)(number) {
                Some(_) => bounds::fault(bounds, number),
                None => Some("it is not a whole number within the format and 2^53 - 1"),
            }
        }
        (Kind::Number { bounds }, Value::Number(number)) => match bounds::decimal(number) {
            Some(_) => bounds::fault(bounds, number),
            None => Some("it has more than 15 digits"),
        },
        (Kind::String(text), Value::String(value)) => match text.format {
            None | Some(Format::Uri) => fault_of_text(text, value),
            Some(_) => Some("a string of this format has no default"),
        },
        (
            Kind::Array {
                items,
                min_items,
                max_items,
                unique_items,
            },
            Value::Array(values),
        ) => {
            let count = values.len() as u64;
            let again = |at: usize, it: &Value| values[..at].contains(it);
            if min_items.is_some_and(|least| count < least) {
                Some("it has fewer items than `minItems`")
            } else if max_items.is_some_and(|most| count > most) {
                Some("it has more items than `maxItems`")
            } else if *unique_items && values.iter().enumerate().any(|(at, it)| again(at, it)) {
                Some("it has an item twice")
            } else {
                values.iter().find_map(|it| inside(items, it))
            }
        }
        (Kind::Map(schema), Value::Object(members)) => {
            members.values().find_map(|it| inside(schema, it))
        }
        (Kind::Object { .. }, Value::Object(members)) => {
            fault_of_object(schemas, &schema.kind, members)
        }
        (
            Kind::OneOf {
                discriminator,
                mapping,
            },
            Value::Object(members),
        ) => {
            let variant = members.get(discriminator).and_then(Value::as_str);
            match variant.and_then(|it| mapping.get(it)) {
                Some(name) => inside(schemas.get(name)?, value),
                None => Some("the discriminator leads to no variant"),
            }
        }
        (Kind::Union(alternatives), value) => {
            let passes = |it: &Alternative| {
                let schema = schemas.get(&it.schema);
                schema.is_some_and(|it| inside(it, value).is_none())
            };
            let is_meant = |it: &&Alternative| match it.sign {
                Sign::Fits { .. } => passes(it),
                _ => has(&it.sign, value),
            };
            let mut meant = alternatives.iter().filter(is_meant);
            let (meant, other) = (meant.next(), meant.next());
            if other.is_some() && meant.is_some_and(|it| it.sign == Sign::Fits { alone: true }) {
                return Some("it could be more than one of the alternatives");
            }
            match meant {
                Some(it) => inside(schemas.get(&it.schema)?, value),
                None => Some("it is none of the alternatives"),
            }
        }
        _ => Some("it is of another type"),
    }
}

fn has(sign: &Sign, value: &Value) -> bool {
    match (sign, value) {
        (Sign::Text(texts), Value::String(text)) => texts.contains(text),
        (Sign::Member(member), Value::Object(members)) => members.contains_key(member),
        (Sign::String, Value::String(_))
        | (Sign::Number, Value::Number(_))
        | (Sign::Boolean, Value::Bool(_))
        | (Sign::Array, Value::Array(_))
        | (Sign::Object, Value::Object(_)) => true,
        _ => false,
    }
}

fn fault_of_object(
    schemas: &Schemas,
    kind: &Kind,
    members: &Map<String, Value>,
) -> Option<&'static str> {
    let Kind::Object {
        properties,
        required,
        others,
    } = kind
    else {
        return None;
    };
    if required.iter().any(|name| !members.contains_key(name)) {
        return Some("a required member is missing");
    }
    members
        .iter()
        .find_map(|(name, value)| match (properties.get(name), others) {
            (Some(schema), _) => fault(schemas, schema, value),
            (None, Others::Kept(schema)) => fault(schemas, schema, value),
            (None, Others::Refused) => Some("it has a member that is no property"),
            (None, Others::Ignored) => None,
        })
}

/// What is wrong with a text: a default, or a value of an enumeration.
pub(super) fn fault_of_text(text: &Text, value: &str) -> Option<&'static str> {
    let length = value.chars().count() as u64;
    if text.min_length.is_some_and(|minimum| length < minimum) {
        return Some("it is shorter than `minLength`");
    }
    if text.max_length.is_some_and(|maximum| length > maximum) {
        return Some("it is longer than `maxLength`");
    }
    if let Some(pattern) = &text.pattern {
        // On patterns from elsewhere, a backtracking matcher might never return.
        let regex = linear::translated(pattern).and_then(|it| regex::Regex::new(&it).ok());
        match regex {
            Some(regex) if regex.is_match(value) => {}
            Some(_) => return Some("it does not match `pattern`"),
            None => {
                return Some(
                    "nobody knows how long `pattern` takes, with its look-arounds, back-references or \
                     boundaries of words",
                );
            }
        }
    }
    let listed = text.enumeration.is_empty() || text.enumeration.iter().any(|it| it == value);
    (!listed).then_some("it is not in `enum`")
}
