//! The loop on PostgreSQL: the changes of a group go through one connection concurrently, each statement sent as soon
//! as the previous one of the same change is answered. A group thus takes as many round trips as a single change.
//!
//! Two changes of a group may find the same product before either has changed it. A server would lose one of them; here
//! it costs what it would cost there, and is ignored.

use std::time::{Duration, Instant};

use deadpool_postgres::Client;
use futures::future::try_join_all;

use super::{Count, Work, failed};
use crate::dataset::BoxError;
use crate::load::{Sample, WARM_UP};
use crate::servers::by_hand_postgres::{Change, Database, once};

/// Does the work in the database at `url`, whose first process is `pid`.
///
/// # Errors
/// Any error of PostgreSQL.
pub async fn run(work: &Work, url: &str, pid: u32) -> Result<Sample, BoxError> {
    let database = Database::open(url, 1)?;
    let mut connection = database.connection().await.map_err(failed)?;
    run_for(work, &mut connection, WARM_UP, |_| ()).await?;
    let mut count = Count::begin(work.group, Some(pid))?;
    run_for(work, &mut connection, work.time(), |latency| {
        count.add(latency);
    })
    .await?;
    count.end()
}

async fn run_for(
    work: &Work,
    connection: &mut Client,
    time: Duration,
    mut committed: impl FnMut(Duration),
) -> Result<(), BoxError> {
    let mut random = fastrand::Rng::new();
    let begin = Instant::now();
    while begin.elapsed() < time {
        let group = Instant::now();
        let transaction = connection.transaction().await?;
        let changes = (0..work.group).map(|_| {
            let (change, transaction) = (work.next(&mut random), &transaction);
            async move {
                let super::Change {
                    id,
                    fields,
                    request,
                } = change?;
                let change = match id {
                    None => Change::Create(fields),
                    Some(id) => Change::Update(id, fields),
                };
                once(transaction, work.key(), request.as_ref(), &change).await
            }
        });
        try_join_all(changes).await.map_err(failed)?;
        transaction.commit().await?;
        committed(group.elapsed());
    }
    Ok(())
}
