//! What goes one way only: `readOnly` is for answers, `writeOnly` for requests.
//!
//! One type for both ways would hold what one of them must not have, and would leave open whether it is
//! required. So a property that is read only is taken where no request has it, and one that is written only where
//! no answer does. There, the two keywords say nothing.

use std::collections::HashSet;

use indexmap::IndexMap;

use crate::model::{Kind, Operation, Schema};

use super::reader::Reader;

type Schemas = IndexMap<String, Schema>;

/// Refuses what goes the wrong way.
pub(super) fn check(reader: &Reader<'_>, schemas: &Schemas, operations: &[Operation]) {
    let sent = |it: &Operation| {
        it.body
            .iter()
            .map(|it| it.schema.clone())
            .collect::<Vec<_>>()
    };
    let answered = |it: &Operation| {
        let answers = std::iter::once(&it.success).chain(&it.errors);
        answers
            .filter_map(|it| it.schema.clone())
            .collect::<Vec<_>>()
    };
    let ways: [(&str, &str, &str, &dyn Fn(&Operation) -> Vec<String>); 2] = [
        ("readOnly", "for answers", "the request", &sent),
        ("writeOnly", "for requests", "an answer", &answered),
    ];
    for (keyword, way, other, bodies) in ways {
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
            Kind::Object { properties, .. } => {
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
