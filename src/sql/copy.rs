//! What a copy of all rows needs from an engine ([`crate::store::copy`]).

use async_trait::async_trait;
use openapi_dropshot_runtime::Decimal;
use uuid::Uuid;

use super::schema::{Kind, Table};
use crate::domain::Cause;

/// How many rows are in memory at once. The largest has some ten kilobytes.
pub(crate) const BATCH: usize = 1_000;

/// One side of a copy: a store in one transaction, which ends without effect unless it is committed.
#[async_trait]
pub(crate) trait Side: Send {
    /// Begins a transaction that sees one moment and changes nothing. Returns the version of the schema, 0 if there is none
    /// of ours, and the one that this binary knows.
    async fn begin_reading(&mut self) -> Result<(i64, i64), Cause>;

    /// Begins a transaction that keeps all others from writing to `tables`. These are all the tables there are.
    async fn begin_writing(&mut self, tables: &'static [Table]) -> Result<(), Cause>;

    /// How many rows a table has.
    async fn count(&mut self, table: &'static Table) -> Result<u64, Cause>;

    /// Starts to read a table in the order of its key.
    async fn select(&mut self, table: &'static Table) -> Result<(), Cause>;

    /// The next rows of that table, at most [`BATCH`]; empty at its end.
    async fn fetch(&mut self) -> Result<Vec<Row>, Cause>;

    /// Adds rows to a table.
    async fn insert(&mut self, table: &'static Table, rows: Vec<Row>) -> Result<(), Cause>;

    /// Commits the transaction; without this, nothing has happened.
    async fn commit(self: Box<Self>) -> Result<(), Cause>;
}

/// A value of a column, or null.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// No value.
    Null,
    /// Of [`Kind::Boolean`].
    Boolean(bool),
    /// Of [`Kind::Bytes`].
    Bytes(Vec<u8>),
    /// Of [`Kind::Decimal`].
    Decimal(Decimal),
    /// Of [`Kind::Integer`].
    Integer(i64),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::Uuid`].
    Uuid(Uuid),
}

/// The values of a row, in the order of [`Table::columns`].
pub(crate) type Row = Vec<Value>;

impl Table {
    /// Its columns for a statement, quoted: some are SQL keywords.
    pub(crate) fn quoted_columns(&self) -> String {
        list(self.columns.iter().map(|(name, _)| quoted(name)))
    }

    /// The columns of its key, with their kinds.
    pub(crate) fn key_columns(&self) -> impl Iterator<Item = &'static (&'static str, Kind)> {
        let column = |name| self.columns.iter().find(move |(other, _)| other == name);
        self.key.iter().filter_map(column)
    }

    /// The values of its key in one of its rows.
    pub(crate) fn key_of(&self, row: &Row) -> Row {
        let columns = self.columns.iter().zip(row);
        let value = |name| columns.clone().find(move |((other, _), _)| other == name);
        self.key
            .iter()
            .filter_map(value)
            .map(|(_, value)| value.clone())
            .collect()
    }
}

/// A quoted name for a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// Joins items with commas.
pub(crate) fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
