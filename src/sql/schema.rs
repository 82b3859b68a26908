//! Tables: their names, keys and columns.

/// A table of the schema.
#[derive(Debug)]
pub struct Table {
    /// Its name, the same in both engines.
    pub name: &'static str,
    /// The columns whose values no two rows share: a copy reads rows in their order, byte by byte.
    pub key: &'static [&'static str],
    /// All columns.
    pub columns: &'static [(&'static str, Kind)],
}

/// What a column holds, whatever an engine calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Yes or no.
    Boolean,
    /// A digest, or something encrypted.
    Bytes,
    /// A price or a rate.
    Decimal,
    /// A number, or a time in milliseconds since 1970.
    Integer,
    /// Text in Unicode.
    Text,
    /// An id.
    Uuid,
}

impl Table {
    /// Whether a column, by its number, belongs to the key.
    pub(super) const fn is_key(&self, column: usize) -> bool {
        let mut at = 0;
        while at < self.key.len() {
            if equal(self.key[at], self.columns[column].0) {
                return true;
            }
            at += 1;
        }
        false
    }
}

/// Whether two texts are the same.
const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
