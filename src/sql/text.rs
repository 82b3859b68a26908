//! Texts of statements, joined at compile time.
//!
//! Statements are written in PostgreSQL's dialect. SQLite's is derived from it, in as many bytes, by replacing what differs
//! here: `$1` becomes `?1`, `greatest(` becomes `max(`, and casts and row locks become blanks, as SQLite has one writer and
//! keeps decimals as their text.

use super::schema::{Kind, Table};

/// More bytes than any statement has.
const ROOM: usize = 4096;

/// What SQLite does without. Of those with the same beginning, the longest comes first.
const BLANKS: &[&str] = &[
    "FOR UPDATE SKIP LOCKED",
    "FOR UPDATE",
    "FOR SHARE",
    "FOR KEY SHARE SKIP LOCKED",
    "FOR KEY SHARE",
];

/// A text that is being written.
#[derive(Clone, Copy)]
pub struct Text {
    bytes: [u8; ROOM],
    length: usize,
}

impl Text {
    const fn new() -> Text {
        Text {
            bytes: [0; ROOM],
            length: 0,
        }
    }

    const fn push(mut self, text: &str) -> Text {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self.bytes[self.length] = bytes[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    const fn push_all(mut self, other: &Text) -> Text {
        let mut at = 0;
        while at < other.length {
            self.bytes[self.length] = other.bytes[at];
            self.length += 1;
            at += 1;
        }
        self
    }

    /// A placeholder: `$12`.
    const fn push_place(mut self, number: usize) -> Text {
        self = self.push("$");
        if number >= 10 {
            self.bytes[self.length] = b'0' + (number / 10) as u8; // no table has a hundred columns
            self.length += 1;
        }
        self.bytes[self.length] = b'0' + (number % 10) as u8;
        self.length += 1;
        self
    }

    /// How many bytes it has.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Its `N` bytes.
    pub const fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        let mut at = 0;
        while at < N {
            bytes[at] = self.bytes[at];
            at += 1;
        }
        bytes
    }

    /// How many values it takes: the highest number of a placeholder.
    pub const fn places(&self) -> usize {
        let (mut most, mut at) = (0, 0);
        while at < self.length {
            if self.bytes[at] == b'$' {
                let mut number = 0;
                let mut digit = at + 1;
                while digit < self.length && self.bytes[digit].is_ascii_digit() {
                    number = number * 10 + (self.bytes[digit] - b'0') as usize;
                    digit += 1;
                }
                if number > most {
                    most = number;
                }
            }
            at += 1;
        }
        most
    }

    const fn has(&self, at: usize, word: &str) -> bool {
        let word = word.as_bytes();
        let mut i = 0;
        while i < word.len() {
            if at + i >= self.length || self.bytes[at + i] != word[i] {
                return false;
            }
            i += 1;
        }
        true
    }

    const fn blank(mut self, from: usize, to: usize) -> Text {
        let mut at = from;
        while at < to {
            self.bytes[at] = b' ';
            at += 1;
        }
        self
    }

    /// The same in SQLite's dialect.
    #[must_use]
    pub const fn for_sqlite(mut self) -> Text {
        let mut at = 0;
        while at < self.length {
            if self.bytes[at] == b'$' {
                self.bytes[at] = b'?';
            } else if self.has(at, "::") {
                let mut end = at + 2;
                while end < self.length && self.bytes[end].is_ascii_alphanumeric() {
                    end += 1;
                }
                self = self.blank(at, end);
            } else if self.has(at, "greatest(") {
                self = self.blank(at, at + 5);
                self.bytes[at + 5] = b'm';
                self.bytes[at + 6] = b'a';
                self.bytes[at + 7] = b'x';
            } else {
                let mut word = 0;
                while word < BLANKS.len() {
                    if self.has(at, BLANKS[word]) {
                        self = self.blank(at, at + BLANKS[word].len());
                    }
                    word += 1;
                }
            }
            at += 1;
        }
        self
    }
}

/// Joins several texts.
pub const fn join(parts: &[&str]) -> Text {
    let (mut text, mut at) = (Text::new(), 0);
    while at < parts.len() {
        text = text.push(parts[at]);
        at += 1;
    }
    text
}

/// Some columns of a table, as a query names them: `id, unit_price::text`.
pub const fn select_list(table: &Table, from: usize, to: usize) -> Text {
    let (mut text, mut at) = (Text::new(), from);
    while at < to {
        let (name, kind) = table.columns[at];
        if at > from {
            text = text.push(", ");
        }
        text = text.push(name);
        if matches!(kind, Kind::Decimal) {
            text = text.push("::text");
        }
        at += 1;
    }
    text
}

/// A statement that inserts the first `count` columns of a row:
/// `INSERT INTO "product" (id, unit_price) VALUES ($1, $2::numeric)`.
pub const fn insert(table: &Table, count: usize) -> Text {
    let mut text = Text::new()
        .push("INSERT INTO \"")
        .push(table.name)
        .push("\" (");
    text = push_names(text, table, 0, count).push(") VALUES (");
    let mut at = 0;
    while at < count {
        if at > 0 {
            text = text.push(", ");
        }
        text = push_value(text, table, at);
        at += 1;
    }
    text.push(")")
}

/// The statement that updates a row, found by its key, to the values of an insertion.
pub const fn update(table: &Table, count: usize) -> Text {
    let text = Text::new().push("UPDATE ").push(table.name).push(" SET ");
    let text = push_assignments(text, table, count, Updated::To);
    push_key(text.push(" WHERE "), table, count, Updated::To)
}

/// The same for PostgreSQL alone, which writes a long text again unless it is assigned to itself:
/// `name = CASE WHEN name = $2 THEN name ELSE $2 END`.
pub const fn update_keeping(table: &Table, count: usize) -> Text {
    let text = Text::new().push("UPDATE ").push(table.name).push(" SET ");
    let text = push_assignments(text, table, count, Updated::Keeping);
    push_key(text.push(" WHERE "), table, count, Updated::Keeping)
}

/// How a row is updated.
#[derive(Clone, Copy)]
enum Updated {
    /// To the values of the statement.
    To,
    /// The same, but a text that does not change is assigned to itself.
    Keeping,
    /// To a row of `changed`, as with `Keeping`.
    ToRow,
}

impl Updated {
    /// The column, and the value that it gets.
    const fn column_and_value(self, table: &Table, at: usize) -> (Text, Text) {
        let name = table.columns[at].0;
        match self {
            Updated::To | Updated::Keeping => {
                (Text::new().push(name), push_value(Text::new(), table, at))
            }
            Updated::ToRow => (
                Text::new().push(table.name).push(".").push(name),
                Text::new().push("changed.").push(name),
            ),
        }
    }
}

/// `column = value` for each column of the key.
const fn push_key(mut text: Text, table: &Table, count: usize, how: Updated) -> Text {
    let (mut at, mut first) = (0, true);
    while at < count {
        if table.is_key(at) {
            if !first {
                text = text.push(" AND ");
            }
            first = false;
            let (column, value) = how.column_and_value(table, at);
            text = text.push_all(&column).push(" = ").push_all(&value);
        }
        at += 1;
    }
    text
}

/// `column = value` for each other column.
const fn push_assignments(mut text: Text, table: &Table, count: usize, how: Updated) -> Text {
    let (mut at, mut first) = (0, true);
    while at < count {
        if !table.is_key(at) {
            if !first {
                text = text.push(", ");
            }
            first = false;
            let (name, kind) = table.columns[at];
            text = text.push(name).push(" = ");
            let (column, value) = how.column_and_value(table, at);
            text = match (kind, how) {
                (Kind::Text, Updated::Keeping | Updated::ToRow) => {
                    let same = text.push("CASE WHEN ").push_all(&column).push(" = ");
                    let same = same.push_all(&value).push(" THEN ").push_all(&column);
                    same.push(" ELSE ").push_all(&value).push(" END")
                }
                _ => text.push_all(&value),
            };
        }
        at += 1;
    }
    text
}

/// A statement that inserts the first `count` columns of many rows, from a list of values for each column, for PostgreSQL
/// alone: `INSERT INTO "product" (id, unit_price) SELECT * FROM unnest($1::uuid[], $2::numeric[])`.
pub const fn insert_all(table: &Table, count: usize) -> Text {
    let text = Text::new().push("INSERT INTO \"").push(table.name);
    let text = push_names(text.push("\" ("), table, 0, count).push(") SELECT * FROM ");
    push_unnest(text, table, count)
}

/// The statement that updates many rows, found by their keys, to the values of such an insertion.
pub const fn update_all(table: &Table, count: usize) -> Text {
    let text = Text::new().push("UPDATE ").push(table.name).push(" SET ");
    let text = push_assignments(text, table, count, Updated::ToRow);
    let text = push_unnest(text.push(" FROM "), table, count);
    let text = push_names(text.push(" AS changed ("), table, 0, count);
    push_key(text.push(") WHERE "), table, count, Updated::ToRow)
}

const fn push_names(mut text: Text, table: &Table, from: usize, count: usize) -> Text {
    let mut at = from;
    while at < count {
        if at > from {
            text = text.push(", ");
        }
        text = text.push(table.columns[at].0);
        at += 1;
    }
    text
}

const fn push_unnest(text: Text, table: &Table, count: usize) -> Text {
    let (mut text, mut at) = (text.push("unnest("), 0);
    while at < count {
        if at > 0 {
            text = text.push(", ");
        }
        text = text.push_place(at + 1).push(match table.columns[at].1 {
            Kind::Boolean => "::boolean[]",
            Kind::Bytes => "::bytea[]",
            Kind::Decimal => "::numeric[]",
            Kind::Integer => "::bigint[]",
            Kind::Text => "::text[]",
            Kind::Uuid => "::uuid[]",
        });
        at += 1;
    }
    text.push(")")
}

const fn push_value(text: Text, table: &Table, column: usize) -> Text {
    let text = text.push_place(column + 1);
    match table.columns[column].1 {
        Kind::Decimal => text.push("::numeric"),
        _ => text,
    }
}

/// The greater of two numbers.
pub const fn most(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

/// Bytes in UTF-8, as text.
///
/// # Panics
/// At compile time, if they are not UTF-8.
pub const fn as_str(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("not UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::sql;

    #[test]
    fn sqlite_gets_the_same_without_casts_and_locks() {
        let statement = sql!(
            "UPDATE t SET a = greatest(a, $1), b = $12::numeric ",
            "WHERE c::text = 'x' FOR UPDATE SKIP LOCKED"
        );
        let words: Vec<_> = statement.sqlite.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            "UPDATE t SET a = max(a, ?1), b = ?12 WHERE c = 'x'"
        );
        assert!(statement.postgres.ends_with("FOR UPDATE SKIP LOCKED"));
    }
}
