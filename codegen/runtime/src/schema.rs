//! The schemas of a document, as static data.
//!
//! The generator writes every component of a document as a `static` [`Schema`], so changing a limit in the
//! document changes what is accepted, with nothing else to edit. [`check`] checks a value against one.

mod check;
mod limits;
mod linear;
mod multiple;
mod regex;
mod sign;

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use crate::decimal::Number;
use crate::json::Value;

pub use check::check;
pub(crate) use check::check_parameter;
pub use regex::Regex;

/// A schema of the document.
#[derive(Debug)]
pub struct Schema {
    /// What it admits, apart from null.
    pub kind: Kind,
    /// Whether it also admits null.
    pub nullable: bool,
}

/// What a schema admits.
#[derive(Debug)]
pub enum Kind {
    /// true and false.
    Boolean,
    /// A whole number within bounds.
    Integer(Bounds),
    /// An exact decimal number.
    Number(Bounds),
    /// Text.
    String(Text),
    /// A list.
    Array(Array),
    /// An object.
    Object(Object),
    /// An object, with the schema of the members that are not properties.
    Open(Object, &'static Schema),
    /// An object whose members have any name, and this schema.
    Map(&'static Schema),
    /// One of several objects.
    OneOf(OneOf),
    /// One of several schemas, told apart by looking at the value.
    Union(&'static [Alternative]),
    /// Null, and nothing else.
    Null,
    /// Any value.
    Any,
    /// No value.
    Never,
    /// Whatever another schema admits, within further limits.
    Limited(&'static Schema, &'static [Limit]),
    /// Whatever another schema admits, including its null.
    Ref(&'static Schema),
}

/// `minimum` and `maximum`.
#[derive(Debug)]
pub struct Bounds {
    /// The lower bound.
    pub minimum: Option<Bound>,
    /// The upper bound.
    pub maximum: Option<Bound>,
}

/// One end of a range.
#[derive(Debug)]
pub struct Bound {
    /// A decimal literal.
    pub value: &'static str,
    /// Whether the value itself is outside.
    pub exclusive: bool,
}

/// The constraints on text.
#[derive(Debug)]
pub struct Text {
    /// `minLength`, in code points.
    pub min_length: usize,
    /// `maxLength`, in code points.
    pub max_length: Option<usize>,
    /// `pattern`
    pub pattern: Option<Pattern>,
    /// `format`
    pub format: Option<Format>,
    /// `enum`; empty if any text is allowed.
    pub enumeration: &'static [&'static str],
}

/// The formats that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 9562, in its 36 characters.
    Uuid,
    /// RFC 3339.
    DateTime,
    /// A full date of RFC 3339.
    Date,
    /// An address of either kind.
    Ip,
    /// Four numbers.
    Ipv4,
    /// RFC 4291, section 2.2.
    Ipv6,
}

/// A limit of numbers, booleans or objects.
#[derive(Debug)]
pub enum Limit {
    /// `multipleOf`: a decimal literal.
    MultipleOf(&'static str),
    /// `enum` of anything but text: literals.
    Values(&'static [&'static str]),
    /// `minProperties`
    MinProperties(usize),
    /// `maxProperties`
    MaxProperties(usize),
}

/// The constraints on a list.
#[derive(Debug)]
pub struct Array {
    /// The schema of each item.
    pub items: &'static Schema,
    /// `minItems`
    pub min_items: usize,
    /// `maxItems`
    pub max_items: Option<usize>,
    /// `uniqueItems`
    pub unique_items: bool,
}

/// The constraints on an object.
#[derive(Debug)]
pub struct Object {
    /// The properties, in the document's order.
    pub properties: &'static [Property],
    /// Whether members that are not properties are allowed.
    pub additional: bool,
}

/// One property of an object.
#[derive(Debug)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// Whether it is required.
    pub required: bool,
    /// Its schema.
    pub schema: Schema,
}

/// One of several objects, told apart by the value of one property.
#[derive(Debug)]
pub struct OneOf {
    /// The property.
    pub discriminator: &'static str,
    /// Its values, and the schema that each selects.
    pub variants: &'static [(&'static str, &'static Schema)],
}

/// One of several schemas.
#[derive(Debug)]
pub struct Alternative {
    /// What distinguishes it from the others.
    pub sign: Sign,
    /// Its schema.
    pub schema: &'static Schema,
}

/// What distinguishes an alternative from others.
#[derive(Debug)]
pub enum Sign {
    /// One of these texts.
    Text(&'static [&'static str]),
    /// Any text.
    String,
    /// A number.
    Number,
    /// true or false.
    Boolean,
    /// A list.
    Array,
    /// An object.
    Object,
    /// An object that has this member.
    Member(&'static str),
    /// Nothing but the fact that the value passes the alternative.
    Fits {
        /// Whether it may pass no other alternative.
        alone: bool,
    },
}

/// An ECMA-262 regular expression, not anchored, compiled on first use.
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern with this source.
    pub const fn new(source: &'static str) -> Pattern {
        Pattern {
            source,
            compiled: OnceLock::new(),
        }
    }

