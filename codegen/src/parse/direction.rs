//! Properties for one direction only: `readOnly` is for responses, `writeOnly` for requests.
//!
//! One type for both directions would hold properties that one of them must not have, and would leave open
//! whether they are required. So a read-only property is accepted if no request has it, and a write-only one if
//! no response does. Then, the two keywords have no further effect.

use std::collections::HashSet;

use crate::model::{Kind, Operation, Schema};

use super::graph::Schemas;
use super::reader::Reader;

/// A direction in which bodies are sent.
struct Way {
    /// The keyword that marks properties not sent in this direction.
    keyword: &'static str,
    /// In problems: what these properties are for, and the message that has one.
    marked: [&'static str; 2],
    /// The components that an operation sends in this direction.
    bodies: fn(&Operation) -> Vec<String>,
}

const WAYS: [Way; 2] = [
    Way {
        keyword: "readOnly",
        marked: ["for answers", "the request"],
        bodies: |operation| {
            let schema = operation.body.iter().filter_map(|it| it.content.schema());
            schema.map(str::to_owned).collect()
        },
    },
    Way {
        keyword: "writeOnly",
        marked: ["for requests", "an answer"],
        bodies: |operation| {
            let answers = operation.answers();
            let schemas = answers.filter_map(|it| it.schema());
            schemas.map(str::to_owned).collect()
        },
    },
];

/// Refuses properties sent in the wrong direction.
pub(super) fn check(reader: &Reader<'_>, schemas: &Schemas, operations: &[Operation]) {
    for Way {
        keyword,
        marked: [way, other],
        bodies,
    } in WAYS
    {
        let mut seen = HashSet::new();
        for operation in operations {
            let mut open = bodies(operation);
            while let Some(name) = open.pop() {
                let Some(schema) = schemas.get(&name).filter(|_| seen.insert(name.clone())) else {
                    continue;
                };
                for found in marked(schema, keyword, schemas) {
                    reader.refuse(
                        &found.pointer.child(keyword),
                        format!("this is {way}, and {other} of `{}` has it", operation.id),
                        "write one component for requests and one for answers",
                    );
                }
                open.extend(schema.references().into_iter().map(str::to_owned));
            }
        }
    }
}

/// The properties in a schema's own text that have the keyword.
fn marked<'a>(schema: &'a Schema, keyword: &str, schemas: &'a Schemas) -> Vec<&'a Schema> {
    let (mut found, mut open) = (Vec::new(), vec![schema]);
    while let Some(schema) = open.pop() {
        match &schema.kind {
            Kind::Object {
                properties, others, ..
            } => {
                open.extend(others.kept());
                for property in properties.values() {
                    let made = match &property.kind {
                        Kind::Ref(name) => schemas.get(name),
                        _ => None,
                    };
                    let said = [Some(property), made];
                    let is_marked = |it: &&Schema| it.json[keyword] == true;
                    found.extend(said.into_iter().flatten().find(is_marked));
                    open.push(property);
                }
            }
            Kind::Array { items: inner, .. } | Kind::Map(inner) => open.push(inner),
            _ => {}
        }
    }
    found
}
