//! Components that are made of schemas that stand inline, since each needs a type, and a type a name.
//!
//! The name is that of what the schema stands in, and the part that it is of it ([`names::part`]):
//! property `unitPrice` of `Crate` is `CrateUnitPrice`, an item of that `CrateUnitPriceItem`. Where another
//! schema has the name already, a number follows. A schema that is met again, because something that
//! several refer to contains it, keeps its name; so does one that says the same under the same name.

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
    /// What the components of the document say that were read, or are being read (nothing).
    said: RefCell<HashMap<String, Option<Option<Schema>>>>,
    open: Cell<usize>,
    /// The Rust names that are taken.
    taken: RefCell<HashSet<String>>,
}

impl Made {
    /// Keeps a name of Rust from being given.
    pub(super) fn reserve(&self, name: &str) {
        self.taken.borrow_mut().insert(names::of_type(name));
    }

    /// What a component of the document says, if it was read before: nothing, if it was refused.
    #[allow(clippy::option_option)]
    pub(super) fn said(&self, name: &str) -> Option<Option<Schema>> {
        self.said.borrow().get(name).cloned().flatten()
    }

    /// How many components of the document are being read, each for another one.
    pub(super) fn open(&self) -> usize {
        self.open.get()
    }

    /// Whether a component of the document is being read.
    pub(super) fn is_open(&self, name: &str) -> bool {
        self.said.borrow().get(name).is_some_and(Option::is_none)
    }

    /// Keeps what a component of the document says; nothing while it is being read.
    #[allow(clippy::option_option)]
    pub(super) fn say(&self, name: &str, schema: Option<Option<Schema>>) {
        match schema.is_none() {
            true => self.open.set(self.open.get() + 1),
            false => self.open.set(self.open.get().saturating_sub(1)),
        }
        self.said.borrow_mut().insert(name.to_owned(), schema);
    }

    /// The name of the schema that stands here, if it was met before.
    pub(super) fn at(&self, pointer: &Pointer) -> Option<String> {
        self.places.borrow().get(pointer).cloned()
    }

    /// The name of a schema, which is a component from now on.
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

    /// All of them, in the order in which they were met.
    pub(super) fn take(&self) -> IndexMap<String, Schema> {
        self.schemas.take()
    }
}
