//! A document, indexed by its operations for the comparison.

use serde_json::Value;

use crate::operation::{self, Operation};

/// A document with its operations, in the order of its paths.
pub(crate) struct Document {
    json: Value,
    pub(crate) operations: Vec<Operation>,
}

impl Document {
    /// Indexes a document.
    pub(crate) fn new(json: Value) -> Self {
        let operations = operation::operations(&json);
        Self { json, operations }
    }

    /// Returns the value at a JSON Pointer, after following references.
    pub(crate) fn at(&self, pointer: &str) -> &Value {
        self.resolve(pointer).1
    }

    /// Returns the value at a JSON Pointer, after following references, and its place.
    pub(crate) fn resolve(&self, pointer: &str) -> (String, &Value) {
        operation::resolve(&self.json, pointer)
    }
}
