//! PostgreSQL restarts.

use test_support::postgres::Cluster;
use tokio::task::block_in_place;

use crate::fleet::Fleet;
use crate::trial::{Rounds, endure};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_restarted_fast_under_load() {
    restarted("fast").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_restarted_immediately_under_load() {
    restarted("immediate").await;
}

async fn restarted(mode: &str) {
    let name = format!("PostgreSQL restarted ({mode})");
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let cluster = Cluster::start();
        let mut fleet = Fleet::start(&cluster).await;
        endure(&name, &mut fleet, seed, async |_, _| {
            block_in_place(|| cluster.restart(mode));
        })
        .await;
    }
}
