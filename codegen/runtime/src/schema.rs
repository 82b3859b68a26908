//! The schemas of a document as static data, and checking values against them.
//!
//! The generator writes every component of a document as a `static` [`Schema`], so that a limit that
//! changes in the document changes what is accepted with nothing else to edit. [`check`] reports
//! everything that is wrong with a value at once (at most [`MAX_VIOLATIONS`]):
//!
//! - paths are JSON Pointers; `required` and `additionalProperties` point at the missing or unknown
//!   member itself;
//! - lengths count Unicode code points, as JSON Schema has it;
//! - numbers compare as exact decimals, and `integer` means a literal without fraction and exponent;
//! - patterns are ECMA-262 regular expressions, compiled once;
//! - of a `oneOf`, the discriminator selects the one schema that the value is held against.
//!
//! A value that passes costs no allocation.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::OnceLock;

use crate::decimal::{Decimal, DecimalError, Number};
use crate::json::Value;
use crate::violation::{MAX_VIOLATIONS, Violation, constraint, shown};

/// A schema of the document.
#[derive(Debug)]
pub struct Schema {
    /// What it admits, null left aside.
    pub kind: Kind,
    /// Whether it admits null besides.
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
    /// One of several objects.
    OneOf(OneOf),
    /// What another schema admits, including its null.
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

/// What is said about text.
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
    /// `enum`; empty when any text will do.
    pub enumeration: &'static [&'static str],
}

/// The formats that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 9562, in its 36 characters.
    Uuid,
    /// RFC 3339.
    DateTime,
}

/// What is said about a list.
#[derive(Debug)]
pub struct Array {
    /// What each item is.
    pub items: &'static Schema,
    /// `minItems`
    pub min_items: usize,
    /// `maxItems`
    pub max_items: Option<usize>,
    /// `uniqueItems`
    pub unique_items: bool,
}

/// What is said about an object.
#[derive(Debug)]
pub struct Object {
    /// The properties, in the document's order.
    pub properties: &'static [Property],
    /// Whether members that are no properties are tolerated.
    pub additional: bool,
}

/// One property of an object.
#[derive(Debug)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub required: bool,
    /// What it is.
    pub schema: Schema,
}

/// One of several objects, told apart by the value of one property.
#[derive(Debug)]
pub struct OneOf {
    /// The property.
    pub discriminator: &'static str,
    /// Its values, and what each leads to.
    pub variants: &'static [(&'static str, &'static Schema)],
}

/// A regular expression of ECMA-262, not anchored, compiled when it is first used.
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<regress::Regex>>,
}

impl Pattern {
    /// A pattern of this source.
    pub const fn new(source: &'static str) -> Pattern {
        Pattern {
            source,
            compiled: OnceLock::new(),
        }
    }

    fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| {
            regress::Regex::with_flags(self.source, regress::Flags::from("u")).ok()
        });
        // The generator refuses a pattern that does not compile, so this never lets anything through.
        compiled
            .as_ref()
            .is_none_or(|regex| regex.find(text).is_some())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/u", self.source)
    }
}

/// Everything that is wrong with a body, by its schema. Empty when it passes.
pub fn check(schema: &Schema, value: &Value<'_>) -> Vec<Violation> {
    let mut check = Check::default();
    check.value(schema, value, &Place::Body);
    check.violations
}

/// Everything that is wrong with the value of this parameter, by its schema.
pub(crate) fn check_parameter(name: &str, schema: &Schema, value: &Value<'_>) -> Vec<Violation> {
    let mut check = Check::default();
    check.value(schema, value, &Place::Parameter(name));
    check.violations
}

impl Schema {
    /// The value that the text of a parameter stands for: what the schema says of its type decides.
    ///
    /// A text that is no value of that type stays a text, for [`check`] to refuse.
    pub(crate) fn read_text<'a>(&self, text: &'a str) -> Value<'a> {
        match &self.kind {
            Kind::Ref(schema) => schema.read_text(text),
            Kind::Boolean if text == "true" => Value::Boolean(true),
            Kind::Boolean if text == "false" => Value::Boolean(false),
            Kind::Integer(_) | Kind::Number(_) if Number::scan(text).is_ok() => Value::Number(text),
            _ => Value::String(Cow::Borrowed(text)),
        }
    }
}

