//! The parameters of a request: found, decoded and checked against their schemas.
//!
//! 1. Path variables are the decoded segments of the path.
//! 2. The query is `application/x-www-form-urlencoded`: pairs separated by `&`, percent-encoded UTF-8, `+` for a space. A
//!    name that belongs neither to the operation nor to its credentials is `unknown`, one of its own that occurs twice is
//!    `repeated`; each counts once, however often it occurs. After [a thousand](MAX_REFUSED) of those, reading stops: a
//!    query may have thirty thousand.
//! 3. Of the headers, those that the operation names are read; each may occur once.
//! 4. A value that is not UTF-8 violates `format`.
//! 5. A list is written once per item (`style: form`, `explode: true`); a required list that is absent is empty, since an
//!    empty list cannot be written.
//! 6. The schema determines what a text stands for: `20` is a number if the schema asks for one.

use std::borrow::Cow;
use std::collections::HashSet;

use http::HeaderMap;
use http::request::Parts;
use percent_encoding::percent_decode;
use serde::de::DeserializeOwned;

use crate::json::Value;
use crate::operation::{Location, Operation, Parameter};
use crate::rejection::{Cause, RequestError};
use crate::schema::check_parameter;
use crate::violation::{Path, Violation, Violations, constraint};

/// After this many refused pairs of a query, reading stops.
const MAX_REFUSED: usize = 1_000;

/// The texts of the parameters of one location, checked.
#[derive(Debug)]
pub struct Parameters<'a> {
    operation: &'static Operation,
    location: Location,
    /// By the index of the parameter in the operation; empty if it has none in this location.
    texts: Vec<Texts<'a>>,
}

/// The texts of one parameter: a list has one per item. Nearly all have a single one, which needs no allocation.
#[derive(Clone, Debug, Default)]
struct Texts<'a> {
    first: Option<Cow<'a, str>>,
    rest: Vec<Cow<'a, str>>,
}

impl<'a> Texts<'a> {
    fn push(&mut self, text: Cow<'a, str>) {
        match self.first {
            None => self.first = Some(text),
            Some(_) => self.rest.push(text),
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.first.iter().chain(&self.rest).map(|it| &**it)
    }
}

impl<'a> Parameters<'a> {
    /// Reads the parameters of one location.
    ///
    /// # Errors
    /// All violations.
    pub(crate) fn read(
        operation: &'static Operation,
        location: Location,
        head: &'a Parts,
    ) -> Result<Parameters<'a>, RequestError> {
        let any = operation
            .parameters
            .iter()
            .any(|it| it.location == location);
        // If the operation has none here, only a query can be wrong.
        if !any && (location != Location::Query || head.uri.query().is_none()) {
            return Ok(Parameters {
                operation,
                location,
                texts: Vec::new(),
            });
        }
        let mut found = Found {
            operation,
            location,
            texts: vec![Texts::default(); operation.parameters.len()],
            unreadable: Vec::new(),
            repeated: Vec::new(),
            unknown: HashSet::new(),
            violations: Violations::default(),
        };
        let cause = match location {
            Location::Path => {
                found.path(head.uri.path());
                Cause::Path
            }
            Location::Query => {
                found.query(head.uri.query().unwrap_or_default());
                Cause::Query
            }
            Location::Header => {
                found.headers(&head.headers);
                Cause::Header
            }
        };
        found.check();
        RequestError::unless_empty(cause, found.violations)?;
        Ok(Parameters {
            operation,
            location,
            texts: found.texts,
        })
    }

    /// Returns the value of a parameter that is required or has a default.
    ///
    /// # Errors
    /// An internal error if there is none or it does not fit the type: the generator made a type that does not agree with
    /// the schema.
    pub fn required<T: DeserializeOwned>(&self, name: &str) -> Result<T, RequestError> {
        self.optional(name)?.ok_or_else(RequestError::internal)
    }

    /// Returns the value of a parameter, if there is one or it has a default.
    ///
    /// # Errors
    /// As for [`required`](Parameters::required).
    pub fn optional<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RequestError> {
        let mut declared = self.operation.parameters.iter().zip(&self.texts);
        let (parameter, texts) = declared
            .find(|(parameter, _)| parameter.location == self.location && parameter.name == name)
            .ok_or_else(RequestError::internal)?;
        if parameter.schema.items().is_some() && (parameter.required || !texts.is_empty()) {
            let value = read(parameter, texts);
            return T::deserialize(&value)
                .map(Some)
                .map_err(|_| RequestError::internal());
        }
        let Some(text) = texts.first.as_deref().or(parameter.default) else {
            return Ok(None);
        };
        let value = T::deserialize(&parameter.schema.read_text(text));
        value.map(Some).map_err(|_| RequestError::internal())
    }
}

