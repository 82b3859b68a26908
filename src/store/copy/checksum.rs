//! Checksums of tables, to tell whether two are the same, on either engine.
//!
//! SHA-256 over every value of every row, in the order of the key: one byte for its type, eight for its length, then its
//! bytes. So no two different tables look alike, wherever one value ends and the next starts. Decimals count by value, as
//! everywhere in the service: PostgreSQL writes `1e3` as `1000`.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};

use crate::sql::copy::{Row, Value};

/// The checksum of a table, or of all of them.
#[derive(Clone, PartialEq, Eq)]
pub struct Checksum(Vec<u8>);

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checksum({self})")
    }
}

/// A checksum in progress.
pub(crate) struct Hasher(Context);

impl Hasher {
    /// Starts the checksum of nothing.
    pub(crate) fn new() -> Hasher {
        Hasher(Context::new(&SHA256))
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: &Row) {
        for value in row {
            match value {
                Value::Null => self.part(0, &[]),
                Value::Boolean(value) => self.part(1, &[u8::from(*value)]),
                Value::Bytes(value) => self.part(2, value),
                Value::Decimal(value) => self.part(3, value.canonical().as_bytes()),
                Value::Integer(value) => self.part(4, &value.to_be_bytes()),
                Value::Text(value) => self.part(5, value.as_bytes()),
                Value::Uuid(value) => self.part(6, value.as_bytes()),
            }
        }
    }

    /// Adds a table by its own checksum, for the checksum of all of them.
    pub(super) fn table(&mut self, name: &str, checksum: &Checksum) {
        self.text(name);
        self.part(2, &checksum.0);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: &str) {
        self.part(5, text.as_bytes());
    }

    fn part(&mut self, kind: u8, bytes: &[u8]) {
        self.0.update(&[kind]);
        self.0.update(&(bytes.len() as u64).to_be_bytes()); // a length fits
        self.0.update(bytes);
    }

    /// Returns the checksum of all that was added.
    pub(crate) fn finish(self) -> Checksum {
        Checksum(self.0.finish().as_ref().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(row: &[Value]) -> Checksum {
        let mut hasher = Hasher::new();
        hasher.row(&row.to_vec());
        hasher.finish()
    }

    #[test]
    fn what_differs_in_a_value_in_its_kind_or_in_where_it_ends_differs() {
        let text = |text: &str| Value::Text(text.into());
        let rows = [
            of(&[text("ab"), text("c")]),
            of(&[text("a"), text("bc")]),
            of(&[text("abc")]),
            of(&[text("abc"), Value::Null]),
            of(&[text("abc"), text("")]),
            of(&[Value::Bytes(b"abc".to_vec())]),
            of(&[Value::Integer(1)]),
            of(&[Value::Boolean(true)]),
        ];
        for (at, row) in rows.iter().enumerate() {
            assert!(!rows[..at].contains(row), "{at}");
        }
    }

    #[test]
    fn tables_count_by_their_names_and_checksums_and_texts_by_their_bytes() {
        let (one, two) = (of(&[Value::Null]), of(&[Value::Boolean(true)]));
        let all = [("a", &one), ("b", &one), ("a", &two)].map(|(name, checksum)| {
            let mut hasher = Hasher::new();
            hasher.table(name, checksum);
            hasher.finish()
        });
        assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
        let of_text = |text: &str| {
            let mut hasher = Hasher::new();
            hasher.text(text);
            hasher.finish()
        };
        assert_ne!(of_text("a"), of_text("b"));
    }

    #[test]
    fn a_checksum_is_shown_in_hexadecimal() {
        assert_eq!(Checksum(vec![0x01, 0xab, 0x00]).to_string(), "01ab00");
    }

    #[test]
    fn decimals_count_by_value() {
        let decimal = |literal: &str| of(&[Value::Decimal(literal.parse().unwrap())]);
        assert_eq!(decimal("1e3"), decimal("1000"));
        assert_ne!(decimal("1000"), decimal("1000.1"));
    }
}
