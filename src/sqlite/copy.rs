//! Reads and writes a whole SQLite file, for a copy.
//!
//! One connection, one transaction. Rows are read a page at a time, each page starting after the last key of the one before,
//! which the index of the primary key finds at once. Idempotency records have no index of their keys: they are first sorted
//! in a temporary table. In WAL mode a reader blocks no one; a target is locked by `BEGIN IMMEDIATE`. Pairs are unwrapped
//! and wrapped again on the way (`pair.rs`): each file has its own keys.

mod made;

use std::path::Path;

use async_trait::async_trait;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::connection::connect;
use super::migrate;
use super::open_error::OpenError;
use crate::domain::Cause;
use crate::sql::copy::{BATCH, Row, Side, Value, list, quoted};
use crate::sql::schema::{Kind, Table};

pub(crate) use made::Made;

/// The table that is found by a hash of its key, which the others do not know.
const HASHED: &str = "idempotency";

/// The rowids of that table in the order of its key; the rowid of each row here is its place in that order.
const SORT: &str = "CREATE TEMP TABLE sorted AS \
    SELECT rowid AS number FROM main.idempotency ORDER BY team_id, mode, key";

/// A file in one transaction, which ends without effect unless it is committed.
pub(crate) struct Copy {
    connection: Connection,
    /// The table being read, and the key of the last row so far; for [`HASHED`], its place.
    reading: Option<(&'static Table, Row)>,
}

impl Copy {
    /// The file at `path`, which exists.
    ///
    /// # Errors
    /// [`OpenError::Open`].
    pub(crate) fn open(path: &Path) -> Result<Copy, OpenError> {
        Ok(Copy {
            connection: connect(path).map_err(|error| OpenError::new(path, error))?,
            reading: None,
        })
    }
}

#[async_trait]
impl Side for Copy {
    async fn begin_reading(&mut self) -> Result<(i64, i64), Cause> {
        // Closing it must not checkpoint the log, which a newer program may have left.
        self.connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let begin = "PRAGMA query_only = true; BEGIN DEFERRED";
        self.connection.execute_batch(begin)?;
        // A transaction sees the moment of its first look at the file, which is this one.
        Ok((migrate::version(&self.connection)?, migrate::VERSION))
    }

