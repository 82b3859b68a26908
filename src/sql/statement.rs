//! Statements, in the dialects of both engines.

/// A statement that takes `N` values.
#[derive(Debug)]
pub struct Statement<const N: usize> {
    /// As SQLite reads it; empty if SQLite needs no such statement.
    pub sqlite: &'static str,
    /// As PostgreSQL reads it; empty if PostgreSQL needs none.
    pub postgres: &'static str,
    /// As PostgreSQL reads it for many at once, if there is such a form.
    pub many: Option<Many>,
}

/// A statement that PostgreSQL reads for many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Many {
    /// It takes a list in place of each value. Its rows have extra columns at the end: the values that say whose they are. A
    /// query looks up one row after the other (`LATERAL`, with an `OFFSET` that keeps it apart): if they were joined, a plan
    /// kept since the table was empty would read all of it.
    pub text: &'static str,
    /// How many of the first values say whose it is: no two have the same.
    pub key: usize,
}

/// A statement, from texts that are joined: `sql!("SELECT ", COLUMNS, " FROM team WHERE id = $1")`. It is written in
/// PostgreSQL's dialect, and SQLite's is derived from it. If that is not enough, each engine has its own text:
/// `sql!(sqlite: ["..."], postgres: ["..."])`, or only one of them has any. PostgreSQL may have one for many that differ in
/// their first two values: `many(2): ["..."]`.
macro_rules! sql {
    (
        sqlite: [$($sqlite:expr),+ $(,)?],
        postgres: [$($postgres:expr),+ $(,)?]
        $(, many($key:literal): [$($many:expr),+ $(,)?])? $(,)?
    ) => {{
        const SQLITE_TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($sqlite),+]);
        const SQLITE: [u8; SQLITE_TEXT.length()] = SQLITE_TEXT.for_sqlite().bytes();
        const POSTGRES_TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($postgres),+]);
        const POSTGRES: [u8; POSTGRES_TEXT.length()] = POSTGRES_TEXT.bytes();
        const PLACES: usize = $crate::sql::text::most(SQLITE_TEXT.places(), POSTGRES_TEXT.places());
        const {
            &$crate::sql::statement::Statement::<PLACES> {
                sqlite: $crate::sql::text::as_str(&SQLITE),
                postgres: $crate::sql::text::as_str(&POSTGRES),
                many: $crate::sql::statement::many!($($key, $($many),+)?),
            }
        }
    }};
    (sqlite: [$($part:expr),+ $(,)?] $(,)?) => {
        $crate::sql::statement::sql!(sqlite: [$($part),+], postgres: [""])
    };
    (postgres: [$($part:expr),+ $(,)?] $(, many($key:literal): [$($many:expr),+ $(,)?])? $(,)?) => {
        $crate::sql::statement::sql!(
            sqlite: [""], postgres: [$($part),+] $(, many($key): [$($many),+])?
        )
    };
    (one: [$($part:expr),+ $(,)?], many($key:literal): [$($many:expr),+ $(,)?] $(,)?) => {
        $crate::sql::statement::sql!(
            sqlite: [$($part),+], postgres: [$($part),+], many($key): [$($many),+]
        )
    };
    ($($part:expr),+ $(,)?) => {
        $crate::sql::statement::sql!(sqlite: [$($part),+], postgres: [$($part),+])
    };
}

/// The form of a statement for many, if there is one.
macro_rules! many {
    () => {
        None
    };
    ($key:literal, $($part:expr),+) => {
        Some($crate::sql::statement::Many { text: $crate::sql::statement::text!($($part),+), key: $key })
    };
}

/// Texts that are joined at compile time.
macro_rules! text {
    ($($part:expr),+ $(,)?) => {{
        const TEXT: $crate::sql::text::Text = $crate::sql::text::join(&[$($part),+]);
        const BYTES: [u8; TEXT.length()] = TEXT.bytes();
        $crate::sql::text::as_str(&BYTES)
    }};
}

/// A statement that only locks, for PostgreSQL alone: in SQLite, there is only one writer.
macro_rules! lock {
    (one: [$($part:expr),+ $(,)?], many($key:literal): [$($many:expr),+ $(,)?] $(,)?) => {
        $crate::sql::statement::sql!(postgres: [$($part),+], many($key): [$($many),+])
    };
    ($($part:expr),+ $(,)?) => {
        $crate::sql::statement::sql!(postgres: [$($part),+])
    };
}

pub(crate) use {lock, many, sql, text};
