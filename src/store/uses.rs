//! Times of last use, which requests only note in memory and the background task writes to the store together.

use uuid::Uuid;

use super::Sql;
use crate::domain::time::Timestamp;
use crate::sql::statement::Statement;
use crate::sql::{ScriptError, values};

/// Records uses. `update` takes an id and a time on SQLite, and a list of each on PostgreSQL, where it passes over rows that
/// others have locked, and returns their ids: whoever keeps a row busy must not keep all others locked meanwhile.
///
/// # Errors
/// As for every script.
pub(super) async fn record<Id: Copy + Into<Uuid> + From<Uuid>>(
    sql: Sql<'_>,
    update: &'static Statement<2>,
    uses: &[(Id, Timestamp)],
) -> Result<Vec<Id>, ScriptError> {
    if let Sql::Sqlite(_) = sql {
        for (id, time) in uses {
            let id: Uuid = (*id).into();
            sql.run(update.with(values![id, time])).await?;
        }
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = uses.iter().map(|(id, _)| (*id).into()).collect();
    let times: Vec<i64> = uses.iter().map(|(_, time)| time.as_millis()).collect();
    let busy = update.with(values![&ids[..], &times[..]]);
    sql.run(busy.all(|row| Ok(Id::from(row.take::<Uuid>()?))))
        .await
}
