//! A change that is made once, however often it is asked for ([`crate::domain::idempotency`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::Error;
use crate::domain::catalog::Catalog;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::time::Timestamp;
use crate::sql::Failure;
use crate::store::{Batch, Sql, idempotency};

/// A request that claims its key, if it has one, and keeps what is answered.
#[derive(Clone, Copy)]
pub(super) struct Once<'a> {
    pub catalog: Catalog,
    pub request: Option<&'a IdempotentRequest>,
    pub now: Timestamp,
}

impl Once<'_> {
    /// Claims the key, and answers what the first request like this one got, if there was one. What `before` asks travels
    /// along, and is taken; without a key, nothing travels.
    pub async fn replayed<T: DeserializeOwned>(
        self,
        sql: Sql<'_>,
        before: &mut Option<impl Batch>,
    ) -> Result<Option<Outcome<T>>, Failure> {
        let Some(request) = self.request else {
            return Ok(None);
        };
        let claim = idempotency::claim(self.catalog, request, self.now);
        let (_, record) = sql.run((before.take(), claim)).await?;
        let Some(record) = record else {
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
    pub async fn make<T: Serialize>(
        self,
        sql: Sql<'_>,
        value: T,
        change: impl Batch,
    ) -> Result<Outcome<T>, Failure> {
        let answer = self.request.map(|_| serde_json::to_string(&value));
        let answer = answer.transpose().map_err(Error::internal)?;
        let keep = self
            .request
            .zip(answer.as_ref())
            .map(|(request, answer)| idempotency::keep(self.catalog, request, answer, self.now));
        sql.run((change, keep)).await?;
        Ok(Outcome {
            value,
            replayed: false,
        })
    }
}
