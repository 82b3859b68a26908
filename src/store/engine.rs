//! The store on either engine, and how each runs a script.

mod on_postgres;

use std::future::pending;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread::available_parallelism;

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use super::closing::Closing;
use super::sql::{Batch, Sql};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::subject::Subject;
use crate::domain::time::Timestamp;
use crate::postgres::{self, Access, Lookups, Postgres, VERSION};
use crate::sql::ScriptError;
use crate::sqlite::{self, Sqlite};
use crate::trace;

/// The version of the schema. Both engines have the same migrations, or the program would not build (`build.rs`).
pub const SCHEMA_VERSION: i64 = VERSION;

/// Where the service keeps its state: one of two engines.
pub enum Store {
    /// One SQLite file.
    Sqlite(Sqlite),
    /// One PostgreSQL database.
    Postgres(Postgres),
}

/// The store's counters and gauges; each engine has its own.
#[derive(Debug)]
pub enum Numbers<'a> {
    /// SQLite's.
    Sqlite(sqlite::Numbers<'a>),
    /// PostgreSQL's.
    Postgres(postgres::Numbers<'a>),
}

/// What a database reports about itself, as far as the service has to know before it works on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Whether it has all migrations that this binary knows.
    pub(crate) schema_is_current: bool,
    /// Whether it accepts changes, as far as it knows.
    pub(crate) takes_changes: bool,
}

