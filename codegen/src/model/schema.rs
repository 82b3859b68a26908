//! Schemas in the model.

use indexmap::IndexMap;
use serde_json::Value;

#[cfg(doc)]
use super::Document;
use super::{Others, Pointer};
use crate::names;

/// A schema, and its place in the document.
#[derive(Clone, Debug)]
pub struct Schema {
    /// What it admits, apart from null.
    pub kind: Kind,
    /// Further limits on numbers, booleans and objects. No type enforces them: the server's check does.
    pub limits: Vec<Limit>,
    /// Whether it also admits null, by its own text. The target of a reference may admit it too: see
    /// [`Document::is_nullable`].
    pub nullable: bool,
    /// `description`.
    pub description: Option<String>,
    /// `default`, which passes the schema.
    pub default: Option<Value>,
    /// The schema as published, references unresolved.
    pub json: Value,
    /// Whether it is inline in the document, and a component only because it needs a type.
    pub is_made: bool,
    /// Where in the document it is.
    pub pointer: Pointer,
}

/// What a schema admits.
#[derive(Clone, Debug)]
pub enum Kind {
    /// true and false.
    Boolean,
    /// A whole number.
    Integer {
        /// The type that holds it; the bounds lie within its range.
        width: Width,
        /// The bounds; each a whole number within 2^53 - 1 either way.
        bounds: Bounds,
    },
    /// A decimal number, held exactly.
    Number {
        /// The bounds.
        bounds: Bounds,
    },
    /// Text.
    String(Text),
    /// A list.
    Array {
        /// What each item is.
        items: Box<Schema>,
        /// `minItems`.
        min_items: Option<u64>,
        /// `maxItems`.
        max_items: Option<u64>,
        /// `uniqueItems`.
        unique_items: bool,
    },
    /// An object; always a component.
    Object {
        /// The properties, in the document's order.
        properties: IndexMap<String, Schema>,
        /// The names of the required members, each of them a property.
        required: Vec<String>,
        /// The members that `properties` does not name.
        others: Others,
    },
    /// An object whose members have any name.
    Map(Box<Schema>),
    /// One of several objects, told apart by one property; always a component.
    OneOf {
        /// The property that tells them apart. Every variant has it, required, as a string
        /// enumeration of exactly the values that lead to this variant.
        discriminator: String,
        /// From the values of that property to the components, in the document's order.
        mapping: IndexMap<String, String>,
    },
    /// One of several schemas, told apart by looking at the value; always a component.
    Union(Vec<Alternative>),
    /// Null, and nothing else; always a component.
    Null,
    /// Any value, null among them.
    Any,
    /// No value at all; always a component.
    Never,
    /// The component of this name.
    Ref(String),
}

/// How a member of a form is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfForm {
    /// As its text.
    Single,
    /// A list: once for each item.
    Repeated,
    /// As JSON.
    Json,
}

/// A limit that no type enforces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// `multipleOf`: a decimal literal above 0.
    MultipleOf(String),
    /// `enum` of numbers or booleans, apart from null: literals.
    Values(Vec<String>),
    /// `minProperties`
    MinProperties(u64),
    /// `maxProperties`
    MaxProperties(u64),
}

/// One of several schemas.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// What distinguishes it from the others: no value has the signs of two.
    pub sign: Sign,
    /// The component. If it is nullable, the whole list is.
    pub schema: String,
}

/// What distinguishes an alternative from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// One of these texts.
    Text(Vec<String>),
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
    /// An object that has this member. The others refuse objects that have it.
    Member(String),
    /// Nothing but the fact that the value passes the alternative.
    Fits {
        /// Whether it may pass no other alternative, because the list is a `oneOf`. Otherwise the first that it
        /// passes is meant.
        alone: bool,
    },
}

/// The type that holds a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// `format: int8`
    I8,
    /// `format: int16`
    I16,
    /// `format: int32`
    I32,
    /// `format: int64`, or none
    I64,
    /// `format: uint8`
    U8,
    /// `format: uint16`
    U16,
    /// `format: uint32`
    U32,
    /// `format: uint64`, or `uint`
    U64,
}

/// `minimum` and `maximum`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The lower bound.
    pub minimum: Option<Bound>,
    /// The upper bound.
    pub maximum: Option<Bound>,
}

/// One end of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// A decimal literal without exponent: `-1`, `0.5`, `1000000000000`.
    pub value: String,
    /// Whether the value itself is outside.
    pub exclusive: bool,
}

/// The constraints on text. Lengths count Unicode code points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// `minLength`.
    pub min_length: Option<u64>,
    /// `maxLength`.
    pub max_length: Option<u64>,
    /// `pattern`: an ECMA-262 regular expression, not anchored, that compiles.
    pub pattern: Option<String>,
    /// `format`.
    pub format: Option<Format>,
    /// `enum`, apart from null; empty if any text is allowed.
    pub enumeration: Vec<String>,
}

