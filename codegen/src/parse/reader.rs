//! Reads one object of the document with a closed list of keywords.
//!
//! Everything is read through [`Reader::object`], which refuses whatever its list lacks. Problems are collected,
//! never returned: a function that finds one reports it to the reader and returns `None`, so that the rest of
//! the document is still checked.

use std::cell::RefCell;
use std::sync::OnceLock;

use serde_json::Value;

use crate::model::Pointer;
use crate::{Problem, Problems};

pub(super) use super::keywords::{Keywords, TOLD};
use super::lenient;
use super::made::Made;
use super::null::List;
use super::remedy;

/// The state of reading a document: its root, for references, and the problems found so far.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    root: &'a Value,
    problems: RefCell<Vec<Problem>>,
    /// The problems that are limits, with their places.
    limits: RefCell<Vec<(Pointer, Problem)>>,
    /// `{}`, for absent schemas.
    pub(super) anything: &'a Value,
    /// The components made of inline schemas.
    pub(super) made: Made,
    /// The lists of alternatives.
    pub(super) lists: RefCell<Vec<List>>,
}

/// The problems that prevent reading.
pub(super) struct Refused {
    pub(super) problems: Problems,
    /// The problems of keywords that could be dropped without changing what is sent, where, or in which type.
    pub(super) limits: Vec<(Pointer, Problem)>,
}

impl From<Problems> for Refused {
    fn from(problems: Problems) -> Refused {
        Refused {
            problems,
            limits: Vec::new(),
        }
    }
}

/// A value of the document, and its place.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: Pointer,
}

impl<'a> Place<'a> {
    /// The member of this name.
    pub(super) fn get(&self, name: &str) -> Option<Place<'a>> {
        let value = self.value.get(name)?;
        Some(Place {
            value,
            pointer: self.pointer.child(name),
        })
    }

    /// The members of an object, in the document's order; none for anything else.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Place<'a>)> + use<'a> {
        let pointer = self.pointer.clone();
        self.value
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(name, value)| {
                (
                    name.as_str(),
                    Place {
                        value,
                        pointer: pointer.child(name),
                    },
                )
            })
    }

    /// The items of an array; none for anything else.
    pub(super) fn items(&self) -> impl Iterator<Item = Place<'a>> + use<'a> {
        let pointer = self.pointer.clone();
        self.value
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .map(move |(index, value)| Place {
                value,
                pointer: pointer.child(index),
            })
    }
}

