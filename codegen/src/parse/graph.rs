//! Checks across schemas: references, defaults, the variants of a `oneOf`, and what operations require of their
//! schemas.
//!
//! Only schemas that are right by themselves are checked here; a component that was already refused is left
//! alone.

use std::cell::Cell;
use std::collections::HashMap;

use indexmap::IndexMap;

use crate::model::{Kind, Location, Operation, Parameter, Schema};

use super::content;
use super::default;
use super::reader::Reader;
use super::trial;

/// How many references may follow each other. Code that follows them (types, checks, comparisons) recurses, and a
/// generated type nested deeper than this would be unreadable.
pub(super) const MAX_DEPTH: usize = 32;

pub(super) type Schemas = IndexMap<String, Schema>;

pub(super) fn check(reader: &Reader<'_>, schemas: &Schemas) {
    if check_depth(reader, schemas) {
        trial::check(reader, schemas);
    }
    for schema in schemas.values() {
        default::check(reader, schemas, schema);
        if let Kind::OneOf {
            discriminator,
            mapping,
        } = &schema.kind
        {
            for variant in mapping.values() {
                let values = mapping
                    .iter()
                    .filter(|(_, it)| *it == variant)
                    .map(|(it, _)| it);
                check_variant(reader, schemas, variant, discriminator, values.collect());
            }
        }
    }
}

/// Checks what operations require of the schemas of their parameters, bodies and headers.
pub(super) fn check_operations(reader: &Reader<'_>, schemas: &Schemas, operations: &[Operation]) {
    for operation in operations {
        for parameter in &operation.parameters {
            let in_query = parameter.location == Location::Query;
            match resolve(schemas, &parameter.schema).map(|it| &it.kind) {
                Some(Kind::Array { items, .. }) if in_query => {
                    check_list(reader, schemas, parameter, items);
                }
                _ => check_single_value(reader, schemas, &parameter.schema, in_query),
            }
            default::check(reader, schemas, &parameter.schema);
        }
        let answers = operation.answers();
        for header in answers.flat_map(|answer| &answer.headers) {
            check_single_value(reader, schemas, &header.schema, false);
        }
        content::check(reader, schemas, operation);
    }
}

/// Refuses references that form a cycle through which a type would contain itself, and chains of references that
/// are too deep. Returns whether none is too deep.
fn check_depth(reader: &Reader<'_>, schemas: &Schemas) -> bool {
    let is_shallow = Cell::new(true);
    let waiting = settle(schemas, Schema::held, |_| {});
    for circle in circles(schemas, &waiting) {
        reader.refuse(
            &schemas[circle[0]].pointer,
            format!("the references run in a circle: {}", circle.join(" -> ")),
            "break it: refer to the other object by an id, or in a list",
        );
    }
    settle(schemas, Schema::references, |name| {
        is_shallow.set(false);
        reader.refuse(
            &schemas[name].pointer,
            format!("more than {MAX_DEPTH} references follow each other from here"),
            "nest components less deeply",
        );
    });
    is_shallow.get()
}

/// Settles components one by one, each after everything that it refers to. Returns those that never settle, since
/// they are in a cycle or lead into one. Calls `deep` for those that settle too late.
fn settle<'a>(
    schemas: &'a Schemas,
    references: fn(&'a Schema) -> Vec<&'a str>,
    deep: impl Fn(&str),
) -> HashMap<&'a str, usize> {
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut waiting: HashMap<&str, usize> = HashMap::new();
    let mut settled: Vec<(&str, usize)> = Vec::new();
    for (name, schema) in schemas {
        let references: Vec<_> = references(schema)
            .into_iter()
            .filter(|it| schemas.contains_key(*it))
            .collect();
        for reference in &references {
            users.entry(reference).or_default().push(name);
        }
        match references.len() {
            0 => settled.push((name, 0)),
            count => drop(waiting.insert(name, count)),
        }
    }
    let mut depths: HashMap<&str, usize> = HashMap::new();
    while let Some((name, depth)) = settled.pop() {
        if depth == MAX_DEPTH {
            deep(name);
        }
        for &user in users.get(name).into_iter().flatten() {
            let deepest = depths.entry(user).or_default();
            *deepest = (*deepest).max(depth + 1);
            if let Some(count) = waiting.get_mut(user) {
                *count -= 1;
                if *count == 0 {
                    waiting.remove(user);
                    settled.push((user, *deepest));
                }
            }
        }
    }
    waiting
}

/// Finds one cycle for each component that waits for itself, listed from its first component.
fn circles<'a>(schemas: &'a Schemas, waiting: &HashMap<&str, usize>) -> Vec<Vec<&'a str>> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    for (walk, start) in schemas
        .keys()
        .filter(|it| waiting.contains_key(it.as_str()))
        .enumerate()
    {
        let mut path: Vec<&str> = Vec::new();
        let mut next = Some(start.as_str());
        while let Some(name) = next {
            match seen.get(name) {
                None => {}
                // Met on this very walk: the path from there on is the cycle.
                Some(&met) if met == walk => {
                    let from = path.iter().position(|it| *it == name).unwrap_or_default();
                    let mut circle = path.split_off(from);
                    circle.push(name);
                    found.push(circle);
                    break;
                }
                Some(_) => break,
            }
            seen.insert(name, walk);
            path.push(name);
            next = schemas[name]
                .held()
                .into_iter()
                .find(|it| waiting.contains_key(it));
        }
    }
    found
}

