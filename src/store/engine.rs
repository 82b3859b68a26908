//! Which engine runs a script, and how.

use std::future::pending;
use std::ops::ControlFlow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread::available_parallelism;
use std::time::Instant;

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;

use super::sql::{Batch, Sql};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::subject::Subject;
use crate::domain::time::Timestamp;
use crate::postgres::retry::Attempts;
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

/// What the store counts, and how it is now; each engine has numbers of its own.
#[derive(Debug)]
pub enum Numbers<'a> {
    /// Of SQLite.
    Sqlite(sqlite::Numbers<'a>),
    /// Of PostgreSQL.
    Postgres(postgres::Numbers<'a>),
}

/// What a database says of itself, as far as the service has to know before it works on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// Whether it has all migrations that this binary knows.
    pub(crate) schema_is_current: bool,
    /// Whether it takes changes, as far as it knows.
    pub(crate) takes_changes: bool,
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
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let span = self.span("write");
        let answer = match self {
            Store::Sqlite(sqlite) => on_sqlite(sqlite, script).await,
            Store::Postgres(postgres) => {
                let holder = holder.into();
                // In a box, so that the futures of requests stay small: they are moved more than once.
                Box::pin(on_postgres(postgres, Access::Changing, holder, script)).await
            }
        };
        tell(span, answer.as_ref().err());
        answer
    }

    /// As [`write`](Store::write), for a small change that others may share the transaction of: none that has one of
    /// `subjects` in common with it.
    ///
    /// # Errors
    /// As of [`write`](Store::write).
    pub async fn write_in_group<T: Send + 'static>(
        &self,
        holder: impl Into<Holder>,
        subjects: impl IntoIterator<Item = Subject>,
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let span = self.span("write");
        let answer = match self {
            Store::Sqlite(sqlite) => on_sqlite(sqlite, script).await,
            Store::Postgres(postgres) => {
                let subjects = subjects.into_iter().collect();
                // In a box, as above.
                Box::pin(in_group(postgres, holder.into(), subjects, script)).await
            }
        };
        tell(span, answer.as_ref().err());
        answer
    }

    /// How many parts of long answers are made at once. SQLite reads on the thread that asks, so one; PostgreSQL is waited for
    /// some of the time.
    pub fn parts_at_once(&self) -> usize {
        match self {
            Store::Sqlite(_) => 1,
            Store::Postgres(_) => 2 * available_parallelism().map_or(1, usize::from),
        }
    }

    /// What a script takes, in the trace of the request that it is for.
    fn span(&self, name: &'static str) -> Option<trace::Child> {
        let mut span = trace::child(name, SpanKind::Client)?;
        let system = match self {
            Store::Sqlite(_) => "sqlite",
            Store::Postgres(_) => "postgresql",
        };
        span.add(KeyValue::new("db.system.name", system));
        Some(span)
    }

    /// What is counted, for those who watch the service.
    pub(crate) fn numbers(&self) -> Numbers<'_> {
        match self {
            Store::Sqlite(sqlite) => Numbers::Sqlite(sqlite.numbers()),
            Store::Postgres(postgres) => Numbers::Postgres(postgres.numbers()),
        }
    }

    /// Waits until it was found that something may stand between this process and PostgreSQL, so that statements are not
    /// prepared. Why comes back.
    pub(crate) async fn unprepared(&self) -> &'static str {
        match self {
            Store::Sqlite(_) => pending().await,
            Store::Postgres(postgres) => postgres.unprepared().await,
        }
    }

    /// Which version the schema had when this was opened; 0 for a new database.
    pub(crate) fn found_version(&self) -> i64 {
        match self {
            Store::Sqlite(sqlite) => sqlite.found_version(),
            Store::Postgres(postgres) => postgres.found_version(),
        }
    }

    /// What the database says of itself.
    ///
    /// # Errors
    /// As [`read`](Store::read).
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

    /// Whether the disk takes a change: on SQLite, which makes one, of one page. PostgreSQL has said what it knows.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it could not be tried in time.
    pub(crate) async fn try_to_write(&self) -> Result<bool, Error> {
        match self {
            Store::Sqlite(sqlite) => sqlite.try_to_write().await,
            Store::Postgres(_) => Ok(true),
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
        script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let span = self.span("read");
        let answer = match self {
            Store::Sqlite(sqlite) => match sqlite.reader() {
                Ok(reader) => run_to_its_end(script(Sql::Sqlite(&reader))),
                Err(error) => Err(error),
            },
            Store::Postgres(postgres) => {
                let holder = holder.into();
                // In a box, so that the futures of requests stay small: they are moved more than once.
                Box::pin(on_postgres(postgres, Access::Reading, holder, script)).await
            }
        };
        tell(span, answer.as_ref().err());
        answer
    }

    /// As [`read`](Store::read), for a query that finds at most `rows` rows, and is asked together with those of others.
    ///
    /// # Errors
    /// As of [`read`](Store::read).
    pub async fn look_up<B: Batch>(
        &self,
        holder: impl Into<Holder>,
        query: B,
        rows: usize,
    ) -> Result<B::Out, Error> {
        self.look_up_by(
            |postgres| Some(postgres.lookups()),
            holder.into(),
            query,
            rows,
        )
        .await
    }

    /// As [`look_up`](Store::look_up), for the row of a credential. Those of strangers, who may bring any number of them that
    /// nobody has, are looked up one by one within their share of the connections.
    ///
    /// # Errors
    /// As of [`read`](Store::read).
    pub async fn look_up_credential<B: Batch>(
        &self,
        holder: Holder,
        query: B,
    ) -> Result<B::Out, Error> {
        let together: fn(&Postgres) -> Option<&Lookups> = match holder {
            Holder::Strangers => |_| None,
            _ => |postgres| Some(postgres.credentials()),
        };
        self.look_up_by(together, holder, query, 1).await
    }

    async fn look_up_by<B: Batch>(
        &self,
        together: fn(&Postgres) -> Option<&Lookups>,
        holder: Holder,
        query: B,
        rows: usize,
    ) -> Result<B::Out, Error> {
        let span = self.span("read");
        let answer = match self {
            Store::Sqlite(sqlite) => sqlite.reader().and_then(|reader| {
                let found = query.on_sqlite(&reader);
                found.map_err(ScriptError::into_error)
            }),
            Store::Postgres(postgres) => {
                let together = together(postgres);
                // In a box, as above.
                Box::pin(looked_up(postgres, together, holder, query, rows)).await
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

/// Ends the span of a script. It has failed where the database is to blame for its error: a refusal is an answer like any.
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

/// What a change answers on SQLite, whose writer makes groups of all of them.
async fn on_sqlite<T: Send + 'static>(
    sqlite: &Sqlite,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
) -> Result<T, Error> {
    let script = move |handle: &_| run_to_its_end(script(Sql::Sqlite(handle)));
    sqlite.write(script).await
}

/// What a change answers on PostgreSQL: in a group, or alone where that is undone.
async fn in_group<T>(
    postgres: &Postgres,
    holder: Holder,
    subjects: Vec<Subject>,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError>,
) -> Result<T, Error> {
    let mut attempts = postgres.attempts();
    let deadline = attempts.deadline();
    let spoiler = postgres::Spoiler::of(holder, &subjects);
    if !postgres.takes_into_groups(spoiler) {
        return alone(postgres, attempts, Access::Changing, holder, script).await;
    }
    let mut is_suspect = false;
    let attempt = async {
        let seat = postgres.seat(holder, subjects, deadline).await?;
        let result = script(Sql::Postgres(seat.handle())).await;
        let answer;
        (answer, is_suspect) = seat.end(result).await;
        answer
    };
    if let ControlFlow::Break(answer) = attempts.next(attempt).await {
        return answer;
    }
    let begun = Instant::now();
    let answer = alone(postgres, attempts, Access::Changing, holder, script).await;
    if is_suspect {
        postgres.went_alone(spoiler, answer.is_err(), begun.elapsed());
    }
    answer
}

/// What a lookup answers on PostgreSQL: together with others, or alone where it has to be or that failed.
async fn looked_up<B: Batch>(
    postgres: &Postgres,
    mut together: Option<&Lookups>,
    holder: Holder,
    query: B,
    rows: usize,
) -> Result<B::Out, Error> {
    let mut sent = Vec::new();
    query.send(&mut sent);
    let mut attempts = postgres.attempts();
    let answers = loop {
        let attempt = async {
            if let Some(lookups) = together.take() {
                return lookups.look_up(holder, &sent, rows).await;
            }
            let handle = postgres.handle(Access::Reading, holder).await?;
            let answers = handle.run(&sent).await;
            let answers = answers.and_then(|answers| answers.into_iter().collect());
            handle.end(answers).await
        };
        if let ControlFlow::Break(answers) = attempts.next(attempt).await {
            break answers?;
        }
    };
    drop(sent);
    let answers: Vec<_> = answers.into_iter().map(Ok).collect();
    let received = query.receive(&mut answers.into_iter());
    received.map_err(ScriptError::into_error)
}

/// What a script answers on PostgreSQL.
async fn on_postgres<T>(
    postgres: &Postgres,
    access: Access,
    holder: Holder,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError>,
) -> Result<T, Error> {
    alone(postgres, postgres.attempts(), access, holder, script).await
}

/// The same, however often it has to be run.
async fn alone<T>(
    postgres: &Postgres,
    mut attempts: Attempts,
    access: Access,
    holder: Holder,
    script: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError>,
) -> Result<T, Error> {
    loop {
        let attempt = async {
            let handle = postgres.handle(access, holder).await?;
            let result = script(Sql::Postgres(&handle)).await;
            handle.end(result).await
        };
        if let ControlFlow::Break(answer) = attempts.next(attempt).await {
            return answer;
        }
    }
}

/// What a script answers on SQLite. There its statements are done as soon as they are asked for, so it never waits.
fn run_to_its_end<T>(script: impl Future<Output = Result<T, ScriptError>>) -> Result<T, Error> {
    match pin!(script).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.map_err(ScriptError::into_error),
        Poll::Pending => Err(Error::internal(
            "a script waited for something that is no statement",
        )),
    }
}
