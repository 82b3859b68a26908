//! Finds out whether the server waits for its disk while statements of ours take long: a server without a free core is slow,
//! too, and then it would only have more to do if everybody went alone ([`slow`](super::slow)).

use std::sync::Weak;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::connections::Connections;
use super::handle::Handle;
use super::slots::Purpose;
use super::statements::Sent;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;

/// How often in a row the server is asked, and how often it has to wait for the disk of these times.
const TIMES: u32 = 10;
const ENOUGH: u32 = 5;

/// The time between two questions, and before it is asked again if it did not wait for the disk.
const EVERY: Duration = Duration::from_millis(50);
const AGAIN: Duration = Duration::from_secs(1);

/// How long an answer may take. One that takes longer says nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a statement of ours waits for a page now. From PostgreSQL 18 on, others may read it for a backend. (In tests, a
/// function that sleeps stands for a disk.)
const WAITS: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity \
     WHERE datname = current_database() AND usename = current_user AND state = 'active' \
     AND wait_event IN ('DataFileRead', 'AioIoCompletion', 'PgSleep'))";

/// Watches the server whenever it is in doubt why a round took long, as long as there are connections.
pub(super) async fn watch(connections: Weak<Connections>) {
    loop {
        let Some(slow) = connections.upgrade().map(|it| it.slow.clone()) else {
            return;
        };
        slow.is_in_doubt().await;
        let mut waited = 0;
        for _ in 0..TIMES {
            let Some(connections) = connections.upgrade() else {
                return;
            };
            let waits = timeout(PATIENCE, waits(&connections)).await;
            waited += u32::from(matches!(waits, Ok(Ok(true))));
            drop(connections);
            sleep(EVERY).await;
        }
        match waited >= ENOUGH {
            true => slow.disk_is_slow(),
            false => sleep(AGAIN).await,
        }
    }
}

async fn waits(connections: &Connections) -> Result<bool, ScriptError> {
    let checkout = connections.checkout(Holder::Service, Purpose::Read).await?;
    let handle = Handle::new(checkout, None);
    let sent = Sent {
        text: WAITS,
        many: None,
        values: &[],
    };
    let answers = handle.run(&[sent]).await;
    let waits = answers.and_then(|answers| {
        let (rows, _) = answers.into_iter().next().transpose()?.unwrap_or_default();
        Ok(rows
            .first()
            .map(|row| row.try_get(0))
            .transpose()?
            .unwrap_or(false))
    });
    handle.end(waits).await
}
