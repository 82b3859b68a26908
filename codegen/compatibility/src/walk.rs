//! Walks through two documents at once, to find which parts correspond and which operations meet
//! them.
//!
//! It goes from operations through parameters, bodies, responses and headers to schemas. The target
//! of a `$ref` is one pair, however often it is met; the walk records which operations meet it, in
//! requests and in responses, so that it can be judged once, for all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::change::Users;
use crate::document::{Node, Operation};
use crate::pair::{Both, Names, Pair, component};

/// The kind of a part, which decides which rules apply to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Parameter,
    /// A request body.
    Body,
    Answer,
    /// A header of a response.
    Header,
    /// The content of one media type.
    Media,
    Schema,
}

/// Returns the pairs below the operations that both documents have, each once.
pub fn pairs<'a>(kept: &[(Operation<'a>, Operation<'a>)]) -> Vec<(Kind, Pair<'a>)> {
    let mut walk = Walk::default();
    for (old, new) in kept {
        walk.operation(old, new);
    }
    walk.pairs
}

/// Which side sends the current part.
#[derive(Clone, Copy)]
enum Direction {
    Request,
    Answer,
}

#[derive(Default)]
struct Walk<'a> {
    pairs: Vec<(Kind, Pair<'a>)>,
    /// The position of a pair in the list.
    index: BTreeMap<(Kind, String, String), usize>,
    /// The name and the place of the current operation.
    operation: String,
    pointer: String,
}

impl<'a> Walk<'a> {
    fn operation(&mut self, old: &Operation<'a>, new: &Operation<'a>) {
        self.operation.clone_from(&new.name);
        self.pointer.clone_from(&new.node.pointer);
        let both = Both {
            old: old.node.clone(),
            new: new.node.clone(),
        };
        let before = old.parameters();
        for (key, parameter) in new.parameters() {
            if let Some((_, old)) = before.iter().find(|(other, _)| *other == key) {
                let subject =
                    self.subject(&parameter, &format!("parameter {}", parameter.text("name")));
                let old = old.clone();
                let both = Both {
                    old,
                    new: parameter,
                };
                self.visit(Kind::Parameter, subject, both, Direction::Request);
            }
        }
        if let Some(body) = both.get("requestBody") {
            let subject = self.subject(&body.new, "request body");
            self.visit(Kind::Body, subject, body, Direction::Request);
        }
        let answers = both.at("responses");
        for status in answers.names().kept {
            let answer = answers.at(&status);
            let subject = self.subject(&answer.new, &format!("answer {status}"));
            self.visit(Kind::Answer, subject, answer, Direction::Answer);
        }
    }

    /// What to call a part of the operation; one that is a component may also belong to others.
    fn subject(&self, part: &Node<'_>, name: &str) -> String {
        match part.pointer.starts_with(&self.pointer) {
            true => format!("{} {name}", self.operation),
            false => name.to_owned(),
        }
    }

    /// Records that the operation meets a pair, and walks on.
    fn visit(&mut self, kind: Kind, subject: String, both: Both<'a>, direction: Direction) {
        let key = (kind, both.old.pointer.clone(), both.new.pointer.clone());
        let index = *self.index.entry(key).or_insert(self.pairs.len());
        if index == self.pairs.len() {
            let pair = Pair {
                subject: subject.clone(),
                both: both.clone(),
                users: Users::default(),
            };
            self.pairs.push((kind, pair));
        }
        let users = &mut self.pairs[index].1.users;
        let met: &mut BTreeSet<String> = match direction {
            Direction::Request => &mut users.senders,
            Direction::Answer => &mut users.readers,
        };
        if !met.insert(self.operation.clone()) {
            return;
        }
        match kind {
            Kind::Schema => self.schema(&subject, &both, direction),
            Kind::Parameter | Kind::Header | Kind::Media => {
                self.visit_schema(&subject, both.get("schema"), direction);
            }
            Kind::Body => self.content(&subject, &both, direction),
            Kind::Answer => {
                self.content(&subject, &both, direction);
                self.headers(&subject, &both);
            }
        }
    }

