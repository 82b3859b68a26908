//! Reads and writes a whole PostgreSQL database, for a copy.
//!
//! One connection, one transaction. A source is read REPEATABLE READ through a cursor, which sorts a table once and then
//! returns it in pages. The order is that of the bytes, whatever the collation of the database. A target's tables are locked
//! against all other writers; rows are inserted a thousand at a time, as one array per column. No statement has a name, so
//! that a pooler may stand in between.

use async_trait::async_trait;
use deadpool_postgres::Object;
use tokio_postgres::types::{ToSql, Type};

use super::address::Address;
use super::migrate;
use super::open_error::OpenError;
use super::pool::open_pool;
use crate::causes::causes;
use crate::domain::Cause;
use crate::sql::copy::{BATCH, Row, Side, Value, list, quoted};
use crate::sql::schema::{Kind, Table};
use crate::sql::value::numeric_text;

/// A copy needs a long transaction, whatever limits the server sets for other clients.
const NO_LIMITS: &str =
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

/// A database in one transaction, which ends without effect unless it is committed.
pub(crate) struct Copy {
    connection: Object,
    /// The table that the cursor reads, if there is one.
    reading: Option<&'static Table>,
    /// The tables of a target.
    writing: &'static [Table],
}

impl Copy {
    /// The database at `address`.
    ///
    /// # Errors
    /// [`OpenError::Tls`] and [`OpenError::Connect`].
    pub(crate) async fn open(address: &Address) -> Result<Copy, OpenError> {
        let (_, _, connection) = open_pool(address).await?;
        Ok(Copy {
            connection,
            reading: None,
            writing: &[],
        })
    }

    /// Runs statements that take no parameters and return nothing.
    async fn batch(&self, statements: &str) -> Result<(), Cause> {
        self.connection
            .batch_execute(statements)
            .await
            .map_err(cause)
    }
}

#[async_trait]
impl Side for Copy {
    async fn begin_reading(&mut self) -> Result<(i64, i64), Cause> {
        let begin = format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {NO_LIMITS}");
        self.batch(&begin).await?;
        let found = migrate::version(&**self.connection).await.map_err(cause)?;
        Ok((found, migrate::VERSION))
    }

    async fn begin_writing(&mut self, tables: &'static [Table]) -> Result<(), Cause> {
        self.writing = tables;
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; {NO_LIMITS}; SET LOCAL lock_timeout = '5s'; \
             LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE",
            names(tables)
        );
        self.batch(&begin).await
    }

    async fn count(&mut self, table: &'static Table) -> Result<u64, Cause> {
        let select = format!("SELECT count(*) FROM {}", quoted(table.name));
        let row = self.connection.query_typed_one(&select, &[]).await;
        let count: i64 = row.and_then(|row| row.try_get(0)).map_err(cause)?;
        Ok(count.try_into()?)
    }

    async fn select(&mut self, table: &'static Table) -> Result<(), Cause> {
        if self.reading.is_some() {
            self.batch("CLOSE copied").await?;
        }
        self.batch(&cursor(table)).await?;
        self.reading = Some(table);
        Ok(())
    }

    async fn fetch(&mut self) -> Result<Vec<Row>, Cause> {
        let Some(table) = self.reading else {
            return Ok(Vec::new());
        };
        let fetch = format!("FETCH {BATCH} FROM copied");
        let rows = self.connection.query_typed(&fetch, &[]).await;
        let rows = rows.map_err(cause)?;
        rows.iter().map(|row| read(row, table)).collect()
    }

    async fn insert(&mut self, table: &'static Table, rows: Vec<Row>) -> Result<(), Cause> {
        let columns = table.columns.iter().enumerate();
        let arrays: Vec<_> = columns
            .map(|(at, (_, kind))| array(&rows, at, *kind))
            .collect();
        let params: Vec<_> = arrays
            .iter()
            .map(|(array, kind)| (array.as_ref() as &(dyn ToSql + Sync), kind.clone()))
            .collect();
        let insert = insertion(table);
        let inserted = self.connection.execute_typed(&insert, &params).await;
        inserted.map(drop).map_err(cause)
    }

    async fn commit(self: Box<Self>) -> Result<(), Cause> {
        // The planner should not have to guess the sizes of the tables for the first queries.
        self.batch(&format!("ANALYZE {}", names(self.writing)))
            .await?;
        self.batch("COMMIT").await
    }
}

