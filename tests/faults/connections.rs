//! Connections are cut, blocked, or unavailable.

use std::time::Duration;

use test_support::load::History;
use test_support::postgres::Cluster;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::fleet::Fleet;
use crate::trial::{Rounds, endure};

/// How long a fault lasts: longer than a replica keeps trying for a request, so that some are answered 503.
const LASTS: Duration = Duration::from_secs(6);

/// How often connections are cut.
const CUTS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_cut_in_the_middle_of_transactions() {
    // Those of the replicas that are running a statement, or have a transaction open.
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
        WHERE application_name = 'invoicing' AND state <> 'idle'";
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let cluster = Cluster::start();
        let mut fleet = Fleet::start(&cluster).await;
        endure("connections cut", &mut fleet, seed, async |fleet, _| {
            let cut = |_| fleet.ask(cut).parse::<usize>().unwrap();
            let cut: usize = block_in_place(|| (0..CUTS).map(cut).sum());
            assert!(cut > CUTS, "only {cut} connections were cut");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_holds_the_tables_exhausts_the_pools() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let cluster = Cluster::start();
        let url = cluster.database();
        let small = format!("{url}?pool_size=2");
        let mut fleet = Fleet::start_with(small, &[("INVOICING_RATE_LIMIT", "off")]).await;
        // The test itself asks without a pool.
        fleet.url = url;
        let history = endure("tables locked", &mut fleet, seed, async |fleet, _| {
            let _holder = lock_tables(&fleet.url).await;
            sleep(LASTS).await;
        })
        .await;
        assert_unavailable(&history);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_admits_no_connection() {
    let mut rounds = Rounds::begin().await;
    while let Some(seed) = rounds.next() {
        let cluster = Cluster::start_with("-c max_connections=30");
        let mut fleet = Fleet::start(&cluster).await;
        let history = endure("no connection left", &mut fleet, seed, async |fleet, _| {
            let _taken = take_all_connections(&fleet.url).await;
            sleep(LASTS).await;
        })
        .await;
        assert_unavailable(&history);
    }
}

/// Locks the tables until the returned connection ends. The server grants the locks one after another, so a change that
/// has one of them may meanwhile wait for another: this gives up before that counts as a deadlock, and starts again.
async fn lock_tables(url: &str) -> Client {
    let holder = connect(url).await.unwrap();
    let lock = "BEGIN; SET LOCAL lock_timeout = '100ms'; \
        LOCK TABLE idempotency, product, session IN ACCESS EXCLUSIVE MODE";
    let end = Instant::now() + LASTS;
    while let Err(error) = holder.batch_execute(lock).await {
        assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE));
        assert!(
            Instant::now() < end,
            "somebody always had one of the tables"
        );
        holder.batch_execute("ROLLBACK").await.unwrap();
    }
    holder
}

/// Takes every connection that the server admits, those of the replicas first.
async fn take_all_connections(url: &str) -> Vec<Client> {
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'invoicing'";
    let others = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'invoicing'";
    let mut taken = vec![connect(url).await.unwrap()];
    let end = Instant::now() + LASTS;
    while !taken[0].query(others, &[]).await.unwrap().is_empty() || taken.len() == 1 {
        assert!(Instant::now() < end, "the replicas were always faster");
        taken[0].execute(cut, &[]).await.unwrap();
        loop {
            match connect(url).await {
                Ok(client) => taken.push(client),
                Err(error) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    taken
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Without a 503, the fault had no effect. A refused client learns that it may try again, but not why.
fn assert_unavailable(history: &History) {
    let operations = history.operations();
    let answers = operations.iter().filter_map(|one| one.answer.as_ref());
    let refused: Vec<_> = answers.filter(|answer| answer.status == 503).collect();
    assert!(!refused.is_empty(), "no request was answered 503");
    for answer in refused {
        let body = answer.json();
        let message = &body["error"]["message"];
        let said = message.as_str().or(body["error_description"].as_str());
        assert_eq!(said, Some("The service cannot answer in time; try again"));
    }
}
