//! Components made of inline schemas, since each needs a type, and a type needs a name.
//!
//! The name combines what contains the schema and its part in that ([`names::part`]): property `unitPrice`
//! of `Crate` is `CrateUnitPrice`, an item of that `CrateUnitPriceItem`. If another schema already has the
//! name, a number is appended. A schema that is met again, because it is inside something that is referred
//! to several times, keeps its name; so does one with the same text and the same name.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::model::{Pointer, Schema};
use crate::names;

/// The components made so far.
#[derive(Default)]
pub(super) struct Made {
    schemas: RefCell<IndexMap<String, Schema>>,
    places: RefCell<HashMap<Pointer, String>>,
    /// The document's components that were read, or are being read (`None`).
    said: RefCell<HashMap<String, Option<Option<Schema>>>>,
    open: Cell<usize>,
    /// The Rust names that are taken.
    taken: RefCell<HashSet<String>>,
}

impl Made {
    /// Reserves a Rust name.
    pub(super) fn reserve(&self, name: &str) {
        self.taken.borrow_mut().insert(names::of_type(name));
    }

    /// A component of the document, if it was read before: `Some(None)` if it was refused.
    #[allow(clippy::option_option)]
    pub(super) fn said(&self, name: &str) -> Option<Option<Schema>> {
        self.said.borrow().get(name).cloned().flatten()
    }

    /// How many components of the document are being read, each because of another.
    pub(super) fn open(&self) -> usize {
        self.open.get()
    }

    /// Whether a component of the document is being read.
    pub(super) fn is_open(&self, name: &str) -> bool {
        self.said.borrow().get(name).is_some_and(Option::is_none)
    }

    /// Stores a component of the document; `None` while it is being read.
    #[allow(clippy::option_option)]
    pub(super) fn say(&self, name: &str, schema: Option<Option<Schema>>) {
        match schema.is_none() {
            true => self.open.set(self.open.get() + 1),
            false => self.open.set(self.open.get().saturating_sub(1)),
        }
        self.said.borrow_mut().insert(name.to_owned(), schema);
    }

    /// The name of the schema at this place, if it was met before.
    pub(super) fn at(&self, pointer: &Pointer) -> Option<String> {
        self.places.borrow().get(pointer).cloned()
    }

    /// Makes a schema a component, and returns its name.
    pub(super) fn add(&self, stem: &str, schema: Schema) -> String {
        let mut schemas = self.schemas.borrow_mut();
        let same = |it: &Schema| it.json == schema.json;
        let name = if schemas.get(stem).is_some_and(same) {
            stem.to_owned()
        } else {
            self.free(stem)
        };
        self.places
            .borrow_mut()
            .insert(schema.pointer.clone(), name.clone());
        let schema = Schema {
            is_made: true,
            ..schema
        };
        schemas.entry(name.clone()).or_insert(schema);
        name
    }

    fn free(&self, stem: &str) -> String {
        let mut taken = self.taken.borrow_mut();
        let numbered = (2_u64..).map(|number| format!("{stem}{number}"));
        let mut names = std::iter::once(stem.to_owned()).chain(numbered);
        // One of them is free, since there are more than can be taken.
        names
            .find(|name| taken.insert(names::of_type(name)))
            .unwrap_or_default()
    }

    /// Takes all of them, in the order in which they were met.
    pub(super) fn take(&self) -> IndexMap<String, Schema> {
        self.schemas.take()
    }
}
