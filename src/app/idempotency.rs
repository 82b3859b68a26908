//! Changes that are made once, however often they are requested ([`crate::domain::idempotency`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::author::Change;
use crate::domain::Error;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, idempotency};

/// An author's change, which is made once if its request has a key.
///
/// The author's right is checked with the first statements of the change, whichever these are.
pub(super) struct Once<'a> {
    change: &'a Change,
    request: Option<&'a IdempotentRequest>,
    asked: bool,
    /// When the record that was found was made, if it has expired.
    expired: Option<Timestamp>,
}

impl<'a> Once<'a> {
    pub(super) fn new(change: &'a Change, request: Option<&'a IdempotentRequest>) -> Self {
        Once {
            change,
            request,
            asked: false,
            expired: None,
        }
    }

    /// The check of the author's right, the first time it is called.
    fn author(&mut self) -> Option<impl Batch + use<>> {
        let first = !std::mem::replace(&mut self.asked, true);
        first.then(|| self.change.require_author())
    }

    /// As [`begin`](Once::begin), for a change that locks no row; does nothing if its request has no key.
    pub(super) async fn replayed<T: DeserializeOwned, O>(
        &mut self,
        sql: Sql<'_>,
        calls: impl Batch<Out = O>,
    ) -> Result<(Option<O>, Option<Outcome<T>>), ScriptError> {
        let Some(request) = self.request else {
            return Ok((None, None));
        };
        let (answer, replayed) = self.begin(sql, calls).await?;
        if replayed.is_some() {
            sql.run(idempotency::rely_on(self.change.author.catalog, request))
                .await?;
        }
        Ok((Some(answer), replayed))
    }

    /// Runs the first statements of the change, `calls`, and returns the answer to the first request like this one, if there
    /// was one. A row that `calls` locks is changed by such requests one after another, so the second finds the record of
    /// the first.
    pub(super) async fn begin<T: DeserializeOwned, O>(
        &mut self,
        sql: Sql<'_>,
        calls: impl Batch<Out = O>,
    ) -> Result<(O, Option<Outcome<T>>), ScriptError> {
        let find = |request| idempotency::find(self.change.author.catalog, request);
        let find = self.request.map(find);
        let (_, answer, record) = sql.run((self.author(), calls, find)).await?;
        let (Some(record), Some(request)) = (record.flatten(), self.request) else {
            return Ok((answer, None));
        };
        self.expired = Some(record.created_at);
        let Some(first) = record.replay(request, self.change.now)? else {
            return Ok((answer, None));
        };
        let value = serde_json::from_str(&first).map_err(Error::internal)?;
        let replayed = true;
        Ok((answer, Some(Outcome { value, replayed })))
    }

    /// Makes the change that `value` is the answer to, and keeps the answer, in one transaction.
    pub(super) async fn make<T: Serialize>(
        mut self,
        sql: Sql<'_>,
        value: T,
        change: impl Batch,
    ) -> Result<Outcome<T>, ScriptError> {
        let answer = self.request.map(|_| serde_json::to_string(&value));
        let answer = answer.transpose().map_err(Error::internal)?;
        let author = self.author();
        let (catalog, when) = (self.change.author.catalog, (self.change.now, self.expired));
        let keep = self
            .request
            .zip(answer.as_ref())
            .map(|(request, answer)| idempotency::keep(catalog, request, answer, when));
        match sql {
            // A refused change has written nothing then, and is undone alone.
            Sql::Sqlite(_) => drop(sql.run((author, change, keep)).await?),
            // The second request with a key waits for the first here, and not at the rows that the first has written.
            Sql::Postgres(_) => drop(sql.run((author, keep, change)).await?),
        }
        Ok(Outcome {
            value,
            replayed: false,
        })
    }
}
