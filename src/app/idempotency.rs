//! A change that is made once, however often it is asked for ([`crate::domain::idempotency`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::author::require_author;
use crate::domain::Error;
use crate::domain::author::Author;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, idempotency};

/// A change on the word of an author, which is made once if its request has a key.
///
/// Whether the author may is asked with the first statements of the change, whichever these are.
pub(super) struct Once<'a> {
    author: Author,
    request: Option<&'a IdempotentRequest>,
    now: Timestamp,
    asked: bool,
}

impl<'a> Once<'a> {
    pub(super) fn new(
        author: Author,
        request: Option<&'a IdempotentRequest>,
        now: Timestamp,
    ) -> Self {
        Once {
            author,
            request,
            now,
            asked: false,
        }
    }

    /// The question for the author, the first time.
    fn author(&mut self) -> Option<impl Batch + use<>> {
        let first = !std::mem::replace(&mut self.asked, true);
        first.then(|| require_author(self.author, self.now))
    }

    /// Runs what the change begins with.
    pub(super) async fn begin<T>(
        &mut self,
        sql: Sql<'_>,
        calls: impl Batch<Out = T>,
    ) -> Result<T, ScriptError> {
        let (_, answer) = sql.run((self.author(), calls)).await?;
        Ok(answer)
    }

    /// Claims the key of the request, and answers what the first request like this one got, if there was one.
    pub(super) async fn replayed<T: DeserializeOwned>(
        &mut self,
        sql: Sql<'_>,
    ) -> Result<Option<Outcome<T>>, ScriptError> {
        let Some(request) = self.request else {
            return Ok(None);
        };
        let claim = idempotency::claim(self.author.catalog, request, self.now);
        let Some(record) = self.begin(sql, claim).await? else {
            return Ok(None);
        };
        let Some(answer) = record.replay(request, self.now)? else {
            return Ok(None);
        };
        Ok(Some(Outcome {
            value: serde_json::from_str(&answer).map_err(Error::internal)?,
            replayed: true,
        }))
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
        let keep = self.request.zip(answer.as_ref()).map(|(request, answer)| {
            idempotency::keep(self.author.catalog, request, answer, self.now)
        });
        self.begin(sql, (change, keep)).await?;
        Ok(Outcome {
            value,
            replayed: false,
        })
    }
}
