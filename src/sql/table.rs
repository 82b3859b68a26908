//! Defines tables: which columns they have, in which order, and what those hold. Each is written once, in the file of its
//! noun.
//!
//! [`table!`](table) derives from a table what has to agree with it: the columns of a query and how a row is read, the
//! statements that insert and update a row with its values, and the [`Table`] by which a copy takes the rows from one engine
//! to another.

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
/// The module has `TABLE`, `COLUMNS` (of a query) with `read`, `INSERT` with `values`, `UPDATE`, in PostgreSQL
/// `UPDATE_KEEPING`, and for many rows there `INSERT_ALL` and `UPDATE_ALL`. A table without a record is all in the first
/// list. A column whose name cannot be a field's is written `product_type = "type": Text`.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $visibility:vis mod $module:ident = $table:literal, key [$($key:ident),+];
        ($($column:ident: $kind:ident),* $(,)?)
        ($($after:ident: $after_kind:ident),* $(,)?)
    ) => {
        $(#[$doc])*
        $visibility mod $module {
            use $crate::sql::schema::{Kind, Table};
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
            /// The statement that inserts a row: all columns except those that it leaves empty.
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
            use $crate::sql::script_error::ScriptError;
            use $crate::sql::schema::{Kind, Table}; use $crate::sql::table::name;
            use $crate::sql::text::{Text, as_str, insert, insert_all, select_list, update, update_all, update_keeping};
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

            const UPDATE_TEXT: Text = update(&TABLE, COUNT);
            const UPDATE_BYTES: [u8; UPDATE_TEXT.length()] = UPDATE_TEXT.bytes();
            /// The statement that updates a row, found by its key, to the values of an insertion.
            pub const UPDATE: &str = as_str(&UPDATE_BYTES);

            const UPDATE_KEEPING_TEXT: Text = update_keeping(&TABLE, COUNT);
            const UPDATE_KEEPING_BYTES: [u8; UPDATE_KEEPING_TEXT.length()] = UPDATE_KEEPING_TEXT.bytes();
            /// The same for PostgreSQL, which does not write texts again that do not change.
            pub const UPDATE_KEEPING: &str = as_str(&UPDATE_KEEPING_BYTES);

            const INSERT_ALL_TEXT: Text = insert_all(&TABLE, COUNT);
            const INSERT_ALL_BYTES: [u8; INSERT_ALL_TEXT.length()] = INSERT_ALL_TEXT.bytes();
            /// The statement that inserts many rows in PostgreSQL, from lists of the values of an insertion.
            pub const INSERT_ALL: &str = as_str(&INSERT_ALL_BYTES);

            const UPDATE_ALL_TEXT: Text = update_all(&TABLE, COUNT);
            const UPDATE_ALL_BYTES: [u8; UPDATE_ALL_TEXT.length()] = UPDATE_ALL_TEXT.bytes();
            /// The statement that updates many rows in PostgreSQL, found by their keys, to the values in such lists.
            pub const UPDATE_ALL: &str = as_str(&UPDATE_ALL_BYTES);

            /// The values of an insertion.
            pub fn values<'a>($($before: impl Bind<'a>,)* record: &'a $record) -> [Value<'a>; COUNT] {
                [$($before.value(),)* $((&record.$field).value()),+]
            }

            /// Reads a record from a row of `COLUMNS`.
            ///
            /// # Errors
            /// When a value is of another type.
            pub fn read(row: &mut Columns<'_>) -> Result<$record, ScriptError> {
                Ok($record { $($field: row.take()?),+ })
            }
        }
    };
}

/// The name of a column: the name of its field, unless it has its own.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

pub(crate) use {name, table};