    /// Returns whether it matches anywhere in the text.
    fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.source).ok());
        // The generator refuses a pattern that does not compile, so there is always one.
        compiled
            .as_ref()
            .is_some_and(|regex| regex.find(text).is_some())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.source)
    }
}

impl Schema {
    /// Returns the schema of the items of a list.
    pub(crate) fn items(&self) -> Option<&'static Schema> {
        match &self.kind {
            Kind::Ref(schema) | Kind::Limited(schema, _) => schema.items(),
            Kind::Array(array) => Some(array.items),
            _ => None,
        }
    }

    /// Returns whether a text in a form is the value itself, not JSON: it is not a list or an object, and cannot
    /// be one.
    pub(crate) fn is_single(&self) -> bool {
        match &self.kind {
            Kind::Ref(schema) | Kind::Limited(schema, _) => schema.is_single(),
            Kind::Boolean | Kind::Integer(_) | Kind::Number(_) | Kind::String(_) => true,
            Kind::Union(_) => self.is_text(),
            _ => false,
        }
    }

    /// Returns whether all of its values are texts.
    fn is_text(&self) -> bool {
        match &self.kind {
            Kind::Ref(schema) | Kind::Limited(schema, _) => schema.is_text(),
            Kind::String(_) => true,
            Kind::Union(alternatives) => alternatives.iter().all(|it| it.schema.is_text()),
            _ => false,
        }
    }

    /// Returns the value that the text of a parameter stands for, according to the type in the schema.
    ///
    /// A text that is not a value of that type stays a text, for [`check`] to refuse.
    pub(crate) fn read_text<'a>(&self, text: &'a str) -> Value<'a> {
        match &self.kind {
            Kind::Ref(schema) | Kind::Limited(schema, _) => schema.read_text(text),
            Kind::Boolean if text == "true" => Value::Boolean(true),
            Kind::Boolean if text == "false" => Value::Boolean(false),
            Kind::Integer(_) | Kind::Number(_) if Number::scan(text).is_ok() => Value::Number(text),
            _ => Value::String(Cow::Borrowed(text)),
        }
    }
}

impl Format {
    fn matches(self, text: &str) -> bool {
        match self {
            Format::Uuid => text.len() == 36 && uuid::Uuid::try_parse(text).is_ok(),
            Format::DateTime => crate::time::parse_rfc3339(text).is_some(),
            // chrono also accepts months and days of one digit, and years of five.
            Format::Date => {
                let date = text.parse::<chrono::NaiveDate>();
                text.len() == 10 && date.is_ok_and(|date| date.to_string() == text)
            }
            Format::Ip => text.parse::<IpAddr>().is_ok(),
            Format::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Format::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
        }
    }

    fn description(self) -> &'static str {
        match self {
            Format::Uuid => "a UUID, like 0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47",
            Format::DateTime => "a time as in RFC 3339, like 2026-11-20T21:49:00.123Z",
            Format::Date => "a date, like 2026-11-20",
            Format::Ip => "an IP address, like 192.0.2.1 or 2001:db8::1",
            Format::Ipv4 => "an IPv4 address, like 192.0.2.1",
            Format::Ipv6 => "an IPv6 address, like 2001:db8::1",
        }
    }
}