    async fn begin_writing(&mut self, _: &'static [Table]) -> Result<(), Cause> {
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    async fn count(&mut self, table: &'static Table) -> Result<u64, Cause> {
        let select = format!("SELECT count(*) FROM {}", quoted(table.name));
        let count: i64 = self.connection.query_row(&select, [], |row| row.get(0))?;
        Ok(count.try_into()?)
    }

    async fn select(&mut self, table: &'static Table) -> Result<(), Cause> {
        let mut last = Row::new();
        if table.name == HASHED {
            let connection = &self.connection;
            let only: bool = connection.pragma_query_value(None, "query_only", |row| row.get(0))?;
            // It would forbid temporary tables, too.
            connection.pragma_update(None, "query_only", false)?;
            connection.execute_batch(SORT)?;
            connection.pragma_update(None, "query_only", only)?;
            last.push(Value::Integer(0));
        }
        self.reading = Some((table, last));
        Ok(())
    }

    async fn fetch(&mut self) -> Result<Vec<Row>, Cause> {
        let Some((table, last)) = &mut self.reading else {
            return Ok(Vec::new());
        };
        let mut statement = self.connection.prepare_cached(&page(table, last))?;
        let mut found = statement.query(params_from_iter(last.iter()))?;
        let mut rows = Vec::with_capacity(BATCH);
        while let Some(row) = found.next()? {
            let columns = table.columns.iter().enumerate();
            let values = columns.map(|(at, (_, kind))| read(row.get_ref(at)?, *kind));
            rows.push(values.collect::<Result<Row, Cause>>()?);
        }
        match (last.first_mut(), rows.last()) {
            (Some(Value::Integer(place)), _) if table.name == HASHED => *place += rows.len() as i64, // a thousand
            (_, Some(row)) => *last = table.key_of(row),
            _ => {}
        }
        Ok(rows)
    }

    async fn insert(&mut self, table: &'static Table, rows: Vec<Row>) -> Result<(), Cause> {
        let values = placeholders(table.columns.len());
        let (column, values) = match table.name {
            HASHED => (", key_hash", values + ", hash_key(?1, ?2, ?3)"),
            _ => ("", values),
        };
        let insert = format!(
            "INSERT INTO {} ({}{column}) VALUES ({values})",
            quoted(table.name),
            table.quoted_columns(),
        );
        let mut statement = self.connection.prepare_cached(&insert)?;
        for row in &rows {
            statement.execute(params_from_iter(row.iter()))?;
        }
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), Cause> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }
}

/// The rows of a table after a key, or its first ones.
fn page(table: &Table, last: &Row) -> String {
    if table.name == HASHED {
        return format!(
            "SELECT {} FROM temp.sorted CROSS JOIN {HASHED} ON {HASHED}.rowid = sorted.number \
             WHERE sorted.rowid > ?1 ORDER BY sorted.rowid LIMIT {BATCH}",
            table.quoted_columns()
        );
    }
    let columns = table.quoted_columns();
    let key = list(table.key.iter().map(|name| quoted(name)));
    let after = match last.len() {
        0 => String::new(),
        count => format!("WHERE ({key}) > ({})", placeholders(count)),
    };
    format!(
        "SELECT {columns} FROM {} {after} ORDER BY {key} LIMIT {BATCH}",
        quoted(table.name)
    )
}

fn placeholders(count: usize) -> String {
    list((1..=count).map(|number| format!("?{number}")))
}

fn read(value: ValueRef<'_>, kind: Kind) -> Result<Value, Cause> {
    Ok(match (kind, value) {
        (_, ValueRef::Null) => Value::Null,
        (Kind::Boolean, value) => Value::Boolean(value.as_i64()? != 0),
        (Kind::Bytes, value) => Value::Bytes(value.as_blob()?.to_vec()),
        (Kind::Decimal, value) => Value::Decimal(value.as_str()?.parse()?),
        (Kind::Integer, value) => Value::Integer(value.as_i64()?),
        (Kind::Text, value) => Value::Text(value.as_str()?.to_owned()),
        (Kind::Uuid, value) => Value::Uuid(uuid::Uuid::from_slice(value.as_blob()?)?),
    })
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Boolean(value) => ValueRef::Integer((*value).into()),
            Value::Bytes(value) => ValueRef::Blob(value),
            Value::Decimal(value) => ValueRef::Text(value.as_str().as_bytes()),
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Uuid(value) => ValueRef::Blob(value.as_bytes()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::Sqlite;
    use crate::store::copy::TABLES;

    fn database() -> (TempDir, Connection) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        drop(Sqlite::open(&path).unwrap());
        (folder, connect(&path).unwrap())
    }

    #[test]
    fn every_column_of_the_schema_is_copied() {
        let (_folder, connection) = database();
        let select = "SELECT m.name, c.name, c.type FROM sqlite_schema AS m, pragma_table_info(m.name) AS c \
             WHERE m.type = 'table' AND c.name NOT IN ('key_hash', 'successor') AND m.name != 'grace_key'";
        let mut statement = connection.prepare(select).unwrap();
        let there: BTreeSet<(String, String, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        let columns = TABLES.iter().flat_map(|table| {
            let column = |(name, kind): &(&str, Kind)| {
                let kind = match kind {
                    Kind::Boolean | Kind::Integer => "INTEGER",
                    Kind::Bytes | Kind::Uuid => "BLOB",
                    Kind::Decimal | Kind::Text => "TEXT",
                };
                (table.name.to_owned(), (*name).to_owned(), kind.to_owned())
            };
            table.columns.iter().map(column)
        });
        let follows = "src/store/copy/tables.rs follows the migrations";
        assert_eq!(there, columns.collect(), "{follows}");
    }

    #[test]
    fn every_page_is_found_by_an_index_and_not_sorted() {
        let (_folder, connection) = database();
        connection.execute_batch(SORT).unwrap();
        for table in TABLES {
            let last = vec![Value::Null; table.key.len()];
            let explain = format!("EXPLAIN QUERY PLAN {}", page(table, &last));
            let mut statement = connection.prepare(&explain).unwrap();
            let nothing = &last[..statement.parameter_count()];
            let plan: Vec<String> = statement
                .query_map(params_from_iter(nothing), |row| row.get(3))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert!(
                plan.iter()
                    .all(|step| step.starts_with("SEARCH") || step.contains("SCALAR SUBQUERY")),
                "{}: {plan:?}",
                table.name
            );
        }
    }
}
