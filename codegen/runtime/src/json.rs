//! A strict parser of JSON texts, for request bodies.
//!
//! A request body is checked against a schema before any Rust type is made from it, and the usual parsers
//! lose too much for that: they forget number literals, overwrite duplicate keys and tolerate more than
//! the standard. This one follows RFC 8259 and the interoperability advice of RFC 7493 (I-JSON):
//!
//! 1. the text is UTF-8, without a byte order mark;
//! 2. it is a single value, with nothing but whitespace around it;
//! 3. no object has the same member twice;
//! 4. strings hold no lone surrogates and no unescaped control characters;
//! 5. arrays and objects nest at most [`MAX_DEPTH`] deep.
//!
//! The result borrows from the text except where a string has escapes, keeps the order of members, and
//! keeps numbers as literals. Parsing takes time proportional to the text.

mod deserialize;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Error as _};

use crate::decimal::Number;
use crate::violation::{Violation, constraint, shown};

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 100;

/// A JSON value that borrows from the text it was read from.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number, as written.
    Number(&'a str),
    /// A string, with escapes resolved.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object: its members in the order of the text, without duplicate names.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl Value<'_> {
    /// Returns the kind of value, for use in a message: `a string`.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// Appends a text that is the same for all ways to write one value: members ordered by name, numbers
    /// by value, no spacing. Two values are the same exactly if these texts are.
    pub fn write_canonical(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Number(literal) => match Number::parse(literal) {
                Ok(number) => out.push_str(&number.canonical()),
                // Beyond the limits of a decimal, numbers do not compare by value.
                Err(_) => out.push_str(literal),
            },
            Value::String(text) => write_string(text, out),
            Value::Array(items) => {
                write_list('[', ']', items.iter(), out, |item, out| {
                    item.write_canonical(out)
                });
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_unstable_by(|one, other| one.0.cmp(&other.0));
                write_list('{', '}', members.into_iter(), out, |(name, value), out| {
                    write_string(name, out);
                    out.push(':');
                    value.write_canonical(out);
                });
            }
        }
    }
}

impl fmt::Display for Value<'_> {
    /// Writes the value as text: numbers as they were written, members in their order, without spacing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => write!(f, "{value}"),
            Value::Number(literal) => f.write_str(literal),
            Value::String(text) => write!(f, "{}", serde_json::Value::from(&**text)),
            Value::Array(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    let comma = if at > 0 { "," } else { "" };
                    write!(f, "{comma}{}:{value}", serde_json::Value::from(&**name))?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

fn write_list<T>(
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    out: &mut String,
    mut write: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}

/// Reads a JSON text into a `T`, as is done for a body that was [parsed](parse) and checked.
///
/// Unlike `serde_json`, it reads `-0` as an integer.
///
/// # Errors
/// If the text breaks a rule of this module, or does not fit.
///
/// ```
/// assert_eq!(openapi_dropshot_runtime::json::read::<i64>("-0")?, 0);
/// # Ok::<_, serde_json::Error>(())
/// ```
pub fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, serde_json::Error> {
    let value =
        parse(text.as_bytes()).map_err(|wrong| serde_json::Error::custom(&wrong.message))?;
    value.take().map_err(serde_json::Error::custom)
}

/// Parses one JSON text.
///
/// # Errors
/// The first place where the text breaks a rule of this module, as a violation of the whole body.
pub fn parse(bytes: &[u8]) -> Result<Value<'_>, Violation> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        // Everything before this is valid UTF-8, so the position can be reported.
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        malformed(valid, valid.len(), "is not UTF-8")
    })?;
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
    };
    let value = reader.value()?;
    reader.skip_whitespace();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.error("has more after the JSON value")),
    }
}

fn malformed(text: &str, at: usize, what: &str) -> Violation {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let column = text.get(start..at).map_or(0, |line| line.chars().count()) + 1;
    let message = format!("is not well-formed JSON: it {what} at line {line}, column {column}");
    Violation::new("", constraint::JSON, message)
}