impl Store {
    /// Runs a script that changes something for `holder`, in one transaction, and returns once it is committed. The script
    /// runs again if the database requires it, so it must have no effect outside the database.
    ///
    /// # Errors
    /// The script's own; [`Error::Unavailable`] when the commit was not acknowledged in time.
    pub async fn write<T: Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let span = self.span("write");
        let holder = holder.into();
        let answer = match self {
            Store::Sqlite(sqlite) => on_sqlite(sqlite, holder, script).await,
            Store::Postgres(postgres) => {
                // In a box, so that the futures of requests stay small: they are moved more than once.
                Box::pin(on_postgres::by_itself(
                    postgres,
                    Access::Changing,
                    holder,
                    script,
                ))
                .await
            }
        };
        tell(span, answer.as_ref().err());
        answer
    }

    /// As [`write`](Store::write), for a small change that may share its transaction with others, but with none that has one
    /// of its `subjects`.
    ///
    /// # Errors
    /// As for [`write`](Store::write).
    pub async fn write_in_group<T: Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        subjects: impl IntoIterator<Item = Subject>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let span = self.span("write");
        let answer = match self {
            Store::Sqlite(sqlite) => on_sqlite(sqlite, holder.into(), script).await,
            Store::Postgres(postgres) => {
                let subjects = subjects.into_iter().collect();
                // In a box, as above.
                Box::pin(on_postgres::in_group(
                    postgres,
                    holder.into(),
                    subjects,
                    script,
                ))
                .await
            }
        };
        tell(span, answer.as_ref().err());
        answer
    }

    /// How many parts of long answers are made at once, and of how many cores they may keep half busy. SQLite mostly reads on
    /// the calling thread, so one, and of one. With PostgreSQL most of the time is spent waiting, so four for each core, but
    /// no more than may have a connection at the same time.
    pub fn parts_at_once(&self) -> (usize, usize) {
        match self {
            Store::Sqlite(_) => (1, 1),
            Store::Postgres(postgres) => {
                let cores = available_parallelism().map_or(1, usize::from);
                let connections = Holder::Parts.share(postgres.numbers().most);
                (connections.min(4 * cores), cores)
            }
        }
    }

    /// Whether what SQLite read for `holder` has waited for the disk lately.
    pub(crate) fn waits_for_disk(&self, holder: Holder) -> bool {
        match self {
            Store::Sqlite(sqlite) => sqlite.waits_for_disk(holder),
            Store::Postgres(_) => false,
        }
    }

    /// How many imports are worked on at once, and how many more of teams that wait for the disk. SQLite mostly reads on the
    /// calling thread and has one writer, so one. On PostgreSQL an import waits in the queue of its team, which the team can
    /// make as long as it likes, and others go on meanwhile. Each takes up to some forty megabytes of memory.
    pub(crate) fn imports_at_once(&self) -> (usize, usize) {
        match self {
            Store::Sqlite(_) => (1, 3),
            Store::Postgres(_) => (4, 0),
        }
    }

    /// How many times as long as an import kept others waiting its team owes as rest. On SQLite all other changes wait
    /// while one is carried out, so 150 times: less than one in a hundred of them waits. On PostgreSQL nobody else waits.
    pub(crate) fn import_rest(&self) -> u32 {
        match self {
            Store::Sqlite(_) => 150,
            Store::Postgres(_) => 0,
        }
    }

    /// The span of a script in the trace of its request.
    fn span(&self, name: &'static str) -> Option<trace::Child> {
        let mut span = trace::child(name, SpanKind::Client)?;
        let system = match self {
            Store::Sqlite(_) => "sqlite",
            Store::Postgres(_) => "postgresql",
        };
        span.add(KeyValue::new("db.system.name", system));
        Some(span)
    }

    /// The store's metrics.
    pub(crate) fn numbers(&self) -> Numbers<'_> {
        match self {
            Store::Sqlite(sqlite) => Numbers::Sqlite(sqlite.numbers()),
            Store::Postgres(postgres) => Numbers::Postgres(postgres.numbers()),
        }
    }

    /// Waits until something is found that may stand between this process and PostgreSQL, so that statements are not
    /// prepared. Returns the reason.
    pub(crate) async fn unprepared(&self) -> &'static str {
        match self {
            Store::Sqlite(_) => pending().await,
            Store::Postgres(postgres) => postgres.unprepared().await,
        }
    }

    /// Tells when this is closed.
    pub(crate) fn closing(&self) -> Closing {
        match self {
            Store::Sqlite(sqlite) => Closing(sqlite.file()),
            Store::Postgres(_) => Closing::default(),
        }
    }

    /// Calls `f` while this process holds no lock of SQLite but those of transactions under way.
    pub(crate) fn between_checkpoints(&self, f: impl FnOnce()) {
        match self {
            Store::Sqlite(sqlite) => sqlite.between_checkpoints(f),
            Store::Postgres(_) => f(),
        }
    }

    /// The version of the schema when this was opened; 0 for a new database.
    pub(crate) fn found_version(&self) -> i64 {
        match self {
            Store::Sqlite(sqlite) => sqlite.found_version(),
            Store::Postgres(postgres) => postgres.found_version(),
        }
    }

    /// What the database reports about itself.
    ///
    /// # Errors
    /// As for [`read`](Store::read).
    pub(crate) async fn state(&self) -> Result<State, Error> {
        match self {
            Store::Sqlite(sqlite) => Ok(State {
                schema_is_current: sqlite.schema_is_current()?,
                takes_changes: true,
            }),
            Store::Postgres(postgres) => {
                let (schema_is_current, takes_changes) = postgres.state().await?;
                Ok(State {
                    schema_is_current,
                    takes_changes,
                })
            }
        }
    }

    /// Whether the disk accepts a change. SQLite tries one, of one page; for PostgreSQL, [`state`](Store::state) has
    /// reported what it knows.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it could not be tried in time.
    pub(crate) async fn try_to_write(&self) -> Result<bool, Error> {
        match self {
            Store::Sqlite(sqlite) => sqlite.try_to_write().await,
            Store::Postgres(_) => Ok(true),
        }
    }

    /// Makes SQLite's files forget the sealed pairs whose grace is not running at `now`, once their rows have.
    ///
    /// # Errors
    /// As for [`write`](Store::write).
    pub(crate) async fn forget_pairs(&self, now: Timestamp) -> Result<(), Error> {
        match self {
            Store::Sqlite(sqlite) => sqlite.forget_pairs(now).await,
            Store::Postgres(_) => Ok(()),
        }
    }

    /// Runs a script that only reads, for `holder`. Each statement sees what was committed before that statement started.
    ///
    /// # Errors
    /// The script's own; [`Error::Unavailable`] when there is no answer in time.
    pub async fn read<T: Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let span = self.span("read");
        let answer = match self {
            Store::Sqlite(sqlite) => {
                let script = move |handle: &_| run_to_its_end(script(Sql::Sqlite(handle)));
                sqlite.read(holder.into(), script).await
            }
            Store::Postgres(postgres) => {
                let holder = holder.into();
                // In a box, so that the futures of requests stay small: they are moved more than once.
                Box::pin(on_postgres::by_itself(
                    postgres,
                    Access::Reading,
                    holder,
                    script,
                ))
                .await
            }
        };
        tell(span, answer.as_ref().err());
        answer
    }

    /// As [`read`](Store::read), for a query that finds at most one row and may be batched with those of other callers.
    ///
    /// # Errors
    /// As for [`read`](Store::read).
    pub fn look_up<B: Batch<Out: Send> + Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        query: B,
    ) -> impl Future<Output = Result<B::Out, Error>> + Send {
        self.look_up_by(|postgres| Some(postgres.lookups()), holder.into(), query, 1)
    }

    /// The same for a list of at most `rows`, which only lists of other callers wait for.
    ///
    /// # Errors
    /// As for [`read`](Store::read).
    pub fn look_up_list<B: Batch<Out: Send> + Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        query: B,
        rows: usize,
    ) -> impl Future<Output = Result<B::Out, Error>> + Send {
        self.look_up_by(
            |postgres| Some(postgres.lists()),
            holder.into(),
            query,
            rows,
        )
    }

    /// As [`look_up`](Store::look_up), for the row of a credential. Those of strangers, who may bring any number of invalid
    /// credentials, wait only for each other.
    ///
    /// # Errors
    /// As for [`read`](Store::read).
    pub fn look_up_credential<B: Batch<Out: Send> + Send + 'static>(
        &self,
        holder: Holder,
        query: B,
    ) -> impl Future<Output = Result<B::Out, Error>> + Send {
        let together: fn(&Postgres) -> Option<&Lookups> = match holder {
            Holder::Strangers => |postgres| Some(postgres.strangers()),
            _ => |postgres| Some(postgres.credentials()),
        };
        self.look_up_by(together, holder, query, 1)
    }

    /// As [`look_up`](Store::look_up), for somebody who is about to sign in, follows a link, or presents an app's code or
    /// token: many may do so, about whom nothing is known, and they wait only for each other.
    ///
    /// # Errors
    /// As for [`read`](Store::read).
    pub fn look_up_sign_in<B: Batch<Out: Send> + Send + 'static>(
        &self,
        holder: Holder,
        query: B,
        rows: usize,
    ) -> impl Future<Output = Result<B::Out, Error>> + Send {
        self.look_up_by(|postgres| Some(postgres.sign_ins()), holder, query, rows)
    }

    async fn look_up_by<B: Batch<Out: Send> + Send + 'static>(
        &self,
        together: fn(&Postgres) -> Option<&Lookups>,
        holder: Holder,
        query: B,
        rows: usize,
    ) -> Result<B::Out, Error> {
        let span = self.span("read");
        let answer = match self {
            Store::Sqlite(sqlite) => {
                let script =
                    move |handle: &_| query.on_sqlite(handle).map_err(ScriptError::into_error);
                sqlite.read(holder, script).await
            }
            Store::Postgres(postgres) => {
                let together = together(postgres);
                // In a box, as above.
                Box::pin(on_postgres::looked_up(
                    postgres, together, holder, query, rows,
                ))
                .await
            }
        };
        tell(span, answer.as_ref().err());
        answer
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

/// Ends the span of a script. Only errors of the database count as failures: a refusal is an answer like any other.
fn tell(span: Option<trace::Child>, error: Option<&Error>) {
    let Some(mut span) = span else {
        return;
    };
    match error {
        Some(Error::Unavailable(_)) => span.fail("unavailable"),
        Some(Error::Internal(_)) => span.fail("internal"),
        _ => {}
    }
}

/// Runs a change on SQLite, whose writer groups all changes.
async fn on_sqlite<T: Send + 'static>(
    sqlite: &Sqlite,
    holder: Holder,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
) -> Result<T, Error> {
    let script = move |handle: &_| run_to_its_end(script(Sql::Sqlite(handle)));
    sqlite.write(holder, script).await
}

/// Runs a script on SQLite, where statements complete as soon as they are called, so it never waits.
fn run_to_its_end<T>(script: impl Future<Output = Result<T, ScriptError>>) -> Result<T, Error> {
    match pin!(script).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.map_err(ScriptError::into_error),
        Poll::Pending => Err(Error::internal(
            "a script waited for something that is no statement",
        )),
    }
}