/// What has been found so far.
struct Found<'a> {
    operation: &'static Operation,
    location: Location,
    texts: Vec<Texts<'a>>,
    /// The indexes of those whose text is not UTF-8.
    unreadable: Vec<usize>,
    /// The indexes of those that occur more than once.
    repeated: Vec<usize>,
    /// The names that the operation does not know.
    unknown: HashSet<Cow<'a, str>>,
    violations: Violations,
}

impl<'a> Found<'a> {
    fn path(&mut self, path: &'a str) {
        let segments = |path: &'a str| path.split('/').filter(|segment| !segment.is_empty());
        for (template, segment) in segments(self.operation.path).zip(segments(path)) {
            let name = template
                .strip_prefix('{')
                .and_then(|it| it.strip_suffix('}'));
            if let Some(at) = name.and_then(|name| self.position(name)) {
                self.set(at, percent_decode(segment.as_bytes()).into());
            }
        }
    }

    fn query(&mut self, query: &'a str) {
        let mut refused = 0;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            if refused == MAX_REFUSED {
                break;
            }
            let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
            let name = readable(decode_query(name));
            match self.position(&name) {
                Some(at) if !self.texts[at].is_empty() && !self.is_list(at) => {
                    refused += 1;
                    self.repeated(at);
                }
                Some(at) => self.set(at, decode_query(text)),
                None if self.operation.has_query_credential(&name) => {}
                None => {
                    refused += 1;
                    if !self.unknown.contains(&name) {
                        self.violations.add(|| unknown(&name));
                        self.unknown.insert(name);
                    }
                }
            }
        }
    }

    fn headers(&mut self, headers: &'a HeaderMap) {
        for (at, parameter) in self.operation.parameters.iter().enumerate() {
            if parameter.location != Location::Header {
                continue;
            }
            let mut values = headers.get_all(parameter.name).iter();
            if let Some(value) = values.next() {
                self.set(at, Cow::Borrowed(value.as_bytes()));
            }
            if values.next().is_some() {
                self.repeated(at);
            }
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.operation
            .parameters
            .iter()
            .position(|parameter| parameter.location == self.location && parameter.name == name)
    }

    fn is_list(&self, at: usize) -> bool {
        self.operation.parameters[at].schema.items().is_some()
    }

    fn set(&mut self, at: usize, bytes: Cow<'a, [u8]>) {
        let text = match bytes {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).ok(),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).ok(),
        };
        if text.is_none() && !self.unreadable.contains(&at) {
            self.unreadable.push(at);
            let name = self.operation.parameters[at].name;
            self.violations
                .add(|| Violation::new(name, "format", "must be UTF-8"));
        }
        self.texts[at].push(text.unwrap_or_default());
    }

    fn repeated(&mut self, at: usize) {
        if !self.repeated.contains(&at) {
            self.repeated.push(at);
            let name = self.operation.parameters[at].name;
            let message = "must not be given more than once";
            self.violations
                .add(|| Violation::new(name, constraint::REPEATED, message));
        }
    }

    /// Steps 5 and 6, and missing parameters.
    fn check(&mut self) {
        for (at, parameter) in self.operation.parameters.iter().enumerate() {
            if parameter.location != self.location || self.unreadable.contains(&at) {
                continue;
            }
            let name = parameter.name;
            let texts = &self.texts[at];
            match texts.is_empty() {
                true if !parameter.required => {}
                true if !self.is_list(at) => {
                    let message = "is required, but missing";
                    self.violations
                        .add(|| Violation::new(name, "required", message));
                }
                _ => {
                    let value = read(parameter, texts);
                    check_parameter(name, &parameter.schema, &value, &mut self.violations);
                }
            }
        }
    }
}

/// Returns the value of a parameter that is present: a list of all its texts, or the only one.
fn read<'a>(parameter: &Parameter, texts: &'a Texts<'_>) -> Value<'a> {
    match (parameter.schema.items(), &texts.first) {
        (Some(items), _) => Value::Array(texts.iter().map(|it| items.read_text(it)).collect()),
        (None, Some(text)) => parameter.schema.read_text(text),
        (None, None) => Value::Null,
    }
}

/// The violation for a name that the operation does not know.
fn unknown(name: &str) -> Violation {
    let message = "is not a parameter of this operation";
    match Path::of(name) {
        Some(path) => Violation::new(path, constraint::UNKNOWN, message),
        None => {
            let length = name.chars().count();
            let message =
                format!("has a parameter, with a name of {length} characters, that {message}");
            Violation::new("", constraint::UNKNOWN, message)
        }
    }
}

/// A name as text, even if it is not UTF-8.
fn readable(name: Cow<'_, [u8]>) -> Cow<'_, str> {
    match name {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
    }
}

/// Decodes a name or a value of a query.
fn decode_query(text: &str) -> Cow<'_, [u8]> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return Cow::Owned(percent_decode(spaced.as_bytes()).collect());
    }
    percent_decode(text.as_bytes()).into()
}

#[cfg(test)]
pub(crate) mod tests;
