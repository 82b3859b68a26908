//! Tables: which columns they have, in which order, and what those hold. Written once, in the file of their noun.
//!
//! [`table!`](table) makes of a table what else has to agree with it: the columns of a query and how a row is read, the
//! statement that inserts a row with its values, what an update sets, and the [`Table`] by which a copy takes the rows
//! from one engine to another.

/// A table of the schema.
#[derive(Debug)]
pub struct Table {
    /// Its name, the same in both engines.
    pub name: &'static str,
    /// The columns that no two rows share: a copy reads rows in their order, byte by byte.
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

/// Defines a table as a module:
///
/// ```text
/// table! {
///     /// Teams.
///     pub mod team_row = "team", key [id];
///     ()                                          // columns that the record has no field for, written by an insertion
///     Team { id: Uuid, name: Text, created_at: Integer }      // the record: its fields are columns
///     (removed_at: Integer)                       // columns that an insertion leaves empty
/// }
/// ```
///
/// The module has `TABLE`, `COLUMNS` (of a query) with `read`, `INSERT` with `values`, and `SET`. A table without a record
/// is all in the first list. A column whose name is no name of a field is written `product_type = "type": Text`.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $visibility:vis mod $module:ident = $table:literal, key [$($key:ident),+];
        ($($column:ident: $kind:ident),* $(,)?)
        ($($after:ident: $after_kind:ident),* $(,)?)
    ) => {
        $(#[$doc])*
        $visibility mod $module {
            use $crate::sql::table::{Kind, Table};
            use $crate::sql::text::{Text, as_str, insert};

            /// The table.
            pub const TABLE: Table = Table {
                name: $table,
                key: &[$(stringify!($key)),+],
                columns: &[
                    $((stringify!($column), Kind::$kind),)*
                    $((stringify!($after), Kind::$after_kind),)*
                ],
            };
            const COUNT: usize = [$(stringify!($column)),*].len();
            const INSERT_TEXT: Text = insert(&TABLE, COUNT);
            const INSERT_BYTES: [u8; INSERT_TEXT.length()] = INSERT_TEXT.bytes();
            /// The statement that inserts a row: all columns but those that it leaves empty.
            pub const INSERT: &str = as_str(&INSERT_BYTES);
        }
    };
    (
        $(#[$doc:meta])*
        $visibility:vis mod $module:ident = $table:literal, key [$($key:ident),+];
        ($($before:ident: $before_kind:ident),* $(,)?)
        $record:ident { $($field:ident $(= $name:literal)?: $kind:ident),+ $(,)? }
        ($($after:ident: $after_kind:ident),* $(,)?)
    ) => {
        $(#[$doc])*
        #[allow(dead_code, reason = "not every record is updated")]
        $visibility mod $module {
            use $crate::sql::Failure;
            use $crate::sql::table::{Kind, Table, name};
            use $crate::sql::text::{Text, as_str, insert, select_list, set_list};
            use $crate::sql::value::{Bind, Columns, Value};

            use super::$record;

            /// The table.
            pub const TABLE: Table = Table {
                name: $table,
                key: &[$(stringify!($key)),+],
                columns: &[
                    $((stringify!($before), Kind::$before_kind),)*
                    $((name!($field $($name)?), Kind::$kind),)+
                    $((stringify!($after), Kind::$after_kind),)*
                ],
            };
            const BEFORE: usize = <[&str]>::len(&[$(stringify!($before)),*]);
            const COUNT: usize = BEFORE + [$(stringify!($field)),+].len();

            const INSERT_TEXT: Text = insert(&TABLE, COUNT);
            const INSERT_BYTES: [u8; INSERT_TEXT.length()] = INSERT_TEXT.bytes();
            /// The statement that inserts a row.
            pub const INSERT: &str = as_str(&INSERT_BYTES);

            const COLUMNS_TEXT: Text = select_list(&TABLE, BEFORE, COUNT);
            const COLUMNS_BYTES: [u8; COLUMNS_TEXT.length()] = COLUMNS_TEXT.bytes();
            /// The columns of a query whose rows are read as records.
            pub const COLUMNS: &str = as_str(&COLUMNS_BYTES);

            const SET_TEXT: Text = set_list(&TABLE, COUNT);
            const SET_BYTES: [u8; SET_TEXT.length()] = SET_TEXT.bytes();
            /// What an update sets to those of the values of an insertion that are not of the key.
            pub const SET: &str = as_str(&SET_BYTES);

            /// The values of an insertion.
            pub fn values<'a>($($before: impl Bind<'a>,)* record: &'a $record) -> [Value<'a>; COUNT] {
                [$($before.value(),)* $((&record.$field).value()),+]
            }

            /// A record, from a row of `COLUMNS`.
            ///
            /// # Errors
            /// When a value is of another type.
            pub fn read(row: &mut Columns<'_>) -> Result<$record, Failure> {
                Ok($record { $($field: row.take()?),+ })
            }
        }
    };
}

/// The name of a column: that of its field, unless it has one of its own.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

pub(crate) use {name, table};
