//! A change that is made once, however often it is asked for ([`crate::domain::idempotency`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::author::Change;
use crate::domain::Error;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, idempotency};

/// A change on the word of an author, which is made once if its request has a key.
///
/// Whether the author may is asked with the first statements of the change, whichever these are.
pub(super) struct Once<'a> {
    change: &'a Change,
    request: Option<&'a IdempotentRequest>,
    asked: bool,
    /// When the record was made that was found and has expired.
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

    /// The question for the author, the first time.
    fn author(&mut self) -> Option<impl Batch + use<>> {
        let first = !std::mem::replace(&mut self.asked, true);
        first.then(|| self.change.require_author())
    }

    /// What the first request like this one got, if there was one.
    pub(super) async fn replayed<T: DeserializeOwned>(
        &mut self,
        sql: Sql<'_>,
    ) -> Result<Option<Outcome<T>>, ScriptError> {
        match self.request {
            Some(_) => Ok(self.begin(sql, ()).await?.1),
            None => Ok(None),
        }
    }

    /// Runs what the change begins with, and answers what the first request like this one got, if there was one. A row
    /// that `calls` lock is changed by one such request after the other, so the second finds the record of the first.
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

    /// Makes the change that `value` is the answer to, and keeps the answer: together.
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
            // What is refused has written nothing then, and is undone alone.
            Sql::Sqlite(_) => drop(sql.run((author, change, keep)).await?),
            // The second request of a key waits for the first here, and not at what the first has written.
            Sql::Postgres(_) => drop(sql.run((author, keep, change)).await?),
        }
        Ok(Outcome {
            value,
            replayed: false,
        })
    }
}