    fn content(&mut self, subject: &str, both: &Both<'a>, direction: Direction) {
        let content = both.at("content");
        for media in content.names().kept {
            let (subject, both) = (subject.to_owned(), content.at(&media));
            self.visit(Kind::Media, subject, both, direction);
        }
    }

    fn headers(&mut self, subject: &str, both: &Both<'a>) {
        for (name, both) in kept_headers(both) {
            let subject = format!("{subject} header {name}");
            self.visit(Kind::Header, subject, both, Direction::Answer);
        }
    }

    fn visit_schema(&mut self, above: &str, both: Option<Both<'a>>, direction: Direction) {
        if let Some(both) = both {
            let subject = component(&both.new.pointer).unwrap_or(above);
            self.visit(Kind::Schema, subject.to_owned(), both.clone(), direction);
        }
    }

    fn schema(&mut self, subject: &str, both: &Both<'a>, direction: Direction) {
        let properties = both.at("properties");
        for name in properties.names().kept {
            let property = properties.at(&name);
            self.visit_schema(&format!("{subject}.{name}"), Some(property), direction);
        }
        self.visit_schema(&format!("{subject}[]"), both.get("items"), direction);
        let values = both.get("additionalProperties");
        let values = values.filter(|it| it.old.value.is_object() && it.new.value.is_object());
        self.visit_schema(&format!("{subject}.*"), values, direction);
        for keyword in COMBINATIONS {
            for (name, variant) in variants(both, keyword).kept {
                let subject = format!("{subject} variant {name}");
                self.visit_schema(&subject, Some(variant), direction);
            }
        }
    }
}

/// Returns the headers that a response has in both documents, ignoring the case of their names.
pub fn kept_headers<'a>(answer: &Both<'a>) -> Vec<(String, Both<'a>)> {
    let headers = answer.at("headers");
    let before = headers.old.members();
    let after = headers.new.members().into_iter();
    after
        .filter_map(|(name, new)| {
            let mut before = before.iter();
            let (_, old) = before.find(|(other, _)| other.eq_ignore_ascii_case(&name))?;
            let old = old.clone();
            Some((name, Both { old, new }))
        })
        .collect()
}

/// The keywords that combine schemas.
pub const COMBINATIONS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// The branches of a combination.
pub struct Variants<'a> {
    pub gone: Vec<String>,
    pub kept: Vec<(String, Both<'a>)>,
    pub new: Vec<String>,
}

/// Returns the branches that a combination has in two schemas, by their names.
pub fn variants<'a>(both: &Both<'a>, keyword: &str) -> Variants<'a> {
    let (old, new) = (branches(&both.old, keyword), branches(&both.new, keyword));
    let names = |list: &[(String, Node<'a>)]| list.iter().map(|(name, _)| name.clone()).collect();
    let found = Names::of(names(&old), names(&new));
    let find = |list: &[(String, Node<'a>)], name: &str| {
        let found = list.iter().find(|(other, _)| other == name);
        found.map(|(_, node)| node.clone())
    };
    let kept = found.kept.into_iter().filter_map(|name| {
        let (old, new) = (find(&old, &name)?, find(&new, &name)?);
        Some((name, Both { old, new }))
    });
    Variants {
        gone: found.gone,
        kept: kept.collect(),
        new: found.new,
    }
}

/// Returns the branches of a combination, each under every value of the discriminator that leads to
/// it, or else under the component that it is, or else under its position.
fn branches<'a>(schema: &Node<'a>, keyword: &str) -> Vec<(String, Node<'a>)> {
    let mapping = &schema.value["discriminator"]["mapping"];
    let mut found = Vec::new();
    for (index, branch) in schema.at(keyword).items().into_iter().enumerate() {
        let leads_here = |target: &Value| {
            let target = target.as_str().unwrap_or_default();
            target.trim_start_matches('#') == branch.pointer
        };
        let values = mapping.as_object().into_iter().flatten();
        let mut names: Vec<_> = values
            .filter(|(_, target)| leads_here(target))
            .map(|(value, _)| value.clone())
            .collect();
        if names.is_empty() {
            names.push(match component(&branch.pointer) {
                Some(name) => name.to_owned(),
                None => format!("{keyword}/{index}"),
            });
        }
        found.extend(names.into_iter().map(|name| (name, branch.clone())));
    }
    found
}
