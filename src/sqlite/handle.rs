//! Runs the statements of a script.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Params};

use super::error::to_domain;
use crate::domain::Error;
use crate::sql::value::{Columns, Row};
use crate::sql::{Call, RowCollector, ScriptError};

/// A connection, lent to one script at a time. The script has it to itself, so the mutex is never waited for; it is needed
/// because a script's future, which is the same code for both engines, may move between threads.
#[derive(Debug)]
pub struct Handle(Mutex<State>);

#[derive(Debug)]
struct State {
    connection: Connection,
    /// Whether a statement of this script has failed.
    failed: bool,
}

impl Handle {
    pub(super) fn new(connection: Connection) -> Handle {
        Handle(Mutex::new(State {
            connection,
            failed: false,
        }))
    }

    /// The connection itself, for work outside of scripts.
    pub(super) fn connection(&mut self) -> &mut Connection {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        &mut state.connection
    }

    /// The same through a shared handle.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&self.lock().connection)
    }

    /// Runs a statement outside of scripts; returns how many rows it changed.
    ///
    /// # Errors
    /// The SQLite error, in the service's terms.
    pub(super) fn execute(&self, statement: &str, params: impl Params) -> Result<usize, Error> {
        self.with(|connection| connection.prepare_cached(statement)?.execute(params))
            .map_err(to_domain)
    }

    /// Starts another script.
    pub(super) fn begin(&self) {
        self.lock().failed = false;
    }

    /// Runs a call. After one that failed, no other runs until the next script, as in a PostgreSQL transaction.
    ///
    /// # Errors
    /// The SQLite error, in the service's terms; the error of a rule on the answer.
    pub fn run<A: RowCollector, const N: usize>(
        &self,
        call: Call<'_, A, N>,
    ) -> Result<A::Out, ScriptError> {
        let mut state = self.lock();
        if state.failed {
            return Err(Error::internal("a statement after one that has failed").into());
        }
        let answer = run(&state.connection, call);
        state.failed = answer.is_err();
        answer
    }

    /// A script that panicked has left nothing broken here: its transaction is rolled back.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run<A: RowCollector, const N: usize>(
    connection: &Connection,
    call: Call<'_, A, N>,
) -> Result<A::Out, ScriptError> {
    let Call {
        statement,
        values,
        mut collector,
    } = call;
    if statement.sqlite.is_empty() {
        return Ok(collector.end(0));
    }
    let failed = |error| ScriptError::Final(to_domain(error));
    let mut prepared = connection
        .prepare_cached(statement.sqlite)
        .map_err(failed)?;
    // A text that differs between the engines may take fewer values here.
    let count = prepared.parameter_count().min(N);
    for (at, value) in values[..count].iter().enumerate() {
        prepared.raw_bind_parameter(at + 1, value).map_err(failed)?;
    }
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(failed)? {
        if !collector.row(&mut Columns::of(Row::Sqlite(row)))? {
            break;
        }
    }
    drop(rows);
    drop(prepared);
    Ok(collector.end(connection.changes()))
}
