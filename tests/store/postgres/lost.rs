//! What can happen to a request on PostgreSQL alone: a lost connection, an order to retry, a long wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{join, join_all};
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::holder::Holder;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::time::SystemClock;
use invoicing::store::{Numbers, Sql, open, team};
use openapi_dropshot_runtime::json;
use test_support::postgres::{Locked, ask, until_lock_waits};
use tokio::time::sleep;

use super::engine::Database;
use super::relay::{Relay, migrated};
use super::support::{Service, plain, with_sku};

/// Ends every connection of the service, as a server restart does.
pub fn cut(url: &str) -> String {
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing'";
    ask(url, cut)
}

/// Makes the commit of anything that inserts into `table` do this first.
pub fn at_commit(url: &str, table: &str, action: &str) {
    ask(
        url,
        &format!(
            "CREATE SEQUENCE tries; \
             CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ \
                 BEGIN PERFORM nextval('tries'); {action}; RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED \
                 FOR EACH ROW EXECUTE FUNCTION at_commit()"
        ),
    );
}

/// An action that ends its own connection.
pub const END_IT: &str = "PERFORM pg_terminate_backend(pg_backend_pid())";

/// Waits until nothing of the service is running in the database.
pub async fn nothing_runs(url: &str) {
    let running = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing' AND state <> 'idle'";
    let begun = Instant::now();
    while ask(url, running) != "0" {
        sleep(Duration::from_millis(20)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "it still runs");
    }
}

/// How often the action was run.
pub fn tries(url: &str) -> String {
    ask(url, "SELECT last_value FROM tries")
}

/// How many connections were made to the database so far, this one included.
fn connections(url: &str) -> u64 {
    let sessions = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()";
    ask(url, sessions).parse().unwrap()
}

/// Gives connections that are made from now on this setting.
fn new_connections(url: &str, setting: &str) {
    let alter = format!("EXECUTE format('ALTER DATABASE %I {setting}', current_database())");
    let writing = "BEGIN READ WRITE";
    ask(
        url,
        &format!("{writing}; DO $$ BEGIN {alter}; END $$; COMMIT"),
    );
}

/// To replace each one that refused a change cost those who read a hundred milliseconds.
#[tokio::test]
async fn refused_changes_of_a_read_only_database_make_one_connection_a_second() {
    const CHANGES: u64 = 100;
    let service = Service::new().await;
    let key = service.writer().await;
    let url = service.database().url();
    new_connections(url, "SET default_transaction_read_only = on");
    cut(url);
    let (before, begun) = (connections(url), Instant::now());
    for _ in 0..CHANGES {
        let refused = service.app.create_product(&key, plain("A"), None).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    }
    let made = connections(url) - before;
    // Those that were cut come anew, too.
    let few = 20 + 2 * begun.elapsed().as_secs();
    assert!(
        made <= few && few < CHANGES,
        "{made} in {:?}",
        begun.elapsed()
    );
}

/// They are read-only for as long as they last, and one a second was replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_connections_are_replaced_together_once_changes_are_taken_again() {
    const CONNECTIONS: usize = 8;
    let service = Service::new().await;
    let key = service.writer().await;
    let url = service.database().url();
    new_connections(url, "SET default_transaction_read_only = on");
    cut(url);
    let locked = Locked::all(url);
    let reads: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let app = service.app.clone();
            tokio::spawn(async move { app.list_teams(Default::default()).await })
        })
        .collect();
    until_lock_waits(url, CONNECTIONS).await;
    drop(locked);
    for read in reads {
        read.await.unwrap().unwrap();
    }
    new_connections(url, "RESET default_transaction_read_only");
    let begun = Instant::now();
    while service.app.check_health().await.is_err() {
        sleep(Duration::from_millis(50)).await;
        assert!(begun.elapsed() < Duration::from_secs(4), "it stays unready");
    }
    let made = service.app.create_product(&key, plain("A"), None).await;
    made.unwrap();
}

