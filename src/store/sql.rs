//! A script's handle on the database, and calls that travel together.

use std::vec::IntoIter;

use crate::domain::Error;
use crate::postgres::{self, Rows, Sent};
use crate::sql::value::{Columns, Row};
use crate::sql::{Call, RowCollector, ScriptError};
use crate::sqlite;

/// A script's handle on the database, on either engine.
#[derive(Clone, Copy)]
pub enum Sql<'a> {
    /// On SQLite.
    Sqlite(&'a sqlite::Handle),
    /// On PostgreSQL.
    Postgres(&'a postgres::Handle),
}

impl Sql<'_> {
    /// Runs a call, or several that travel together: in one round trip, in order. If one fails, or a rule on its answer
    /// does, that is the result for all of them, and no later call takes effect.
    ///
    /// # Errors
    /// [`ScriptError`]: pass it on with `?`.
    pub async fn run<B: Batch>(self, calls: B) -> Result<B::Out, ScriptError> {
        match self {
            Sql::Sqlite(handle) => calls.on_sqlite(handle),
            Sql::Postgres(handle) => {
                let answers = {
                    let mut sent = Vec::new();
                    calls.send(&mut sent);
                    match sent.is_empty() {
                        true => Vec::new(),
                        false => handle.run(&sent).await?,
                    }
                };
                calls.receive(&mut answers.into_iter())
            }
        }
    }
}

/// Calls that travel together: one, or a tuple of them; `None` is a call that is not made.
pub trait Batch {
    /// The answer of each.
    type Out;

    /// Runs them on SQLite.
    ///
    /// # Errors
    /// The first failure.
    fn on_sqlite(self, handle: &sqlite::Handle) -> Result<Self::Out, ScriptError>;

    /// Appends their statements for PostgreSQL to `into`.
    fn send<'b>(&'b self, into: &mut Vec<Sent<'b>>);

    /// Converts PostgreSQL's answers.
    ///
    /// # Errors
    /// The first failure.
    fn receive(
        self,
        from: &mut IntoIter<Result<Rows, ScriptError>>,
    ) -> Result<Self::Out, ScriptError>;

    /// The same calls, with `rule` applied to their answer. If it refuses, no call that travels behind them takes effect:
    /// SQLite does not make it, and PostgreSQL rolls it back.
    fn rule<T, F: FnOnce(Self::Out) -> Result<T, Error>>(self, rule: F) -> Ruled<Self, F>
    where
        Self: Sized,
    {
        Ruled(self, rule)
    }

    /// As [`rule`](Batch::rule), with a rule that may ask for another attempt.
    fn rule_or_retry<T, F: FnOnce(Self::Out) -> Result<T, ScriptError>>(
        self,
        rule: F,
    ) -> Ruled<Self, F>
    where
        Self: Sized,
    {
        Ruled(self, rule)
    }
}

/// Calls with a rule on their answer.
#[must_use = "nothing happens until a script runs it"]
pub struct Ruled<B, F>(B, F);

impl<B: Batch, T, E: Into<ScriptError>, F: FnOnce(B::Out) -> Result<T, E>> Batch for Ruled<B, F> {
    type Out = T;

    fn on_sqlite(self, handle: &sqlite::Handle) -> Result<T, ScriptError> {
        (self.1)(self.0.on_sqlite(handle)?).map_err(E::into)
    }

    fn send<'b>(&'b self, into: &mut Vec<Sent<'b>>) {
        self.0.send(into);
    }

    fn receive(self, from: &mut IntoIter<Result<Rows, ScriptError>>) -> Result<T, ScriptError> {
        (self.1)(self.0.receive(from)?).map_err(E::into)
    }
}

impl<A: RowCollector, const N: usize> Batch for Call<'_, A, N> {
    type Out = A::Out;

    fn on_sqlite(self, handle: &sqlite::Handle) -> Result<A::Out, ScriptError> {
        handle.run(self)
    }

    fn send<'b>(&'b self, into: &mut Vec<Sent<'b>>) {
        if !self.statement.postgres.is_empty() {
            into.push(Sent {
                text: self.statement.postgres,
                many: self.statement.many,
                values: &self.values,
            });
        }
    }

    fn receive(
        mut self,
        from: &mut IntoIter<Result<Rows, ScriptError>>,
    ) -> Result<A::Out, ScriptError> {
        if self.statement.postgres.is_empty() {
            return Ok(self.collector.end(0));
        }
        let unanswered = || Err(Error::internal("a statement has no answer").into());
        let (rows, changed) = from.next().unwrap_or_else(unanswered)?;
        for row in rows.iter() {
            if !self.collector.row(&mut Columns::of(Row::Postgres(row)))? {
                break;
            }
        }
        Ok(self.collector.end(changed))
    }
}

impl<B: Batch> Batch for Option<B> {
    type Out = Option<B::Out>;

    fn on_sqlite(self, handle: &sqlite::Handle) -> Result<Self::Out, ScriptError> {
        self.map(|calls| calls.on_sqlite(handle)).transpose()
    }

    fn send<'b>(&'b self, into: &mut Vec<Sent<'b>>) {
        if let Some(calls) = self {
            calls.send(into);
        }
    }

    fn receive(
        self,
        from: &mut IntoIter<Result<Rows, ScriptError>>,
    ) -> Result<Self::Out, ScriptError> {
        self.map(|calls| calls.receive(from)).transpose()
    }
}

impl<B: Batch> Batch for Vec<B> {
    type Out = Vec<B::Out>;

    fn on_sqlite(self, handle: &sqlite::Handle) -> Result<Self::Out, ScriptError> {
        self.into_iter()
            .map(|calls| calls.on_sqlite(handle))
            .collect()
    }

    fn send<'b>(&'b self, into: &mut Vec<Sent<'b>>) {
        self.iter().for_each(|calls| calls.send(into));
    }

    fn receive(
        self,
        from: &mut IntoIter<Result<Rows, ScriptError>>,
    ) -> Result<Self::Out, ScriptError> {
        self.into_iter().map(|calls| calls.receive(from)).collect()
    }
}

impl Batch for () {
    type Out = ();

    fn on_sqlite(self, _: &sqlite::Handle) -> Result<(), ScriptError> {
        Ok(())
    }

    fn send<'b>(&'b self, _: &mut Vec<Sent<'b>>) {}

    fn receive(self, _: &mut IntoIter<Result<Rows, ScriptError>>) -> Result<(), ScriptError> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($call:ident)+))+) => {$(
        #[expect(non_snake_case, reason = "each is named after its type")]
        impl<$($call: Batch),+> Batch for ($($call,)+) {
            type Out = ($($call::Out,)+);

            fn on_sqlite(self, handle: &sqlite::Handle) -> Result<Self::Out, ScriptError> {
                let ($($call,)+) = self;
                Ok(($($call.on_sqlite(handle)?,)+))
            }

            fn send<'b>(&'b self, into: &mut Vec<Sent<'b>>) {
                let ($($call,)+) = self;
                $($call.send(into);)+
            }

            fn receive(self, from: &mut IntoIter<Result<Rows, ScriptError>>) -> Result<Self::Out, ScriptError> {
                let ($($call,)+) = self;
                Ok(($($call.receive(from)?,)+))
            }
        }
    )+};
}

tuples! { (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) }