/// The formats of text that the subset knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `uuid`: RFC 9562, 36 characters.
    Uuid,
    /// `date-time`: RFC 3339.
    DateTime,
    /// `password`: a secret. Checked like any text, never shown by `Debug`.
    Password,
    /// `date`: a full date of RFC 3339.
    Date,
    /// `ip`: an address of either kind.
    Ip,
    /// `ipv4`: four numbers.
    Ipv4,
    /// `ipv6`: RFC 4291, section 2.2.
    Ipv6,
    /// `uri`, `uri-reference`: only documentation; any text passes.
    Uri,
}

impl Width {
    /// Returns the Rust type: `u16`.
    #[must_use]
    pub const fn rust(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        }
    }

    /// Returns the format, as OpenAPI and its users write it: `uint16`.
    #[must_use]
    pub const fn format(self) -> &'static str {
        match self {
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
        }
    }

    /// Returns the least and the greatest value that it holds.
    #[must_use]
    pub const fn range(self) -> (i128, i128) {
        match self {
            Self::I8 => (i8::MIN as i128, i8::MAX as i128),
            Self::I16 => (i16::MIN as i128, i16::MAX as i128),
            Self::I32 => (i32::MIN as i128, i32::MAX as i128),
            Self::I64 => (i64::MIN as i128, i64::MAX as i128),
            Self::U8 => (0, u8::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
        }
    }
}

impl Text {
    /// Returns the Rust variants for the values of the enumeration.
    #[must_use]
    pub fn variants(&self) -> Vec<String> {
        names::variants(self.enumeration.iter().map(String::as_str))
    }
}

impl Schema {
    /// Returns the components that the schema refers to, at any depth of its own text.
    #[must_use]
    pub fn references(&self) -> Vec<&str> {
        self.referred(true)
    }

    /// Returns those of them that a value of its type contains directly: not through a list, a map or a variant,
    /// whose contents are stored elsewhere.
    #[must_use]
    pub(crate) fn held(&self) -> Vec<&str> {
        self.referred(false)
    }

    /// Returns whether all of its values are texts that may be shown.
    pub(crate) fn is_text(&self, schemas: &IndexMap<String, Schema>) -> bool {
        self.is_all(schemas, |text| text.format != Some(Format::Password))
    }

    /// Returns how it is written as a member of a form (OpenAPI 3.0.3, Encoding Object).
    pub(crate) fn of_form(&self, schemas: &IndexMap<String, Schema>) -> OfForm {
        match &self.kind {
            Kind::Ref(name) => match schemas.get(name) {
                Some(schema) => schema.of_form(schemas),
                None => OfForm::Single,
            },
            Kind::Boolean | Kind::Integer { .. } | Kind::Number { .. } | Kind::String(_) => {
                OfForm::Single
            }
            Kind::Union(_) if self.is_all(schemas, |_| true) => OfForm::Single,
            Kind::Array { items, .. } if items.of_form(schemas) == OfForm::Single => {
                OfForm::Repeated
            }
            _ => OfForm::Json,
        }
    }

    /// Returns whether all of its values are texts that `admits` accepts.
    fn is_all(&self, schemas: &IndexMap<String, Schema>, admits: fn(&Text) -> bool) -> bool {
        let (mut seen, mut open) = (Vec::new(), vec![self]);
        while let Some(schema) = open.pop() {
            match &schema.kind {
                Kind::String(text) if admits(text) => {}
                Kind::Ref(_) | Kind::Union(_) => {
                    let names = schema.references().into_iter();
                    let new: Vec<_> = names.filter(|it| !seen.contains(it)).collect();
                    open.extend(new.iter().filter_map(|it| schemas.get(*it)));
                    seen.extend(new);
                }
                _ => return false,
            }
        }
        true
    }

    /// Returns whether any part of its own text is any value.
    pub(crate) fn has_any(&self) -> bool {
        match &self.kind {
            Kind::Any => true,
            Kind::Object {
                properties, others, ..
            } => properties
                .values()
                .chain(others.kept())
                .any(Schema::has_any),
            Kind::Array { items: inner, .. } | Kind::Map(inner) => inner.has_any(),
            _ => false,
        }
    }

    /// Returns the alternatives that are told apart by trial.
    pub(crate) fn tried(&self) -> impl Iterator<Item = &str> {
        let alternatives = match &self.kind {
            Kind::Union(alternatives) => alternatives.as_slice(),
            _ => &[],
        };
        let is_tried = |it: &&Alternative| matches!(it.sign, Sign::Fits { .. });
        let tried = alternatives.iter().filter(is_tried);
        tried.map(|it| it.schema.as_str())
    }

    fn referred(&self, elsewhere: bool) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(schema) = open.pop() {
            match &schema.kind {
                Kind::Ref(name) => found.push(name.as_str()),
                Kind::Object {
                    properties, others, ..
                } => {
                    open.extend(properties.values());
                    open.extend(others.kept().filter(|_| elsewhere));
                }
                Kind::Array { items: inner, .. } | Kind::Map(inner) if elsewhere => {
                    open.push(inner);
                }
                Kind::OneOf { mapping, .. } if elsewhere => {
                    found.extend(mapping.values().map(String::as_str));
                }
                Kind::Union(alternatives) if elsewhere => {
                    found.extend(alternatives.iter().map(|it| it.schema.as_str()));
                }
                _ => {}
            }
        }
        found
    }
}
