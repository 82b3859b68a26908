//! The same part of two documents.
//!
//! Operations correspond by method and path, whatever its variables are called; one that has moved,
//! by its operationId. What corresponds to what below them, [`crate::walk`] says.
//!
//! A part that only one of the documents has is no pair: it is a change of the pair that it belongs
//! to, and its own parts are no changes any more.

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
    /// What reports call it.
    pub subject: String,
    pub both: Both<'a>,
    pub users: Users,
}

/// The names that only the older, both, or only the newer of two objects have.
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
    /// The member of this name in both.
    pub fn at(&self, name: &str) -> Self {
        Self {
            old: self.old.at(name),
            new: self.new.at(name),
        }
    }

    /// The member of this name, if both have it.
    pub fn get(&self, name: &str) -> Option<Self> {
        Some(Self {
            old: self.old.get(name)?,
            new: self.new.get(name)?,
        })
    }

    /// The names of the members of two objects.
    pub fn names(&self) -> Names {
        let names = |node: &Node<'_>| node.members().into_iter().map(|(name, _)| name).collect();
        Names::of(names(&self.old), names(&self.new))
    }

    /// Where both are.
    pub fn place(&self) -> Place {
        Place {
            old: Some(self.old.pointer.clone()),
            new: Some(self.new.pointer.clone()),
        }
    }

    /// Where a member is, or would be.
    pub fn place_of(&self, name: &str) -> Place {
        Place {
            old: Some(self.old.place_of(name)),
            new: Some(self.new.place_of(name)),
        }
    }
}

impl Pair<'_> {
    /// A change of the pair, as grave as those who meet it have to take it.
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

    /// Changes of the members that no rule is for: those of `texts`, and extensions, only explain;
    /// any other is taken for a break, because nobody has said what it means.
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

/// Says which operations correspond.
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

/// The name of the component that a pointer leads to, when that is a schema.
pub fn component(pointer: &str) -> Option<&str> {
    let name = pointer.strip_prefix("/components/schemas/")?;
    (!name.contains('/')).then_some(name)
}
