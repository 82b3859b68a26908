//! Parts of a list, as commands show them: lists grow, and nobody reads more than a few pages of one.

/// A part of a list: at most `limit` items, after the one that the previous part ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<Id> {
    /// The last item of the previous part; `None` for the first part.
    pub after: Option<Id>,
    /// The most items in it.
    pub limit: u32,
}

/// The default limit of a part.
pub const PART_LIMIT: u32 = 1_000;

impl<Id> Part<Id> {
    /// The first `limit` items.
    pub const fn first(limit: u32) -> Self {
        Part { after: None, limit }
    }

    /// Only the first item.
    pub const fn one() -> Self {
        Part {
            after: None,
            limit: 1,
        }
    }
}

impl<Id> Default for Part<Id> {
    /// The first part.
    fn default() -> Self {
        Part {
            after: None,
            limit: PART_LIMIT,
        }
    }
}
