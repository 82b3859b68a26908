//! Commits that the server does not answer, such as while its synchronous standby is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use test_support::postgres::{Cluster, ask};

use super::support::{live_key, plain};

/// How many connections the process may make.
const CONNECTIONS: usize = 4;

/// Twice as long as a caller waits for a commit, and a little.
const LASTS: Duration = Duration::from_secs(11);

/// Has the server wait for this standby, or for none.
fn wait_for_standby(cluster: &Cluster, name: &str) {
    let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'");
    cluster.ask("postgres", &set);
    cluster.ask("postgres", "SELECT pg_reload_conf()");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_are_not_answered_keep_their_connections_and_reads_go_on() {
    // Nothing else may wait for the standby.
    let cluster = Cluster::start();
    let url = cluster.database();
    let store = open(&format!("{url}?pool_size={CONNECTIONS}").parse().unwrap())
        .await
        .unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example")
        .await
        .unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let key = live_key(&app, team).await.unwrap().0;
    wait_for_standby(&cluster, "nobody");

    let begun = Instant::now();
    let count = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing'";
    // Some are made in groups, and some alone.
    let changes = join_all((0..3 * CONNECTIONS).map(async |number| {
        while begun.elapsed() < LASTS {
            let refused = match number % 2 {
                0 => app.create_product(&key, plain("A"), None).await.map(drop),
                _ => app.create_team("Globex").await.map(drop),
            };
            assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
            // It may have been refused at once.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }));
    let reads = async {
        while begun.elapsed() < LASTS {
            let asked = Instant::now();
            app.list_products(&key, StatusFilter::All, 1, None)
                .await
                .unwrap();
            let took = asked.elapsed();
            assert!(took < Duration::from_secs(1), "{took:?}");
            let url = url.clone();
            let open = tokio::task::spawn_blocking(move || ask(&url, count))
                .await
                .unwrap();
            assert!(open.parse::<usize>().unwrap() <= CONNECTIONS, "{open}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::join!(changes, reads);

    wait_for_standby(&cluster, "");
    app.create_product(&key, plain("A"), None).await.unwrap();
}