/// Where a value stands: a path that is only written out when something is wrong there.
enum Place<'a> {
    Body,
    Parameter(&'a str),
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

/// The longest name of a member in a path, in characters. Unknown members have any name at all.
const MAX_NAME: usize = 64;

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Body => Ok(()),
            Place::Parameter(name) => f.write_str(name),
            Place::Member(parent, name) => {
                let end = name
                    .char_indices()
                    .nth(MAX_NAME)
                    .map_or(name.len(), |(end, _)| end);
                let ellipsis = if end < name.len() { "…" } else { "" };
                let token = name[..end].replace('~', "~0").replace('/', "~1");
                write!(f, "{parent}/{token}{ellipsis}")
            }
            Place::Item(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

#[derive(Default)]
struct Check {
    violations: Vec<Violation>,
}

impl Check {
    fn report(&mut self, place: &Place<'_>, constraint: &'static str, message: String) {
        if !self.is_full() {
            self.violations
                .push(Violation::new(place.to_string(), constraint, message));
        }
    }

    fn is_full(&self) -> bool {
        self.violations.len() >= MAX_VIOLATIONS
    }

    fn value(&mut self, schema: &Schema, value: &Value<'_>, place: &Place<'_>) {
        let expected = match (&schema.kind, value) {
            (Kind::Ref(schema), value) => return self.value(schema, value, place),
            (_, Value::Null) if schema.nullable => return,
            (Kind::Boolean, Value::Boolean(_)) => return,
            (Kind::Integer(bounds), Value::Number(literal)) if is_whole(literal) => {
                return self.number(bounds, literal, place);
            }
            (Kind::Number(bounds), Value::Number(literal)) => {
                return self.number(bounds, literal, place);
            }
            (Kind::String(rules), Value::String(text)) => return self.text(rules, text, place),
            (Kind::Array(rules), Value::Array(items)) => return self.array(rules, items, place),
            (Kind::Object(rules), Value::Object(members)) => {
                return self.object(rules, members, place);
            }
            (Kind::OneOf(rules), Value::Object(members)) => {
                return self.one_of(rules, members, value, place);
            }
            (Kind::Boolean, _) => "a boolean",
            (Kind::Integer(_), _) => "an integer, without fraction and exponent",
            (Kind::Number(_), _) => "a number",
            (Kind::String(_), _) => "a string",
            (Kind::Array(_), _) => "an array",
            (Kind::Object(_) | Kind::OneOf(_), _) => "an object",
        };
        let or_null = if schema.nullable { " or null" } else { "" };
        let message = format!("must be {expected}{or_null}, but is {}", value.kind());
        self.report(place, "type", message);
    }

    fn number(&mut self, bounds: &Bounds, literal: &str, place: &Place<'_>) {
        let number = match Number::parse(literal) {
            Ok(number) => number,
            // Of syntax the reader of the text took care.
            Err(error @ (DecimalError::Precision | DecimalError::Syntax)) => {
                let message = format!("must be a number of reasonable size, but has {error}");
                return self.report(place, constraint::PRECISION, message);
            }
        };
        let came = if literal.len() <= Decimal::MAX_DIGITS {
            literal
        } else {
            "not"
        };
        let ends = [
            (
                &bounds.minimum,
                Ordering::Less,
                "minimum",
                "at least",
                "more than",
            ),
            (
                &bounds.maximum,
                Ordering::Greater,
                "maximum",
                "at most",
                "less than",
            ),
        ];
        for (bound, outside, keyword, inclusive, exclusive) in ends {
            let Some(bound) = bound else { continue };
            // The generator writes no bound that is not a decimal.
            let Ok(limit) = Number::parse(bound.value) else {
                continue;
            };
            let order = number.compare(&limit);
            if order == outside || (bound.exclusive && order == Ordering::Equal) {
                let relation = if bound.exclusive {
                    exclusive
                } else {
                    inclusive
                };
                let message = format!("must be {relation} {}, but is {came}", bound.value);
                self.report(place, keyword, message);
            }
        }
    }

    fn text(&mut self, rules: &Text, text: &str, place: &Place<'_>) {
        if !rules.enumeration.is_empty() && !rules.enumeration.contains(&text) {
            self.report(place, "enum", not_one_of(rules.enumeration, text));
        }
        if rules.min_length > 0 || rules.max_length.is_some() {
            let length = text.chars().count();
            if length < rules.min_length {
                let least = characters(rules.min_length);
                self.report(
                    place,
                    "minLength",
                    format!("must have at least {least}, but has {length}"),
                );
            }
            if let Some(most) = rules.max_length.filter(|&most| length > most) {
                let most = characters(most);
                self.report(
                    place,
                    "maxLength",
                    format!("must have at most {most}, but has {length}"),
                );
            }
        }
        if let Some(pattern) = rules
            .pattern
            .as_ref()
            .filter(|pattern| !pattern.matches(text))
        {
            let message = format!("must match the regular expression {}", pattern.source);
            self.report(place, "pattern", message);
        }
        if let Some(format) = rules.format.filter(|format| !format.matches(text)) {
            let message = format!("must be {}", format.description());
            self.report(place, "format", message);
        }
    }

    fn array(&mut self, rules: &Array, items: &[Value<'_>], place: &Place<'_>) {
        let length = items.len();
        if length < rules.min_items {
            let message = format!(
                "must have at least {} items, but has {length}",
                rules.min_items
            );
            self.report(place, "minItems", message);
        }
        if let Some(most) = rules.max_items.filter(|&most| length > most) {
            let message = format!("must have at most {most} items, but has {length}");
            self.report(place, "maxItems", message);
        }
        if rules.unique_items && !are_unique(items) {
            self.report(
                place,
                "uniqueItems",
                "must not have the same item twice".to_owned(),
            );
        }
        for (index, item) in items.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.value(rules.items, item, &Place::Item(place, index));
        }
    }

    fn object(&mut self, rules: &Object, members: &Members<'_>, place: &Place<'_>) {
        for property in rules.properties.iter().filter(|property| property.required) {
            if find(members, property.name).is_none() {
                let place = Place::Member(place, property.name);
                self.report(&place, "required", "is required, but missing".to_owned());
            }
        }
        for (name, value) in members {
            if self.is_full() {
                return;
            }
            let place = Place::Member(place, name);
            match rules
                .properties
                .iter()
                .find(|property| property.name == name)
            {
                Some(property) => self.value(&property.schema, value, &place),
                None if rules.additional => {}
                None => {
                    self.report(
                        &place,
                        "additionalProperties",
                        "is not a known member".to_owned(),
                    );
                }
            }
        }
    }

    fn one_of(
        &mut self,
        rules: &OneOf,
        members: &Members<'_>,
        value: &Value<'_>,
        place: &Place<'_>,
    ) {
        let place_of_kind = Place::Member(place, rules.discriminator);
        let kind = match find(members, rules.discriminator) {
            Some(Value::String(kind)) => kind,
            Some(other) => {
                let message = format!("must be a string, but is {}", other.kind());
                return self.report(&place_of_kind, "type", message);
            }
            None => {
                let message = "is required, but missing".to_owned();
                return self.report(&place_of_kind, "required", message);
            }
        };
        match rules.variants.iter().find(|(name, _)| name == kind) {
            Some((_, schema)) => self.value(schema, value, place),
            None => {
                let names: Vec<&str> = rules.variants.iter().map(|(name, _)| *name).collect();
                self.report(&place_of_kind, "enum", not_one_of(&names, kind));
            }
        }
    }
}

type Members<'a> = [(Cow<'a, str>, Value<'a>)];

fn find<'a, 'b>(members: &'a Members<'b>, name: &str) -> Option<&'a Value<'b>> {
    members
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, value)| value)
}

