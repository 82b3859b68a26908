//! Objects: their members beyond `properties`, and the Rust fields of all members.

use super::{Kind, Schema};
use crate::names;

/// The field of an object's type that keeps the members that are not properties. typify uses the same name.
const EXTRA: &str = "extra";

/// Which members an object may have beyond its properties.
#[derive(Clone, Debug, Default)]
pub enum Others {
    /// None.
    Refused,
    /// Any; they are not kept.
    #[default]
    Ignored,
    /// Members of this schema, kept beside the properties. The schema is not any value.
    Kept(Box<Schema>),
}

impl Others {
    /// Returns the schema of the members that are kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Schema> {
        let kept = match self {
            Others::Kept(schema) => Some(&**schema),
            Others::Refused | Others::Ignored => None,
        };
        kept.into_iter()
    }
}

impl Schema {
    /// Returns the Rust fields of an object: those of its properties, in order, and the one that keeps the other
    /// members, if they are kept. That one is always called `extra`, whatever the properties are called.
    pub(crate) fn fields(&self) -> (Vec<String>, Option<&'static str>) {
        let Kind::Object {
            properties, others, ..
        } = &self.kind
        else {
            return (Vec::new(), None);
        };
        let extra = others.kept().next().map(|_| EXTRA);
        let names = properties.keys().map(String::as_str);
        let fields = names::fields(extra.into_iter().chain(names));
        (fields[usize::from(extra.is_some())..].to_vec(), extra)
    }
}
