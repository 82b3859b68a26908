//! Checks a value against a schema, and reports everything that is wrong with it at once.
//!
//! - Paths are JSON Pointers; `required` and `additionalProperties` point at the missing or unknown
//!   member itself.
//! - Lengths count Unicode code points, as in JSON Schema.
//! - Numbers compare as exact decimals, and `integer` means a literal without fraction and exponent.
//! - For a `oneOf`, the discriminator or the sign selects the one schema that the value is checked against.
//!   Without either, the value is checked against each; the generator refuses lists for which that would take
//!   longer with each level.
//! - Keywords are independent of each other: a value of the wrong type is not in an `enum` either, and violates
//!   both.
//!
//! A value that passes costs no allocation, unless a list requires unique items. One that fails costs what
//! reporting its first violations takes ([`Violations`]); those not reported cost nothing either.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use super::{Alternative, Array, Bounds, Kind, Object, OneOf, Schema, Sign, Text};
use crate::decimal::{Decimal, DecimalError, Number};
use crate::json::Value;
use crate::violation::{Path, Violation, Violations, constraint, shown};

/// Returns what is wrong with a body, by its schema. Empty if it passes.
pub fn check(schema: &Schema, value: &Value<'_>) -> Violations {
    let mut violations = Violations::default();
    Check(&mut violations).value(schema, value, &Place::Body);
    violations
}

/// Adds what is wrong with the value of this parameter, by its schema.
pub(crate) fn check_parameter(
    name: &str,
    schema: &Schema,
    value: &Value<'_>,
    violations: &mut Violations,
) {
    Check(violations).value(schema, value, &Place::Parameter(name));
}

/// The place of a value: a path that is only written out if something is wrong there.
enum Place<'a> {
    Body,
    Parameter(&'a str),
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Body => Ok(()),
            Place::Parameter(name) => f.write_str(name),
            Place::Member(parent, name) => {
                if name.contains(['~', '/']) {
                    let token = name.replace('~', "~0").replace('/', "~1");
                    write!(f, "{parent}/{token}")
                } else {
                    write!(f, "{parent}/{name}")
                }
            }
            Place::Item(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

impl Place<'_> {
    /// The violation here, or, if this path is too long, at the nearest place above it whose path is not.
    fn violation(&self, constraint: &'static str, message: Cow<'static, str>) -> Violation {
        if let Some(path) = Path::of(self) {
            return Violation::new(path, constraint, message);
        }
        match self {
            Place::Body => Violation::new("", constraint, message),
            // The document's own name, whatever its length.
            Place::Parameter(name) => Violation::new(*name, constraint, message),
            Place::Member(parent, name) => {
                let length = name.chars().count();
                let message =
                    format!("has a member, with a name of {length} characters, that {message}");
                parent.violation(constraint, message.into())
            }
            Place::Item(parent, index) => parent.violation(
                constraint,
                format!("has item {index}, that {message}").into(),
            ),
        }
    }
}

struct Check<'a>(&'a mut Violations);

