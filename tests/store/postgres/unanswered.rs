//! Commits that the server does not answer, such as while its synchronous standby is away.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::session::TokenSet;
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use slog::{Discard, Logger, o};
use test_support::postgres::{Cluster, ask};

use super::relay::{Relay, migrated};
use super::session::{Mobile, assert_reused, pair};
use super::slots::role_with;
use super::support::{Service, live_key, plain};

/// How many connections the process may make.
const CONNECTIONS: usize = 4;

/// Twice as long as a caller waits for a commit, and a little.
const LASTS: Duration = Duration::from_secs(11);

/// A service over the database at `url`.
pub async fn service(url: &str) -> Service {
    Service::on(open(&url.parse().unwrap()).await.unwrap(), None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_are_not_answered_keep_their_connections_and_reads_go_on() {
    // Nothing else may wait for the standby.
    let cluster = Cluster::start();
    let url = cluster.database();
    let limited = format!("{url}?pool_size={CONNECTIONS}");
    reads_go_on_beside_commits(&cluster, &url, &limited).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_go_on_beside_commits_where_the_server_has_fewer_slots_than_the_pool_wants() {
    let cluster = Cluster::start();
    let (url, limited) = limited(&cluster).await;
    reads_go_on_beside_commits(&cluster, &url, &limited).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_go_on_beside_commits_where_the_primary_has_few_slots_and_the_standby_is_down() {
    let cluster = Cluster::start();
    let (url, limited) = limited(&cluster).await;
    let host = format!("127.0.0.1:{}", cluster.port());
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let down = nobody.local_addr().unwrap();
    drop(nobody);
    let both = limited.replace(&host, &format!("{host},{down}"));
    let both = format!("{both}?target_session_attrs=read-write");
    reads_go_on_beside_commits(&cluster, &url, &both).await;
}

/// A new database, and how to connect to it with a role to which the server admits [`CONNECTIONS`].
async fn limited(cluster: &Cluster) -> (String, String) {
    let url = cluster.database();
    open(&url.parse().unwrap()).await.unwrap();
    let (_, limited) = role_with(CONNECTIONS, &url);
    (url, limited)
}

/// Makes changes that the server does not answer, through `limited`, which gives [`CONNECTIONS`] at most.
async fn reads_go_on_beside_commits(cluster: &Cluster, url: &str, limited: &str) {
    let store = open(&limited.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example")
        .await
        .unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let key = live_key(&app, team).await.unwrap().0;
    cluster.wait_for_standby("nobody");

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
            let url = url.to_owned();
            let open = tokio::task::spawn_blocking(move || ask(&url, count))
                .await
                .unwrap();
            assert!(open.parse::<usize>().unwrap() <= CONNECTIONS, "{open}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::join!(changes, reads);
    // A slot that is given up may be another process's the next moment.
    let since = (begun.elapsed() - Duration::from_secs(3)).as_millis();
    let late = format!("{count} AND backend_start > now() - interval '{since} milliseconds'");
    assert_eq!(ask(url, &late), "0", "connections are made anew");

    cluster.wait_for_standby("");
    app.create_product(&key, plain("A"), None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn after_an_unanswered_commit_one_that_wrote_nothing_does_not_let_all_changes_begin() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let app = &service(&url).await.app;
    cluster.wait_for_standby("nobody");
    let create = || app.create_team("Acme");
    create().await.unwrap_err();
    app.erase_successors().await.unwrap();
    let refused = tokio::join!(create(), create(), create());
    assert!(matches!(refused, (Err(_), Err(_), Err(_))), "{refused:?}");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    assert_eq!(ask(&url, waiting), "2");
}

/// S9, "If PostgreSQL carries out a refresh after": nobody was given the pair, so this is no theft.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_that_was_committed_late_can_be_repeated_for_30_seconds_from_then() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let mobile = Mobile::on(service(&url).await).await;
    let first = mobile.sign_in().await;
    pass(&mobile, 60).await;
    cluster.wait_for_standby("nobody");
    refresh_in_vain(&mobile, &first).await;
    pass(&mobile, 31).await;

    cluster.wait_for_standby("");
    // The server has answered the commit once this change has the lock.
    let second = mobile.refresh(&first.refresh_token).await.unwrap();
    pass(&mobile, 29).await;
    let again = mobile.refresh(&first.refresh_token).await.unwrap();
    assert_eq!(pair(&again), pair(&second));
    pass(&mobile, 5).await;
    assert_reused(mobile.refresh(&first.refresh_token).await);
}

/// The same, when another process has just started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_has_just_started_ends_no_grace_of_a_late_refresh() {
    let cluster = Cluster::start();
    let url = cluster.database();
    let mut mobile = Mobile::on(service(&url).await).await;
    let first = mobile.sign_in().await;
    cluster.wait_for_standby("nobody");
    refresh_in_vain(&mobile, &first).await;
    mobile.pass(40);
    cluster.wait_for_standby("");

    let store = open(&url.parse().unwrap()).await.unwrap();
    let clock = mobile.service.clock.clone();
    let another = App::new(store, clock, "https://links.example").await;
    mobile.service.app = Arc::new(another.unwrap());
    pass(&mobile, 29).await;
    mobile.refresh(&first.refresh_token).await.unwrap();
    pass(&mobile, 5).await;
    assert_reused(mobile.refresh(&first.refresh_token).await);
}

/// Every few seconds, and not only once.
#[tokio::test]
async fn the_background_tasks_keep_looking_for_late_commits() {
    let (relay, url) = Relay::before(&migrated().await).await;
    // The text of a prepared statement is sent only once.
    let app = &service(&format!("{url}&prepared_statements=false"))
        .await
        .app;
    let log = Logger::root(Discard, o!());
    let two_looks = async {
        let mut looks = 0;
        while looks < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let said = relay.take().into_iter().flatten();
            looks += said.filter(|(_, said)| says(said, "backend_xid")).count();
        }
    };
    tokio::select! {
        () = app.run_background_tasks(&log) => panic!("they end"),
        looked = tokio::time::timeout(Duration::from_secs(60), two_looks) => looked.unwrap(),
    }
}

fn says(said: &[u8], text: &str) -> bool {
    said.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Refreshes while no commit is answered.
async fn refresh_in_vain(mobile: &Mobile, tokens: &TokenSet) {
    let refused = mobile.refresh(&tokens.refresh_token).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
}

/// Lets seconds pass, and does what the background task does every five of them.
async fn pass(mobile: &Mobile, seconds: u64) {
    for passed in 0..=seconds {
        if passed > 0 {
            mobile.pass(1);
        }
        if passed % 5 == 0 {
            mobile.look_for_late_commits().await.unwrap();
            mobile.erase_successors().await.unwrap();
        }
    }
}

/// The one change that two connections have room for must not wait for a server that will never answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_are_given_up_once_their_server_has_lost_its_place_to_another() {
    let primary = Cluster::start();
    let standby = primary.synchronous_standby();
    let url = primary.database();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", primary.port(), standby.port());
    let both = url.replace(&format!("127.0.0.1:{}", primary.port()), &hosts);
    let both = format!("{both}?target_session_attrs=read-write&pool_size=2");
    let store = open(&both.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example")
        .await
        .unwrap();
    app.create_team("Acme").await.unwrap();

    primary.wait_for_standby("nobody");
    let unanswered = app.create_team("Globex").await;
    assert!(
        matches!(unanswered, Err(Error::Unavailable(_))),
        "{unanswered:?}"
    );
    let _frozen = primary.freeze();
    standby.promote();
    let begun = Instant::now();
    while let Err(error) = app.create_team("Initech").await {
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(60), "{error:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
