//! A replica vanishes.

use tokio::task::block_in_place;

use test_support::postgres::Cluster;

use crate::fleet::{Fleet, REPLICAS};
use crate::trial::{Rounds, endure, others_work_on};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_killed_under_load_takes_nothing_with_it() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let cluster = Cluster::start();
        let mut fleet = Fleet::start(&cluster).await;
        let victim = usize::try_from(seed).unwrap_or_default() % REPLICAS;
        endure(
            "a replica killed",
            &mut fleet,
            seed,
            async |fleet, history| {
                fleet.replicas[victim].kill();
                others_work_on(history, victim).await;
                block_in_place(|| fleet.replicas[victim].start_again());
            },
        )
        .await;
    }
}
