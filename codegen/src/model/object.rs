//! Objects: what their members are that are no properties, and the fields of Rust of all.

use super::{Kind, Schema};
use crate::names;

/// The field of an object's type that keeps the members that are no properties. typify calls it so, too.
const EXTRA: &str = "extra";

/// What the members of an object are that are no properties.
#[derive(Clone, Debug, Default)]
pub enum Others {
    /// There are none.
    Refused,
    /// Anything; nothing keeps them.
    #[default]
    Ignored,
    /// Of this schema, and kept beside the properties. It is not any value.
    Kept(Box<Schema>),
}

impl Others {
    /// What those are that are kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Schema> {
        let kept = match self {
            Others::Kept(schema) => Some(&**schema),
            Others::Refused | Others::Ignored => None,
        };
        kept.into_iter()
    }
}

impl Schema {
    /// The fields of Rust of an object: those of its properties, in their order, and the one that keeps the other
    /// members, if it keeps any, which is called `extra` whatever the properties are called.
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