static ANYTHING: OnceLock<Value> = OnceLock::new();

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, root: &'a Value) -> Self {
        Self {
            file,
            root,
            problems: RefCell::default(),
            limits: RefCell::default(),
            anything: ANYTHING.get_or_init(|| Value::Object(serde_json::Map::new())),
            made: Made::default(),
            lists: RefCell::default(),
        }
    }

    /// The whole document.
    pub(super) fn root(&self) -> Place<'a> {
        Place {
            value: self.root,
            pointer: Pointer::default(),
        }
    }

    /// Records a problem.
    pub(super) fn refuse(
        &self,
        pointer: &Pointer,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let problem = self.problem(pointer, cause.into(), remedy.into());
        self.problems.borrow_mut().push(problem);
    }

    /// Records a problem of the keyword at `limit`. Without that keyword, less is enforced, but nothing is sent
    /// differently.
    pub(super) fn refuse_limit(
        &self,
        pointer: &Pointer,
        limit: Pointer,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let problem = self.problem(pointer, cause.into(), remedy.into());
        self.limits.borrow_mut().push((limit, problem.clone()));
        self.problems.borrow_mut().push(problem);
    }

    fn problem(&self, pointer: &Pointer, cause: String, remedy: String) -> Problem {
        Problem {
            file: self.file.to_owned(),
            pointer: pointer.clone(),
            cause,
            remedy,
        }
    }

    /// Records a problem of a keyword at its own place.
    fn refuse_keyword(&self, name: &str, pointer: &Pointer, cause: String, remedy: &str) {
        match lenient::may_be_told(name) {
            true => self.refuse_limit(pointer, pointer.clone(), cause, remedy),
            false => self.refuse(pointer, cause, remedy),
        }
    }

    /// Returns all problems recorded.
    pub(super) fn finish(self) -> Result<(), Refused> {
        match Problems::new(self.problems.into_inner()) {
            None => Ok(()),
            Some(problems) => Err(Refused {
                problems,
                limits: self.limits.into_inner(),
            }),
        }
    }

    /// Returns the place itself if it is an object, having refused every keyword that the list lacks.
    pub(super) fn object(&self, place: Place<'a>, keywords: &Keywords) -> Option<Place<'a>> {
        if !place.value.is_object() {
            self.refuse(
                &place.pointer,
                format!("{} is {}", keywords.what, kind_of(place.value)),
                "write an object",
            );
            return None;
        }
        for (name, member) in place.members() {
            if self.is_3_1() && keywords.know(name) {
                self.check_3_1(name, &member);
            }
            if !keywords.know(name) {
                let cause = format!(
                    "`{name}` is not a keyword that is understood in {}",
                    keywords.what
                );
                let remedy = remedy::for_keyword(name);
                self.refuse_keyword(name, &member.pointer, cause, remedy);
            }
        }
        for &told in keywords.told {
            if matches!(told, "description" | "summary" | "title") {
                self.text(&place, told);
            }
        }
        Some(place)
    }

    /// Whether the document is OpenAPI 3.1. Everything accepted from it means the same in 3.0.
    pub(super) fn is_3_1(&self) -> bool {
        let version = self.root.get("openapi").and_then(Value::as_str);
        version.is_some_and(|it| it.starts_with("3.1."))
    }

    /// Refuses what means something else in OpenAPI 3.1 than in 3.0: `nullable`, which does not exist there, and
    /// exclusive bounds, which are numbers there.
    fn check_3_1(&self, name: &str, member: &Place<'a>) {
        let cause = match name {
            "nullable" => "`nullable` says nothing in OpenAPI 3.1",
            "exclusiveMinimum" | "exclusiveMaximum" if member.value.is_boolean() => {
                "an exclusive bound is a number in OpenAPI 3.1"
            }
            _ => return,
        };
        self.refuse(
            &member.pointer,
            cause,
            "write `openapi: 3.0.3`, where this means what it says; its counterpart of 3.1 is not understood",
        );
    }

    /// A member that is text, if present.
    pub(super) fn text(&self, place: &Place<'a>, name: &str) -> Option<String> {
        let member = place.get(name)?;
        self.expect(&member, "text", Value::as_str)
            .map(str::to_owned)
    }

    /// A required member that is text.
    pub(super) fn required_text(&self, place: &Place<'a>, name: &str) -> Option<String> {
        if place.get(name).is_none() {
            self.missing(place, name);
        }
        self.text(place, name)
    }

    /// A member that is true or false; false if absent.
    pub(super) fn flag(&self, place: &Place<'a>, name: &str) -> bool {
        place
            .get(name)
            .and_then(|member| self.expect(&member, "`true` or `false`", Value::as_bool))
            .unwrap_or(false)
    }

    /// A member that is a count, if present.
    pub(super) fn count(&self, place: &Place<'a>, name: &str) -> Option<u64> {
        // 32 bits, so that the count fits whatever the emitted code compares it with.
        let narrow = |value: &Value| value.as_u64().filter(|count| u32::try_from(*count).is_ok());
        self.expect(
            &place.get(name)?,
            "a whole number from 0 to 4294967295",
            narrow,
        )
    }

    /// A member that is a list of texts; empty if absent.
    pub(super) fn texts(&self, place: &Place<'a>, name: &str) -> Vec<(String, Pointer)> {
        let Some(list) = place.get(name) else {
            return Vec::new();
        };
        self.expect(&list, "a list", Value::as_array);
        list.items()
            .filter_map(|item| {
                let text = self.expect(&item, "text", Value::as_str)?;
                Some((text.to_owned(), item.pointer))
            })
            .collect()
    }

    /// Returns the result of `take` for the value, and refuses the value if there is none.
    pub(super) fn expect<T>(
        &self,
        place: &Place<'a>,
        wanted: &str,
        take: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let taken = take(place.value);
        if taken.is_none() {
            self.refuse(
                &place.pointer,
                format!("{} stands where {wanted} belongs", kind_of(place.value)),
                format!("write {wanted}"),
            );
        }
        taken
    }

    /// Records that a member is missing.
    pub(super) fn missing(&self, place: &Place<'a>, name: &str) {
        self.refuse(
            &place.pointer,
            format!("`{name}` is missing"),
            format!("write `{name}`"),
        );
    }

    /// The place itself, or the target of its `$ref` in this section of the components.
    pub(super) fn follow(&self, place: Place<'a>, section: &str) -> Option<Place<'a>> {
        if place.get("$ref").is_none() {
            return Some(place);
        }
        let name = self.reference(&place, section)?;
        let target = self.component(section, &name)?;
        if target.get("$ref").is_some() {
            self.refuse(
                &place.pointer,
                format!(
                    "the reference leads to another reference, at {}",
                    target.pointer
                ),
                "refer to what that one refers to",
            );
            return None;
        }
        Some(target)
    }

    /// The name of the component that `$ref` refers to; it exists.
    pub(super) fn reference(&self, place: &Place<'a>, section: &str) -> Option<String> {
        // The standard ignores siblings of a `$ref`. Documentation may be ignored; limits may not.
        const REFERENCE: Keywords = Keywords::of_schema("a reference", &["$ref", "summary"]);
        self.expect(place, "an object", Value::as_object)?;
        for (name, member) in place.members().filter(|(name, _)| !REFERENCE.know(name)) {
            let (effect, remedy) = self.sibling(name);
            let cause = format!("`{name}` stands beside a `$ref`, where the standard {effect}");
            self.refuse_keyword(name, &member.pointer, cause, remedy);
        }
        let target = self.required_text(place, "$ref")?;
        let prefix = format!("#/components/{section}/");
        let name = target.strip_prefix(&prefix).unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        if name.is_empty() {
            self.refuse(
                &place.pointer,
                format!("`{target}` does not lead to `{prefix}...`"),
                format!("move what it leads to there, and write `{prefix}NAME`"),
            );
            return None;
        }
        if self.component(section, &name).is_none() {
            self.refuse(
                &place.pointer,
                format!("`{target}` leads nowhere"),
                format!("write `{name}` under components/{section}, or correct the name"),
            );
            return None;
        }
        Some(name)
    }

    /// How the standard treats a keyword beside a `$ref`, and what to write instead.
    fn sibling(&self, name: &str) -> (&'static str, &'static str) {
        const COUNTS: &str = "counts it besides, which is not understood";
        const OF_ONE: &str = "write `allOf` of one item, the reference, and keep this beside it";
        match (name, self.is_3_1()) {
            ("nullable", true) => (
                "knows no such keyword",
                "remove it, or write `openapi: 3.0.3` and `allOf` of one item, the reference, with this beside it",
            ),
            ("nullable" | "default", false) => ("ignores it", OF_ONE),
            ("default", true) => (COUNTS, OF_ONE),
            (_, true) => (
                COUNTS,
                "write one schema that says all of it, here or where the reference leads to",
            ),
            (_, false) => (
                "ignores it",
                "remove it, or write it where the reference leads to",
            ),
        }
    }

    /// The component of this name.
    pub(super) fn component(&self, section: &str, name: &str) -> Option<Place<'a>> {
        self.root().get("components")?.get(section)?.get(name)
    }
}

/// The kind of a value, in words.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