#[tokio::test]
async fn requests_go_on_after_their_connections_were_cut() {
    let service = Service::new().await;
    let key = service.writer().await;
    for _ in 0..5 {
        cut(service.database().url());
        let made = service.app.create_product(&key, plain("A"), None);
        let id = made.await.unwrap().value.id;
        cut(service.database().url());
        service.app.get_product(&key, id).await.unwrap();
    }
    assert_eq!(service.database().rows("product"), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_connection_is_cut_in_the_middle_happens_once() {
    let service = Service::new().await;
    let key = service.writer().await;
    let locked = Locked::all(service.database().url());
    let app = service.app.clone();
    let change = tokio::spawn(async move { app.create_product(&key, plain("A"), None).await });
    until_lock_waits(service.database().url(), 1).await;
    cut(service.database().url());
    drop(locked);
    change.await.unwrap().unwrap();
    assert_eq!(service.database().rows("product"), 1);
}

#[tokio::test]
async fn a_commit_that_the_server_rolled_back_is_tried_again() {
    let service = Service::new().await;
    let url = service.database().url();
    at_commit(
        url,
        "team",
        "IF currval('tries') < 3 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF",
    );
    service.app.create_team("Acme").await.unwrap();
    assert_eq!(
        (tries(url).as_str(), service.database().rows("team")),
        ("3", 1)
    );
}

#[tokio::test]
async fn a_commit_that_nobody_answered_is_unavailable_and_not_tried_again() {
    let service = Service::new().await;
    let url = service.database().url();
    at_commit(url, "team", END_IT);
    let made = service.app.create_team("Acme").await;
    assert!(matches!(made, Err(Error::Unavailable(_))), "{made:?}");
    assert_eq!(tries(url), "1");
}

/// A statement sent along with the BEGIN of its transaction runs on its own if that fails, so it must not
/// be repeated.
#[tokio::test]
async fn a_change_whose_transaction_does_not_begin_is_unavailable_and_not_tried_again() {
    let (relay, through) = Relay::before(&migrated().await).await;
    let unprepared = format!("{through}&prepared_statements=false");
    let store = open(&unprepared.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    relay.begin_nothing();
    relay.take();
    let made = app.create_team("Acme").await;
    assert!(matches!(made, Err(Error::Unavailable(_))), "{made:?}");
    // Once, and then the end of the transaction that never started.
    assert_eq!(relay.take().len(), 2);
    assert_eq!(app.list_teams(Default::default()).await.unwrap().len(), 1);
}

/// Waiting for a query's answer blocks the thread: requests go on beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_does_not_come_free_is_unavailable_in_time_and_leaves_nothing_behind() {
    let service = Service::new().await;
    let key = service.writer().await;
    let url = service.database().url();
    let locked = Locked::all(url);
    let begun = Instant::now();
    let change = service.app.create_product(&key, plain("A"), None).await;
    assert!(matches!(change, Err(Error::Unavailable(_))), "{change:?}");
    let read = service.app.list_teams(Default::default()).await;
    assert!(matches!(read, Err(Error::Unavailable(_))), "{read:?}");
    assert!(begun.elapsed() < Duration::from_secs(12), "{begun:?}");
    // The client gave up the read, and the server was told.
    nothing_runs(url).await;
    drop(locked);
    assert!(
        service
            .app
            .create_product(&key, plain("A"), None)
            .await
            .is_ok()
    );
    assert_eq!(service.database().rows("product"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_would_wait_for_each_other_for_ever_end_as_the_rules_say() {
    let service = Service::new().await;
    let key = service.writer().await;
    let (mut ids, mut changes) = (Vec::new(), Vec::new());
    for sku in ["A", "B"] {
        let made = service.app.create_product(&key, with_sku(sku), None);
        ids.push(made.await.unwrap().value.id);
    }
    for (id, sku) in ids.into_iter().zip(["B", "A"]) {
        let (app, key) = (service.app.clone(), key.clone());
        changes.push(tokio::spawn(async move {
            app.update_product(&key, id, super::product_sku::sku(sku), None)
                .await
        }));
    }
    for change in changes {
        let result = change.await.unwrap();
        assert!(matches!(result, Err(Error::DuplicateSku)), "{result:?}");
    }
}

/// The message is that of an engine that spreads tables over shards.
#[tokio::test]
async fn a_sku_is_taken_also_when_only_the_message_names_the_index_of_a_shard() {
    let service = Service::new().await;
    let key = service.writer().await;
    ask(
        service.database().url(),
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'duplicate key value violates unique constraint \"product_sku_102008\"' \
                 USING ERRCODE = '23505'; \
         END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON product FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let made = service.app.create_product(&key, with_sku("A"), None).await;
    assert!(matches!(made, Err(Error::DuplicateSku)), "{made:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_makes_no_more_connections_than_it_may() {
    let database = Database::new();
    let joint = if database.url().contains('?') {
        '&'
    } else {
        '?'
    };
    let url = format!("{}{joint}pool_size=2", database.url());
    let store = open(&url.parse().unwrap()).await.unwrap();
    let requests: Vec<_> = (0..50)
        .map(|_| {
            let store = Arc::clone(&store);
            let list = async |sql: Sql<'_>| sql.run(team::list(Default::default())).await;
            tokio::spawn(async move { store.read(Holder::Service, list).await })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap().unwrap(), []);
    }
    let connections = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing'";
    // Behind a pooler there may be only one.
    let count: usize = ask(database.url(), connections).parse().unwrap();
    assert!((1..=2).contains(&count), "{count}");
}

/// Of two servers that keep an answer under one key, the second starts again, and replays what the first did. To connect anew
/// would take it longer than that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_race_under_the_same_idempotency_keys_keep_their_connections() {
    let service = Service::new().await;
    let key = service.writer().await;
    let other = service.another().await;
    let retries = |app: &App| match app.store_numbers() {
        Numbers::Postgres(numbers) => numbers.counts.retries.get(),
        Numbers::Sqlite(_) => panic!("the store is on PostgreSQL"),
    };
    let connections = || {
        let list = "SELECT pid FROM pg_stat_activity \
             WHERE datname = current_database() AND application_name = 'invoicing'";
        let list = ask(service.database().url(), list);
        list.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let mut before = BTreeSet::new();
    for round in 0.. {
        let create = async |app: &App, number: usize| {
            let body = json::Value::Number("1");
            let request = format!("{round}-{number}");
            let request = IdempotentRequest::new(&request, "POST", "/api/v1/products", &body);
            let product = app.create_product(&key, plain("Raced"), Some(request));
            product.await.unwrap().value.id
        };
        let all = |app| join_all((0..30).map(move |number| create(app, number)));
        let (one, two) = join(all(&service.app), all(&other)).await;
        assert_eq!(one, two);
        if round == 0 {
            before = connections();
        }
        if retries(&service.app) + retries(&other) > 200 {
            break;
        }
        assert!(round < 1_000, "hardly any request has met another");
    }
    let after = connections();
    assert!(before.is_subset(&after), "{before:?} {after:?}");
}
