//! Statements, in the dialects of both engines.

/// A statement that takes `N` values.
#[derive(Debug)]
pub struct Statement<const N: usize> {
    /// As SQLite reads it; empty where SQLite needs no such statement.
    pub sqlite: &'static str,
    /// As PostgreSQL reads it; empty where PostgreSQL needs none.
    pub postgres: &'static str,
    /// As PostgreSQL reads it for many of one catalog at once; empty where there is no such form. The first two values say
    /// of which catalog, and all others are lists. Its rows have a column more, the last: the third value of which they are.
    pub postgres_many: &'static str,
}

/// A statement, from texts that are put together: `sql!("SELECT ", COLUMNS, " FROM team WHERE id = $1")`. It is written
/// in PostgreSQL's dialect, and SQLite's is made of it. Where that is not enough, each engine has a text of its own:
/// `sql!(sqlite: ["..."], postgres: ["..."])`, and PostgreSQL may have one for many: `postgres_many: ["..."]`.
macro_rules! sql {
    (sqlite: [$($sqlite:expr),+ $(,)?], postgres: [$($postgres:expr),+ $(,)?] $(,)?) => {
        $crate::sql::statement::sql!(sqlite: [$($sqlite),+], postgres: [$($postgres),+], postgres_many: [""])
    };
    (
        sqlite: [$($sqlite:expr),+ $(,)?],
        postgres: [$($postgres:expr),+ $(,)?],
        postgres_many: [$($many:expr),+ $(,)?] $(,)?
    ) => {{
        const SQLITE_TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($sqlite),+]);
        const SQLITE: [u8; SQLITE_TEXT.length()] = SQLITE_TEXT.for_sqlite().bytes();
        const POSTGRES_TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($postgres),+]);
        const POSTGRES: [u8; POSTGRES_TEXT.length()] = POSTGRES_TEXT.bytes();
        const MANY_TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($many),+]);
        const MANY: [u8; MANY_TEXT.length()] = MANY_TEXT.bytes();
        const PLACES: usize = $crate::sql::text::most(SQLITE_TEXT.places(), POSTGRES_TEXT.places());
        const {
            &$crate::sql::statement::Statement::<PLACES> {
                sqlite: $crate::sql::text::as_str(&SQLITE),
                postgres: $crate::sql::text::as_str(&POSTGRES),
                postgres_many: $crate::sql::text::as_str(&MANY),
            }
        }
    }};
    ($($part:expr),+ $(,)?) => {
        $crate::sql::statement::sql!(sqlite: [$($part),+], postgres: [$($part),+])
    };
}

/// Texts that are put together when the program compiles.
macro_rules! text {
    ($($part:expr),+ $(,)?) => {{
        const TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($part),+]);
        const BYTES: [u8; TEXT.length()] = TEXT.bytes();
        $crate::sql::text::as_str(&BYTES)
    }};
}

/// A statement that only locks, which is PostgreSQL's alone: in SQLite, there is only one writer.
macro_rules! lock {
    ($($part:expr),+ $(,)?) => {
        $crate::sql::statement::sql!(sqlite: [""], postgres: [$($part),+])
    };
}

pub(crate) use {lock, sql, text};
