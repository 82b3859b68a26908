//! The primary is lost, or hangs, and its synchronous standby takes over.
//!
//! The URL names both servers, and the replicas are not told which one is the primary now.

use test_support::postgres::Cluster;
use tokio::task::block_in_place;

use crate::fleet::Fleet;
use crate::trial::{Rounds, endure};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_lost_under_load_is_replaced_by_its_synchronous_standby() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let (primary, standby) = pair();
        let mut fleet = fleet(&primary, &standby).await;
        endure("the primary lost", &mut fleet, seed, async |_, _| {
            block_in_place(|| {
                primary.kill();
                standby.promote();
            });
        })
        .await;
    }
}

/// It still accepts connections, but answers nothing on them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_hangs_under_load_is_replaced_by_its_synchronous_standby() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let (primary, standby) = pair();
        let mut fleet = fleet(&primary, &standby).await;
        let mut frozen = None;
        endure("the primary hangs", &mut fleet, seed, async |_, _| {
            frozen = Some(primary.freeze());
            block_in_place(|| standby.promote());
        })
        .await;
    }
}

fn pair() -> (Cluster, Cluster) {
    let primary = Cluster::start();
    let standby = primary.synchronous_standby();
    (primary, standby)
}

async fn fleet(primary: &Cluster, standby: &Cluster) -> Fleet {
    let host = format!("127.0.0.1:{}", primary.port());
    let hosts = format!("{host},127.0.0.1:{}", standby.port());
    let database = primary.database();
    let url = database.replace(&host, &hosts) + "?target_session_attrs=read-write";
    let mut fleet = Fleet::start_with(url, &[("INVOICING_RATE_LIMIT", "off")]).await;
    // The server that the test asks in the end: psql could wait for one that hangs.
    fleet.url = database.replace(&host, &format!("127.0.0.1:{}", standby.port()));
    fleet
}
