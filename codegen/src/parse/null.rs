//! Null among alternatives: if one alternative admits null, the whole list does.
//!
//! No type holds the null of its own schema; what refers to it does ([`crate::model`]). So each alternative is read
//! without its null, and null is attributed to the list. Of a `oneOf`, only one alternative may admit null: otherwise
//! null would pass two of them and be refused, although each admits it.
//!
//! Which alternatives admit null is known only once all components are read, since they may be lists themselves.

use std::collections::HashSet;

use crate::model::{Kind, Pointer, Schema};

use super::graph::{MAX_DEPTH, Schemas};
use super::reader::Reader;

/// A list of alternatives as written.
pub(super) struct List {
    pub(super) pointer: Pointer,
    /// Whether a value may pass only one alternative, null included.
    pub(super) is_exclusive: bool,
    /// How many alternatives admit null by their own text, including those that admit nothing else.
    pub(super) nulls: usize,
    /// The components that it leads to.
    pub(super) components: Vec<String>,
}

/// Records for each list whether it admits null, and refuses lists for which that is in doubt.
pub(super) fn check(reader: &Reader<'_>, schemas: &mut Schemas) {
    // Each round settles one more level of nested lists; deeper nesting is refused.
    for _ in 0..=MAX_DEPTH {
        let admits = |name: &&str| schemas.get(*name).is_some_and(|it| it.nullable);
        let is_found = |it: &Schema| !it.nullable && alternatives(&it.kind).iter().any(admits);
        let found: Vec<usize> = (0..schemas.len())
            .filter(|at| is_found(&schemas[*at]))
            .collect();
        if found.is_empty() {
            break;
        }
        for at in found {
            schemas[at].nullable = true;
        }
    }
    for list in reader.lists.take() {
        let admits = |name: &&String| schemas.get(*name).is_some_and(|it| it.nullable);
        let components = list.components.iter().collect::<HashSet<_>>();
        let nulls = list.nulls + components.into_iter().filter(admits).count();
        if list.is_exclusive && nulls > 1 {
            reader.refuse(
                &list.pointer,
                "null passes more than one alternative of a `oneOf`, which refuses it for that",
                "write `nullable` in one of the alternatives, or `anyOf`",
            );
        }
    }
}

/// The components that a list of alternatives leads to; none for anything else.
pub(super) fn alternatives(kind: &Kind) -> Vec<&str> {
    match kind {
        Kind::OneOf { mapping, .. } => mapping.values().map(String::as_str).collect(),
        Kind::Union(alternatives) => alternatives.iter().map(|it| it.schema.as_str()).collect(),
        _ => Vec::new(),
    }
}