/// Checks that the variant itself states which variant it is.
fn check_variant(
    reader: &Reader<'_>,
    schemas: &Schemas,
    variant: &str,
    discriminator: &str,
    values: Vec<&String>,
) {
    let Some(schema) = schemas.get(variant) else {
        return;
    };
    let Kind::Object {
        properties,
        required,
        ..
    } = &schema.kind
    else {
        reader.refuse(
            &schema.pointer,
            "the component is a variant of a `oneOf`, and not an object",
            "write an object that has the discriminator among its properties",
        );
        return;
    };
    if !required.iter().any(|it| it == discriminator) {
        reader.refuse(
            &schema.pointer,
            format!(
                "the discriminator `{discriminator}` is not a required property of this variant"
            ),
            format!("write `{discriminator}` under `properties` and `required`"),
        );
        return;
    }
    if let Some(property) = properties.get(discriminator) {
        check_values(reader, schemas, variant, property, values);
    }
}

/// Checks that the discriminator of a variant lists exactly the values that lead to the variant.
fn check_values(
    reader: &Reader<'_>,
    schemas: &Schemas,
    variant: &str,
    property: &Schema,
    mut values: Vec<&String>,
) {
    let Some(target) = resolve(schemas, property) else {
        return;
    };
    let mut listed: Vec<_> = match &target.kind {
        Kind::String(text) if !target.nullable && !property.nullable => {
            text.enumeration.iter().collect()
        }
        _ => Vec::new(),
    };
    listed.sort();
    values.sort();
    if listed != values {
        let values: Vec<_> = values.iter().map(|it| it.as_str()).collect();
        reader.refuse(
            &property.pointer,
            format!(
                "the discriminator does not list exactly the values that lead to `{variant}`: {}",
                values.join(", ")
            ),
            format!(
                "refer to a component of type string with `enum: [{}]`",
                values.join(", ")
            ),
        );
    }
}

/// Checks a list in a query, which is written once per item. So its items must be single values, an empty list is
/// left out, and leaving it out cannot mean anything else.
fn check_list(reader: &Reader<'_>, schemas: &Schemas, parameter: &Parameter, items: &Schema) {
    check_single_value(reader, schemas, items, true);
    let refuse = |cause, remedy| reader.refuse(&parameter.pointer, cause, remedy);
    let written = reader.root().value.pointer(parameter.pointer.as_str());
    if written.is_some_and(|it| it["explode"] == false) {
        refuse(
            "a list whose items are parted by commas is not understood",
            "write `explode: true`: its name comes before each item",
        );
    }
    if items.nullable || resolve(schemas, items).is_some_and(|it| it.nullable) {
        refuse("no text is null", "remove `nullable` of the items");
    }
    let resolved = resolve(schemas, &parameter.schema);
    let default = resolved.and_then(|it| it.default.as_ref());
    if parameter.schema.default.as_ref().or(default).is_some() {
        refuse(
            "a list in a query that has a default is not understood",
            "remove `default`, and tell it in the description",
        );
    }
}

/// Refuses a schema that must be one plain value and is not. The value is sent as text: in a path, a query or a
/// header. No text is null, so `nullable` has no effect there.
pub(super) fn check_single_value(
    reader: &Reader<'_>,
    schemas: &Schemas,
    schema: &Schema,
    in_query: bool,
) {
    let Some(target) = resolve(schemas, schema) else {
        return;
    };
    let cause = match &target.kind {
        Kind::Array { .. } => "a list cannot be written here",
        Kind::Object { .. } | Kind::Map(_) | Kind::OneOf { .. } => {
            "an object cannot be written here"
        }
        Kind::Union(_) if target.is_text(schemas) => return,
        Kind::Union(_) => "one of several types cannot be written here",
        Kind::Null => "null cannot be written here",
        Kind::Any | Kind::Never => "a value of any type cannot be written here",
        Kind::Number { .. } if in_query => {
            "a number with a fraction is not understood in a query or a form"
        }
        _ => return,
    };
    let remedy = match &target.kind {
        Kind::Number { .. } => "write an integer of a smaller unit, or a string with a pattern",
        _ => "write a single value, a string for instance",
    };
    reader.refuse(&schema.pointer, cause, remedy);
}

fn resolve<'a>(schemas: &'a Schemas, schema: &'a Schema) -> Option<&'a Schema> {
    match &schema.kind {
        Kind::Ref(name) => schemas.get(name),
        _ => Some(schema),
    }
}
