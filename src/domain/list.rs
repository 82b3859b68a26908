//! Which part of a list a command shows: lists grow, and nobody reads more than a few pages of one.

/// A part of a list: at most so many, behind the one that the part before ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<Id> {
    /// The last one of the part before; none for the first part.
    pub after: Option<Id>,
    /// How many at most.
    pub limit: u32,
}

/// How many a part has unless somebody says otherwise.
pub const PART_LIMIT: u32 = 1_000;

impl<Id> Part<Id> {
    /// The first so many.
    pub const fn first(limit: u32) -> Self {
        Part { after: None, limit }
    }

    /// The first one alone.
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