/// What `type: integer` admits: the literal of a whole number, as JSON Schema had it when OpenAPI 3.0
/// took it over.
fn is_whole(literal: &str) -> bool {
    !literal.contains(['.', 'e', 'E'])
}

fn are_unique(items: &[Value<'_>]) -> bool {
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| {
        let mut text = String::new();
        item.write_canonical(&mut text);
        seen.insert(text)
    })
}

fn characters(count: usize) -> String {
    format!("{count} character{}", if count == 1 { "" } else { "s" })
}

/// The most values of a list that a message names.
const MAX_NAMED: usize = 12;

fn not_one_of(allowed: &[&str], came: &str) -> String {
    let named = allowed[..allowed.len().min(MAX_NAMED)].join(", ");
    let more = match allowed.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    format!("must be one of {named}{more}, but is {}", shown(came))
}

impl Format {
    fn matches(self, text: &str) -> bool {
        match self {
            Format::Uuid => text.len() == 36 && uuid::Uuid::try_parse(text).is_ok(),
            // chrono also tolerates a space where the standard has a T.
            Format::DateTime => {
                matches!(text.as_bytes().get(10), Some(b'T' | b't'))
                    && chrono::DateTime::parse_from_rfc3339(text).is_ok()
            }
        }
    }

    fn description(self) -> &'static str {
        match self {
            Format::Uuid => "a UUID, like 0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47",
            Format::DateTime => "a time as in RFC 3339, like 2026-11-20T21:49:00.123Z",
        }
    }
}
