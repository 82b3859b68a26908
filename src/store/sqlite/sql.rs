//! Statements, rows, and the one place where a database error becomes a domain error.
//!
//! [`Sql`] is a connection with just enough surface for this store: every statement is prepared once
//! and cached, and every failure is an [`Error`] already. Transactions are the business of the writer
//! and the readers; a change that ended its own would fail the group that it shares it with.

use codegen_runtime::Decimal;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, Row, ffi};

use crate::domain::Error;
use crate::domain::api_key::{Mode, Scope};
use crate::domain::id::{
    ApiKeyId, FileId, FolderId, ProductId, SessionId, ShareLinkId, TeamId, UserId,
};
use crate::domain::item::ItemType;
use crate::domain::member::Role;
use crate::domain::product::ProductStatus;
use crate::domain::secret::Digest;
use crate::domain::share_link::Audience;
use crate::domain::time::Timestamp;

/// A connection inside a transaction (a change) or outside of one (a read).
#[derive(Clone, Copy)]
pub struct Sql<'a>(&'a Connection);

impl<'a> Sql<'a> {
    pub(super) fn new(connection: &'a Connection) -> Sql<'a> {
        Sql(connection)
    }

    /// Runs a statement that answers no rows; says how many rows it changed.
    ///
    /// # Errors
    /// What SQLite answered, in the service's terms.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<usize, Error> {
        self.0
            .prepare_cached(sql)
            .and_then(|mut found| found.execute(params))
            .map_err(to_domain)
    }

    /// The one row that a query answers, if there is one.
    ///
    /// # Errors
    /// What SQLite answered, in the service's terms.
    pub fn optional<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        let mut statement = self.0.prepare_cached(sql).map_err(to_domain)?;
        statement
            .query_row(params, read)
            .optional()
            .map_err(to_domain)
    }

    /// All rows that a query answers.
    ///
    /// # Errors
    /// What SQLite answered, in the service's terms.
    pub fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.0.prepare_cached(sql).map_err(to_domain)?;
        let rows = statement.query_map(params, read).map_err(to_domain)?;
        rows.collect::<rusqlite::Result<_>>().map_err(to_domain)
    }
}

/// Takes the columns of a row in their order. By name, SQLite and rusqlite compare names for each value of
/// each row, which was an eighth of all that a request for one product costs.
pub struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Columns<'a> {
    /// The columns of `row`, from the first.
    pub fn of(row: &'a Row<'a>) -> Columns<'a> {
        Columns { row, next: 0 }
    }

    /// The next column.
    ///
    /// # Errors
    /// When there is none, or it is of another type.
    pub fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }
}

/// Which rule of the service a unique index guards. SQLite names the columns of the index it found
/// violated, in the order of the index.
fn violated(columns: &str) -> Option<Error> {
    match columns {
        "product.team_id, product.mode, product.sku" => Some(Error::DuplicateSku),
        _ => None,
    }
}

/// Translates what SQLite says into what the service says.
///
/// Contention, a full disk and a failing one are `Unavailable`: they can pass without anyone changing
/// the program. Everything else that is not a rule of the service is `Internal`.
pub fn to_domain(error: rusqlite::Error) -> Error {
    let rusqlite::Error::SqliteFailure(failure, message) = &error else {
        return Error::internal(error);
    };
    if failure.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE {
        let columns = message
            .as_deref()
            .and_then(|text| text.split_once("failed: "));
        if let Some(rule) = columns.and_then(|(_, columns)| violated(columns)) {
            return rule;
        }
    }
    match failure.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        // What a reader hears that has waited long for the locks of the log.
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::DiskFull
        | ErrorCode::SystemIoFailure
        | ErrorCode::OutOfMemory
        | ErrorCode::CannotOpen => Error::unavailable(error),
        _ => Error::internal(error),
    }
}

macro_rules! stored_as_blob {
    ($($name:ident)+) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.as_bytes())))
            }
        }
    )+};
}

macro_rules! ids_are_blobs {
    ($($name:ident)+) => {
        stored_as_blob! { $($name)+ }
        $(
            impl FromSql for $name {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                    let bytes = <[u8; 16]>::column_result(value)?;
                    Ok($name(uuid::Uuid::from_bytes(bytes)))
                }
            }
        )+
    };
}

ids_are_blobs! { TeamId ApiKeyId ProductId UserId SessionId FolderId FileId ShareLinkId }
stored_as_blob! { Digest }

impl FromSql for Digest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 32]>::column_result(value).map(Digest::from_bytes)
    }
}

/// Milliseconds since 1970, as an integer: compared and indexed as such.
impl ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_millis()))
    }
}

impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Timestamp::from_millis)
    }
}

/// A decimal, as the text of its literal: exact, and never computed with in SQL.
pub(super) struct Exact(pub Decimal);

impl FromSql for Exact {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_str()?
            .parse()
            .map(Exact)
            .map_err(FromSqlError::other)
    }
}

macro_rules! stored_as_words {
    ($($name:ident)+) => {$(
        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }

        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str()?.parse().map_err(FromSqlError::other)
            }
        }
    )+};
}

stored_as_words! { Mode Scope ProductStatus Role ItemType Audience }
