//! Broken copies of documents, which show that a check reports what it should.

use serde_json::{Map, Value};

/// A document that is changed step by step.
#[derive(Clone, Debug)]
pub struct Edit(pub Value);

impl Edit {
    /// Starts from a copy.
    pub fn of(document: &Value) -> Self {
        Self(document.clone())
    }

    /// Puts a value at a JSON Pointer, replacing any old one. An index one past the end of an
    /// array, or `-`, appends.
    ///
    /// # Panics
    ///
    /// When the parent does not exist: an edit that does nothing proves nothing.
    pub fn set(mut self, pointer: &str, value: Value) -> Self {
        let (parent, name) = self.parent(pointer);
        match parent {
            Value::Object(members) => {
                members.insert(name, value);
            }
            Value::Array(items) => match name.parse::<usize>() {
                Ok(index) if index < items.len() => items[index] = value,
                _ => items.push(value),
            },
            _ => panic!("{pointer} is in no container"),
        }
        self
    }

    /// Removes the value at a JSON Pointer.
    ///
    /// # Panics
    ///
    /// When nothing is there.
    pub fn without(mut self, pointer: &str) -> Self {
        let (parent, name) = self.parent(pointer);
        let removed = match parent {
            Value::Object(members) => members.remove(&name),
            Value::Array(items) => {
                let index = name.parse().unwrap_or(usize::MAX);
                (index < items.len()).then(|| items.remove(index))
            }
            _ => None,
        };
        assert!(removed.is_some(), "nothing is at {pointer}");
        self
    }

    /// Removes one value from an array of plain values.
    ///
    /// # Panics
    ///
    /// When the array does not hold it.
    pub fn without_item(mut self, pointer: &str, item: &Value) -> Self {
        let items = self.0.pointer_mut(pointer).and_then(Value::as_array_mut);
        let items = items.unwrap_or_else(|| panic!("{pointer} is no array"));
        let before = items.len();
        items.retain(|other| other != item);
        assert!(items.len() < before, "{pointer} has no {item}");
        self
    }

    fn parent(&mut self, pointer: &str) -> (&mut Value, String) {
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        let parent = self
            .0
            .pointer_mut(parent)
            .unwrap_or_else(|| panic!("nothing is at {parent}"));
        if parent.is_null() {
            *parent = Value::Object(Map::new());
        }
        (parent, name)
    }
}
