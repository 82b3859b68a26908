//! The primary is lost, and its synchronous standby takes over.

use test_support::postgres::Cluster;
use tokio::task::block_in_place;

use crate::fleet::Fleet;
use crate::trial::{Rounds, endure};

/// The URL names both servers, and nobody tells the replicas which one it is now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_standby_takes_over_under_load() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let primary = Cluster::start();
        let standby = primary.synchronous_standby();
        let database = primary.database();
        let host = format!("127.0.0.1:{}", primary.port());
        let hosts = format!("{host},127.0.0.1:{}", standby.port());
        let url = database.replace(&host, &hosts) + "?target_session_attrs=read-write";
        let mut fleet = Fleet::start_with(url, &[("INVOICING_RATE_LIMIT", "off")]).await;
        endure("the primary lost", &mut fleet, seed, async |_, _| {
            block_in_place(|| {
                primary.kill();
                standby.promote();
            });
        })
        .await;
    }
}
