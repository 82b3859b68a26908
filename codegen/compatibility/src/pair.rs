//! The same part of two documents.
//!
//! Operations correspond by method and path, whatever the path's variables are called; one that has
//! moved, by its operationId. [`crate::walk`] determines what corresponds below them.
//!
//! A part that only one of the documents has is not a pair: it is a change of the pair that it
//! belongs to, and its own parts are not changes of their own.

use crate::change::{Change, Effect, Place, Users};
use crate::document::{Document, Node, Operation};

/// The same part in both documents.
#[derive(Clone, Debug)]
pub struct Both<'a> {
    pub old: Node<'a>,
    pub new: Node<'a>,
}

/// A part that both documents have.
#[derive(Clone, Debug)]
pub struct Pair<'a> {
    /// What it is called in reports.
    pub subject: String,
    pub both: Both<'a>,
    pub users: Users,
}

/// The names that only the older of two objects, both, or only the newer have.
pub struct Names {
    pub gone: Vec<String>,
    pub kept: Vec<String>,
    pub new: Vec<String>,
}

/// The operations of two documents.
pub struct Operations<'a> {
    pub gone: Vec<Operation<'a>>,
    pub kept: Vec<(Operation<'a>, Operation<'a>)>,
    pub new: Vec<Operation<'a>>,
}

impl Names {
    /// Compares two lists of names, in their order.
    pub fn of(old: Vec<String>, new: Vec<String>) -> Self {
        let (kept, gone): (Vec<_>, Vec<_>) = old.into_iter().partition(|name| new.contains(name));
        let new = new.into_iter().filter(|name| !kept.contains(name));
        Self {
            gone,
            new: new.collect(),
            kept,
        }
    }
}

impl<'a> Both<'a> {
    /// Returns the member of this name in both.
    pub fn at(&self, name: &str) -> Self {
        Self {
            old: self.old.at(name),
            new: self.new.at(name),
        }
    }

    /// Returns the member of this name, if both have it.
    pub fn get(&self, name: &str) -> Option<Self> {
        Some(Self {
            old: self.old.get(name)?,
            new: self.new.get(name)?,
        })
    }

    /// Returns the names of the members of two objects.
    pub fn names(&self) -> Names {
        let names = |node: &Node<'_>| node.members().into_iter().map(|(name, _)| name).collect();
        Names::of(names(&self.old), names(&self.new))
    }

    /// Returns the place of both.
    pub fn place(&self) -> Place {
        Place {
            old: Some(self.old.pointer.clone()),
            new: Some(self.new.pointer.clone()),
        }
    }

    /// Returns the place of a member, whether it exists or not.
    pub fn place_of(&self, name: &str) -> Place {
        Place {
            old: Some(self.old.place_of(name)),
            new: Some(self.new.place_of(name)),
        }
    }
}

impl Pair<'_> {
    /// Creates a change of the pair, as severe as it is to those who meet it.
    pub fn change(&self, effect: Effect, place: Place, what: impl Into<String>) -> Change {
        let (severity, whom) = self.users.judge(effect);
        Change {
            severity,
            subject: self.subject.clone(),
            what: what.into(),
            whom,
            place,
        }
    }

    /// Returns the changes of members without a rule: those of `texts`, and extensions, only
    /// explain; any other counts as a break, because its meaning is unknown.
    pub fn others(&self, ruled: &[&str], texts: &[&str]) -> Vec<Change> {
        let Names { gone, kept, new } = self.both.names();
        let names = gone.into_iter().chain(kept).chain(new);
        names
            .filter(|name| !ruled.contains(&name.as_str()))
            .filter_map(|name| {
                let both = self.both.at(&name);
                if both.old.expanded() == both.new.expanded() {
                    return None;
                }
                let place = self.both.place_of(&name);
                let text = texts.contains(&name.as_str()) || name.starts_with("x-");
                Some(match text {
                    true => self.change(Effect::Text, place, format!("another `{name}`")),
                    false => {
                        let what = format!("another `{name}`, which no rule judges");
                        self.change(Effect::Different, place, what)
                    }
                })
            })
            .collect()
    }
}

/// Finds which operations correspond.
pub fn operations<'a>(old: &'a Document, new: &'a Document) -> Operations<'a> {
    let (mut left, mut kept, mut added) = (old.operations(), Vec::new(), new.operations());
    let by_route = |one: &Operation<'_>, other: &Operation<'_>| {
        one.anonymous_route() == other.anonymous_route()
    };
    let by_name = |one: &Operation<'_>, other: &Operation<'_>| one.name == other.name;
    for same in [by_route, by_name] {
        for before in std::mem::take(&mut left) {
            match added.iter().position(|after| same(&before, after)) {
                Some(index) => kept.push((before, added.remove(index))),
                None => left.push(before),
            }
        }
    }
    Operations {
        gone: left,
        kept,
        new: added,
    }
}

/// Returns the name of the component that a pointer leads to, if it is a schema.
pub fn component(pointer: &str) -> Option<&str> {
    let name = pointer.strip_prefix("/components/schemas/")?;
    (!name.contains('/')).then_some(name)
}
