//! Statements are prepared if the server keeps them for the connection alone, and not otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::app::App;
use invoicing::domain::holder::Holder;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::time::SystemClock;
use invoicing::store::{Sql, Store, open, team};
use openapi_dropshot_runtime::json;
use test_support::postgres::ask;

use super::pooler::{Next, Pooler};
use super::relay::{Relay, migrated};
use super::support::{Service, live_key, plain};

async fn opened(url: &str) -> Arc<Store> {
    open(&url.parse().unwrap()).await.unwrap()
}

/// A read that is repeated again and again.
async fn read(store: &Store) {
    let list = async |sql: Sql<'_>| sql.run(team::list(Default::default())).await;
    store.read(Holder::Service, list).await.unwrap();
}

/// How many statements were prepared under a name, and how many of those were run, since the last call.
fn prepared(relay: &Relay) -> (usize, usize) {
    let said: Vec<_> = relay.take().into_iter().flatten().collect();
    let count = |tag, at: usize| {
        let named = |(of, body): &&(u8, Vec<u8>)| *of == tag && body[at] != 0;
        said.iter().filter(named).count()
    };
    // The name of what is run follows that of its portal, which is empty.
    (count(b'P', 0), count(b'B', 1))
}

/// A store through a relay after one read, with what that prepared and ran.
async fn first_read(url: &str, parameters: &str, greets_anew: bool) -> (Arc<Store>, Relay) {
    let (relay, through) = Relay::before(url).await;
    if greets_anew {
        relay.greet_anew();
    }
    let store = opened(&format!("{through}{parameters}")).await;
    relay.take();
    read(&store).await;
    (store, relay)
}

#[tokio::test]
async fn a_statement_is_prepared_once_where_the_server_itself_answers() {
    let (store, relay) = first_read(&migrated().await, "", false).await;
    assert_eq!(prepared(&relay), (1, 1));
    read(&store).await;
    assert_eq!(prepared(&relay), (0, 1));
}

#[tokio::test]
async fn nothing_is_prepared_behind_a_pooler_that_greets_with_numbers_of_its_own() {
    let (store, relay) = first_read(&migrated().await, "", true).await;
    read(&store).await;
    assert_eq!(prepared(&relay), (0, 0));
}

#[tokio::test]
async fn nothing_is_prepared_behind_a_pooler_that_passes_greetings_on() {
    let url = migrated().await;
    for next in [Next::First, Next::Latest, Next::Rested] {
        let (pooler, through) = Pooler::before(&url, next).await;
        let store = opened(&through).await;
        read(&store).await;
        assert_eq!(pooler.named(), 0, "{next:?}");
    }
}

#[tokio::test]
async fn what_the_address_says_is_not_looked_into() {
    let url = migrated().await;
    let (_store, relay) = first_read(&url, "&prepared_statements=true", true).await;
    assert_eq!(prepared(&relay), (1, 1));
    let (_store, relay) = first_read(&url, "&prepared_statements=false", false).await;
    assert_eq!(prepared(&relay), (0, 0));
}

#[tokio::test]
async fn a_pool_of_one_connection_finds_out_by_another_that_it_does_not_keep() {
    let url = migrated().await;
    let (_store, relay) = first_read(&url, "&pool_size=1", false).await;
    assert_eq!(prepared(&relay), (1, 1));
    let connections = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing'";
    while ask(&url, connections) != "1" {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_later_connection_through_a_pooler_ends_it_for_all() {
    let url = migrated().await;
    let (store, relay) = first_read(&url, "", false).await;
    relay.greet_anew();
    ask(
        &url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing'",
    );
    read(&store).await;
    prepared(&relay);
    read(&store).await;
    assert_eq!(prepared(&relay), (0, 0));
}

#[tokio::test]
async fn a_statement_that_was_forgotten_is_run_all_the_same_and_none_is_prepared_from_then_on() {
    let (store, relay) = first_read(&migrated().await, "", false).await;
    relay.forget();
    read(&store).await;
    prepared(&relay);
    read(&store).await;
    assert_eq!(prepared(&relay), (0, 0));
}

#[tokio::test]
async fn a_statement_is_prepared_anew_when_a_newer_replica_has_changed_what_it_answers() {
    let url = migrated().await;
    let (store, relay) = first_read(&url, "", false).await;
    ask(&url, "ALTER TABLE team ALTER name TYPE VARCHAR(500)");
    read(&store).await;
    prepared(&relay);
    read(&store).await;
    assert_eq!(prepared(&relay), (0, 1));
}

#[tokio::test]
async fn a_plan_that_was_made_for_an_empty_table_uses_its_index() {
    const CREATES: usize = 20;
    let url = migrated().await;
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(&app, team).await.unwrap();
    // From now on, the server plans for empty tables.
    ask(&url, "ANALYZE");
    let scans =
        |kind| format!("SELECT {kind}_scan FROM pg_stat_user_tables WHERE relname = 'idempotency'");
    let before = ask(&url, &scans("seq"));
    for number in 0..CREATES {
        let body = json::Value::Object(Vec::new());
        let request = IdempotentRequest::new(number.to_string(), "POST", "/api/v1/products", &body);
        app.create_product(&key, plain("A"), Some(request))
            .await
            .unwrap();
    }
    // A server process reports its statistics when it ends, at the latest.
    drop(app);
    let begun = Instant::now();
    while ask(&url, &scans("idx")).parse::<usize>().unwrap() < CREATES {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it uses no index"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ask(&url, &scans("seq")), before);
}

/// The server compiled the check each time (JIT), which takes 26 ms of processor time even on an idle machine.
#[tokio::test]
async fn a_health_check_takes_no_time() {
    let service = Service::new().await;
    let mut shortest = Duration::MAX;
    for _ in 0..20 {
        let begun = Instant::now();
        service.app.check_health().await.unwrap();
        shortest = shortest.min(begun.elapsed());
    }
    assert!(shortest < Duration::from_millis(15), "{shortest:?}");
}