struct Reader<'a> {
    text: &'a str,
    /// The offset of the next byte; always on a character boundary.
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, what: &str) -> Violation {
        malformed(self.text, self.at, what)
    }

    /// The violation for a byte that no rule allows here.
    fn unexpected(&self, expected: &str) -> Violation {
        match self.text[self.at..].chars().next() {
            Some(found) => self.error(&format!("has {found:?} instead of {expected}")),
            None => self.error(&format!("ends instead of having {expected}")),
        }
    }

    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value<'a>, Violation> {
        self.skip_whitespace();
        match self.peek() {
            Some(b'{') => self.nested(Reader::object),
            Some(b'[') => self.nested(Reader::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value<'a>, Violation>,
    ) -> Result<Value<'a>, Violation> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(&format!("nests deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Result<Value<'a>, Violation> {
        let mut items = Vec::new();
        self.skip_whitespace();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_whitespace();
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("',' or ']'"));
            }
        }
    }

    fn object(&mut self) -> Result<Value<'a>, Violation> {
        let mut members = Vec::new();
        let mut names = Names::default();
        self.skip_whitespace();
        if self.eat(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_whitespace();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("the name of a member"));
            }
            let start = self.at;
            let name = self.string()?;
            if names.has(&members, &name) {
                let what = format!("has the member {} twice, again", shown(&name));
                return Err(malformed(self.text, start, &what));
            }
            self.skip_whitespace();
            if !self.eat(b':') {
                return Err(self.unexpected("':'"));
            }
            let value = self.value()?;
            members.push((name, value));
            self.skip_whitespace();
            if self.eat(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.eat(b',') {
                return Err(self.unexpected("',' or '}'"));
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Violation> {
        let start = self.at;
        let mut escaped = false;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    // The escaped byte is checked below; here it just must not end the string.
                    if !matches!(self.peek(), Some(b'"' | b'\\')) {
                        continue;
                    }
                }
                Some(0..=0x1F) => return Err(self.error("has an unescaped control character")),
                Some(_) => {}
                None => return Err(self.error("ends within a string")),
            }
            self.at += 1;
        }
        self.at += 1;
        let literal = &self.text[start..self.at];
        if !escaped {
            return Ok(Cow::Borrowed(&literal[1..literal.len() - 1]));
        }
        serde_json::from_str(literal)
            .map(Cow::Owned)
            .map_err(|_| malformed(self.text, start, "has a wrong escape in the string"))
    }

    fn number(&mut self) -> Result<Value<'a>, Violation> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        let literal = &self.text[start..self.at];
        match Number::scan(literal) {
            Ok(_) => Ok(Value::Number(literal)),
            Err(_) => Err(malformed(
                self.text,
                start,
                "has a number that JSON does not know",
            )),
        }
    }

    fn word(&mut self) -> Result<Value<'a>, Violation> {
        let words = [
            ("null", Value::Null),
            ("true", Value::Boolean(true)),
            ("false", Value::Boolean(false)),
        ];
        for (word, value) in words {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("a value"))
    }
}

/// Finds duplicate names in an object: by comparing while there are few, as in nearly every object, and
/// with a set beyond that.
#[derive(Default)]
struct Names<'a>(HashSet<Cow<'a, str>>);

impl<'a> Names<'a> {
    const FEW: usize = 16;

    #[expect(
        clippy::ptr_arg,
        reason = "a name that is borrowed is kept without a copy"
    )]
    fn has(&mut self, members: &[(Cow<'a, str>, Value<'a>)], name: &Cow<'a, str>) -> bool {
        if members.len() < Names::FEW {
            return members.iter().any(|(other, _)| other == name);
        }
        if self.0.is_empty() {
            self.0
                .extend(members.iter().map(|(other, _)| other.clone()));
        }
        !self.0.insert(name.clone())
    }
}