impl Check<'_> {
    fn report<M: Into<Cow<'static, str>>>(
        &mut self,
        place: &Place<'_>,
        constraint: &'static str,
        message: impl FnOnce() -> M,
    ) {
        self.0.add(|| place.violation(constraint, message().into()));
    }

    fn value(&mut self, schema: &Schema, value: &Value<'_>, place: &Place<'_>) {
        let expected = match (&schema.kind, value) {
            (_, Value::Null) if schema.nullable => return,
            (Kind::Ref(schema), value) => return self.value(schema, value, place),
            (Kind::Limited(schema, limits), value) => {
                self.value(schema, value, place);
                for limit in limits.iter().filter(|it| !it.is_kept(value)) {
                    self.report(place, limit.keyword(), || limit.message(value));
                }
                return;
            }
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
                return self.object(rules, None, members, place);
            }
            (Kind::Open(rules, others), Value::Object(members)) => {
                return self.object(rules, Some(others), members, place);
            }
            (Kind::Map(values), Value::Object(members)) => {
                for (name, value) in members {
                    self.value(values, value, &Place::Member(place, name));
                }
                return;
            }
            (Kind::OneOf(rules), Value::Object(members)) => {
                return self.one_of(rules, members, value, place);
            }
            (Kind::Union(alternatives), value) => return self.union(alternatives, value, place),
            (Kind::Null, Value::Null) | (Kind::Any, _) => return,
            (Kind::Never, _) => {
                return self.report(place, "not", || "must not be there: no value is valid");
            }
            (Kind::Null, _) => "null",
            (Kind::Boolean, _) => "a boolean",
            (Kind::Integer(_), _) => "an integer, without fraction and exponent",
            (Kind::Number(_), _) => "a number",
            (Kind::String(_), _) => "a string",
            (Kind::Array(_), _) => "an array",
            (Kind::Object(_) | Kind::Open(..) | Kind::Map(_) | Kind::OneOf(_), _) => "an object",
        };
        let or_null = if schema.nullable { " or null" } else { "" };
        self.report(place, "type", || {
            format!("must be {expected}{or_null}, but is {}", value.kind())
        });
        if let Kind::String(rules) = &schema.kind
            && !rules.enumeration.is_empty()
        {
            self.report(place, "enum", || {
                not_one_of(rules.enumeration, value.kind())
            });
        }
    }

    fn number(&mut self, bounds: &Bounds, literal: &str, place: &Place<'_>) {
        let number = match Number::parse(literal) {
            Ok(number) => number,
            // The parser of the text has already checked the syntax.
            Err(error @ (DecimalError::Precision | DecimalError::Syntax)) => {
                return self.report(place, constraint::PRECISION, || {
                    format!("must be a number of reasonable size, but has {error}")
                });
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
            // The generator writes only bounds that are decimals.
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
                self.report(place, keyword, || {
                    format!("must be {relation} {}, but is {came}", bound.value)
                });
            }
        }
    }

    fn text(&mut self, rules: &Text, text: &str, place: &Place<'_>) {
        if !rules.enumeration.is_empty() && !rules.enumeration.contains(&text) {
            self.report(place, "enum", || {
                not_one_of(rules.enumeration, &shown(text))
            });
        }
        if (rules.min_length, rules.max_length) != (0, None) {
            let length = text.chars().count();
            if length < rules.min_length {
                self.report(place, "minLength", || {
                    let least = characters(rules.min_length);
                    format!("must have at least {least}, but has {length}")
                });
            }
            if let Some(most) = rules.max_length.filter(|&most| length > most) {
                self.report(place, "maxLength", || {
                    let most = characters(most);
                    format!("must have at most {most}, but has {length}")
                });
            }
        }
        if let Some(pattern) = rules
            .pattern
            .as_ref()
            .filter(|pattern| !pattern.matches(text))
        {
            self.report(place, "pattern", || {
                format!("must match the regular expression {}", pattern.source)
            });
        }
        if let Some(format) = rules.format.filter(|format| !format.matches(text)) {
            self.report(place, "format", || {
                format!("must be {}", format.description())
            });
        }
    }

    fn array(&mut self, rules: &Array, items: &[Value<'_>], place: &Place<'_>) {
        let length = items.len();
        if length < rules.min_items {
            self.report(place, "minItems", || {
                let least = rules.min_items;
                format!("must have at least {least} items, but has {length}")
            });
        }
        if let Some(most) = rules.max_items.filter(|&most| length > most) {
            self.report(place, "maxItems", || {
                format!("must have at most {most} items, but has {length}")
            });
        }
        if rules.unique_items && !are_unique(items) {
            self.report(place, "uniqueItems", || "must not have the same item twice");
        }
        for (index, item) in items.iter().enumerate() {
            self.value(rules.items, item, &Place::Item(place, index));
        }
    }

    fn object(
        &mut self,
        rules: &Object,
        others: Option<&Schema>,
        members: &Members<'_>,
        place: &Place<'_>,
    ) {
        for property in rules.properties.iter().filter(|property| property.required) {
            if find(members, property.name).is_none() {
                let place = Place::Member(place, property.name);
                self.report(&place, "required", || "is required, but missing");
            }
        }
        for (name, value) in members {
            let place = Place::Member(place, name);
            let mut properties = rules.properties.iter();
            let property = properties.find(|property| property.name == name);
            match property.map(|it| &it.schema).or(others) {
                Some(schema) => self.value(schema, value, &place),
                None if rules.additional => {}
                None => {
                    self.report(&place, "additionalProperties", || "is not a known member");
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
        let came = match find(members, rules.discriminator) {
            Some(Value::String(kind)) => {
                let mut variants = rules.variants.iter();
                if let Some((_, schema)) = variants.find(|(name, _)| name == kind) {
                    return self.value(schema, value, place);
                }
                shown(kind)
            }
            Some(other) => {
                self.report(&place_of_kind, "type", || {
                    format!("must be a string, but is {}", other.kind())
                });
                other.kind().to_owned()
            }
            None => {
                let message = "is required, but missing";
                return self.report(&place_of_kind, "required", || message);
            }
        };
        self.report(&place_of_kind, "enum", || {
            let names: Vec<&str> = rules.variants.iter().map(|(name, _)| *name).collect();
            not_one_of(&names, &came)
        });
    }
}

impl Check<'_> {
    fn union(&mut self, alternatives: &[Alternative], value: &Value<'_>, place: &Place<'_>) {
        if let Some(seen) = alternatives.iter().find(|it| it.sign.is_on(value)) {
            return self.value(seen.schema, value, place);
        }
        let fits = |it: &&Alternative| match it.sign {
            Sign::Fits { alone } => check(it.schema, value).is_empty().then_some(alone),
            _ => None,
        };
        let mut fitting = alternatives.iter().filter_map(|it| fits(&it));
        match (fitting.next(), fitting.next()) {
            (Some(true), Some(_)) => self.report(
                place,
                "oneOf",
                || "must be one of several alternatives, but could be more than one of them",
            ),
            (Some(_), _) => {}
            (None, _) => self.report(place, "oneOf", || {
                let all = alternatives.iter().map(|it| it.sign.to_string());
                let mut all: Vec<_> = all.take(MAX_NAMED).collect();
                all.dedup();
                format!("must be {}, but is {}", all.join(" or "), value.kind())
            }),
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

/// What `type: integer` admits: the literal of a whole number, as in the JSON Schema that OpenAPI 3.0 adopted.
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
pub(super) const MAX_NAMED: usize = 12;

pub(super) fn not_one_of(allowed: &[&str], came: &str) -> String {
    let named = allowed[..allowed.len().min(MAX_NAMED)].join(", ");
    let more = match allowed.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    format!("must be one of {named}{more}, but is {came}")
}
