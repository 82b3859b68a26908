//! What the service keeps, and the statements that read and write it: one file a noun, written once for both engines.
//!
//! [`Store`] is one of two engines, SQLite ([`crate::sqlite`]) or PostgreSQL ([`crate::postgres`]), which [`open()`] chooses
//! by address; the tests in `tests/store/` run against both. A script of [`crate::app`] gets [`Sql`], its handle on the
//! database, and runs the calls of the noun files by it: `sql.run(team::list())`, or several that travel together:
//! `sql.run((item::lock(id), user::hold(user_id)))`. What every store promises:
//!
//! 1. A script that changes something is one transaction: all of it or nothing. It answers after the change is safe on
//!    disk.
//! 2. Decisions that depend on stored state are made in the script. Those that need a lock in PostgreSQL take it with what
//!    they read (`lock`, `hold`); in SQLite whoever writes is alone. No state moves between decision and change.
//! 3. A failure is a domain [`Error`]. A uniqueness rule that was violated has its own variant; a store that is busy or
//!    unreachable is `Unavailable`; anything else is `Internal`. `Unavailable` from a change means "not acknowledged": it
//!    may have happened.
//! 4. Whoever a script is run for is named ([`Holder`]): where scripts wait for each other, as for a connection of
//!    PostgreSQL, each holder has its share, and nobody can take all.
//! 5. The store reads no clock and makes no ids: both come in, so that tests decide them.

mod address;
pub mod api_key;
pub mod auth_code;
pub mod copy;
pub mod idempotency;
pub mod item;
pub mod member;
pub mod oauth_client;
mod open;
pub mod product;
pub mod secret;
pub mod session;
pub mod share_link;
mod sql;
pub mod team;
pub mod user;

pub use address::Address;
pub use open::{OpenError, open};

use std::ops::ControlFlow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::time::Timestamp;
use crate::postgres::Postgres;
use crate::sql::Failure;
use crate::sqlite::Sqlite;
pub use sql::{Batch, Sql};

/// Where the service keeps its state: one of two engines.
pub enum Store {
    /// One SQLite file.
    Sqlite(Sqlite),
    /// One PostgreSQL database.
    Postgres(Postgres),
}

impl Store {
    /// Runs a script that changes something for `holder`, in one transaction, and answers once it is committed. The script
    /// runs again when the database wants it to, so it has no effect but those on the database.
    ///
    /// # Errors
    /// What `script` answers; [`Error::Unavailable`] when it was not acknowledged in time.
    pub async fn write<T: Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        match self {
            Store::Sqlite(sqlite) => {
                let script = move |handle: &_| run_to_its_end(script(Sql::Sqlite(handle)));
                sqlite.write(script).await
            }
            // Boxed, so that the futures of requests stay small: they are moved more than once.
            Store::Postgres(postgres) => {
                let holder = holder.into();
                Box::pin(async move {
                    let mut attempts = postgres.attempts();
                    loop {
                        let attempt = async {
                            let handle = postgres.changing(holder).await?;
                            let result = script(Sql::Postgres(&handle)).await;
                            handle.end_change(result).await
                        };
                        if let ControlFlow::Break(answer) = attempts.next(attempt).await {
                            return answer;
                        }
                    }
                })
                .await
            }
        }
    }

    /// Whether the database has all migrations that this binary knows.
    ///
    /// # Errors
    /// As [`read`](Store::read).
    pub(crate) async fn schema_is_current(&self) -> Result<bool, Error> {
        match self {
            Store::Sqlite(sqlite) => sqlite.schema_is_current(),
            Store::Postgres(postgres) => postgres.schema_is_current().await,
        }
    }

    /// Has the files of SQLite forget the sealed pairs whose grace does not run `now`, once their rows have.
    ///
    /// # Errors
    /// As [`write`](Store::write).
    pub(crate) async fn forget_pairs(&self, now: Timestamp) -> Result<(), Error> {
        match self {
            Store::Sqlite(sqlite) => sqlite.forget_pairs(now).await,
            Store::Postgres(_) => Ok(()),
        }
    }

    /// Runs a script that only reads, for `holder`. Each of its statements sees what was committed before it began.
    ///
    /// # Errors
    /// What `script` answers; [`Error::Unavailable`] when there is no answer in time.
    pub async fn read<T>(
        &self,
        holder: impl Into<Holder>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, Failure> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        match self {
            Store::Sqlite(sqlite) => {
                let reader = sqlite.reader()?;
                run_to_its_end(script(Sql::Sqlite(&reader)))
            }
            // Boxed, so that the futures of requests stay small: they are moved more than once.
            Store::Postgres(postgres) => {
                let holder = holder.into();
                Box::pin(async move {
                    let mut attempts = postgres.attempts();
                    loop {
                        let attempt = async {
                            let handle = postgres.reading(holder).await?;
                            let result = script(Sql::Postgres(&handle)).await;
                            handle.end_reading(result)
                        };
                        if let ControlFlow::Break(answer) = attempts.next(attempt).await {
                            return answer;
                        }
                    }
                })
                .await
            }
        }
    }
}

impl From<Sqlite> for Store {
    fn from(sqlite: Sqlite) -> Store {
        Store::Sqlite(sqlite)
    }
}

impl From<Postgres> for Store {
    fn from(postgres: Postgres) -> Store {
        Store::Postgres(postgres)
    }
}

/// What a script answers on SQLite. There its statements are done as soon as they are asked for, so it never waits.
fn run_to_its_end<T>(script: impl Future<Output = Result<T, Failure>>) -> Result<T, Error> {
    match pin!(script).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.map_err(Failure::into_error),
        Poll::Pending => Err(Error::internal(
            "a script waited for something that is no statement",
        )),
    }
}