/// What the driver and the server report: the driver's own text says little.
fn cause(error: tokio_postgres::Error) -> Cause {
    causes(&error).into()
}

fn names(tables: &[Table]) -> String {
    list(tables.iter().map(|table| quoted(table.name)))
}

/// A cursor over a table, in the order of its key.
fn cursor(table: &Table) -> String {
    let column = |(name, kind): &(&str, Kind)| match kind {
        Kind::Decimal => format!("{}::text", quoted(name)),
        _ => quoted(name),
    };
    let key = |(name, kind): &(&str, Kind)| match kind {
        Kind::Text => format!("{} COLLATE \"C\"", quoted(name)),
        _ => quoted(name),
    };
    format!(
        "DECLARE copied NO SCROLL CURSOR FOR SELECT {} FROM {} ORDER BY {}",
        list(table.columns.iter().map(column)),
        quoted(table.name),
        list(table.key_columns().map(key))
    )
}

/// The statement that adds rows, given as one array per column.
fn insertion(table: &Table) -> String {
    let names = || (1..=table.columns.len()).map(|number| format!("c{number}"));
    let values = names()
        .zip(table.columns)
        .map(|(name, (_, kind))| match kind {
            Kind::Decimal => format!("{name}::numeric"),
            _ => name,
        });
    format!(
        "INSERT INTO {} ({}) SELECT {} FROM unnest({}) AS row ({})",
        quoted(table.name),
        table.quoted_columns(),
        list(values),
        list((1..=table.columns.len()).map(|number| format!("${number}"))),
        list(names())
    )
}

/// The values of a column, as a parameter and its type. They come from a reader, each of the column's kind.
fn array(rows: &[Row], at: usize, kind: Kind) -> (Box<dyn ToSql + Sync + Send + '_>, Type) {
    macro_rules! values {
        ($variant:ident, |$value:ident| $to:expr) => {
            Box::new(
                rows.iter()
                    .map(|row| match &row[at] {
                        Value::$variant($value) => Some($to),
                        _ => None,
                    })
                    .collect::<Vec<_>>(),
            )
        };
    }
    match kind {
        Kind::Boolean => (values!(Boolean, |value| *value), Type::BOOL_ARRAY),
        Kind::Bytes => (values!(Bytes, |value| value.as_slice()), Type::BYTEA_ARRAY),
        Kind::Decimal => (
            values!(Decimal, |value| numeric_text(value)),
            Type::TEXT_ARRAY,
        ),
        Kind::Integer => (values!(Integer, |value| *value), Type::INT8_ARRAY),
        Kind::Text => (values!(Text, |value| value.as_str()), Type::TEXT_ARRAY),
        Kind::Uuid => (values!(Uuid, |value| *value), Type::UUID_ARRAY),
    }
}

fn read(row: &tokio_postgres::Row, table: &Table) -> Result<Row, Cause> {
    macro_rules! value {
        ($at:ident, $variant:ident, $kind:ty, |$value:ident| $from:expr) => {
            row.try_get::<_, Option<$kind>>($at)
                .map_err(cause)
                .and_then(|found| {
                    found.map_or(Ok(Value::Null), |$value| Ok(Value::$variant($from)))
                })
        };
    }
    let columns = table.columns.iter().enumerate();
    let values = columns.map(|(at, (_, kind))| match kind {
        Kind::Boolean => value!(at, Boolean, bool, |value| value),
        Kind::Bytes => value!(at, Bytes, Vec<u8>, |value| value),
        Kind::Decimal => value!(at, Decimal, String, |value| value.parse()?),
        Kind::Integer => value!(at, Integer, i64, |value| value),
        Kind::Text => value!(at, Text, String, |value| value),
        Kind::Uuid => value!(at, Uuid, uuid::Uuid, |value| value),
    });
    values.collect()
}
