//! A revocation does not slip in between the question whether a key is valid and the commit of what is changed on its
//! word.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::app::App;
use invoicing::domain::api_key::{Mode, Scope};
use invoicing::domain::time::SystemClock;
use invoicing::store::{Sql, api_key, open};
use test_support::postgres::ask;

use super::relay::{Relay, migrated};
use super::support::{START, plain};

/// How long the answers of the database are on their way to the replica that changes something.
const FAR: Duration = Duration::from_millis(200);

async fn app(url: &str) -> App {
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    app.await.unwrap()
}

#[tokio::test]
async fn who_revokes_a_key_waits_for_what_is_being_changed_on_its_word() {
    let url = migrated().await;
    let near = app(&url).await;
    let team = near.create_team("Acme").await.unwrap().id;
    let made = near.create_api_key(team, Mode::Live, Scope::ReadWrite, None, None);
    let (key, _) = made.await.unwrap();

    let store = open(&url.parse().unwrap()).await.unwrap();
    let (_relay, through) = Relay::slow(&url, FAR).await;
    let (far, caller) = (app(&through).await, key.clone());
    let create = tokio::spawn(async move { far.create_product(&caller, plain("A"), None).await });
    let changing = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND state = 'idle in transaction'";
    let begun = Instant::now();
    while ask(&url, changing) != "1" {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
    }
    let revoke = async move |sql: Sql<'_>| sql.run(api_key::revoke(key.id, START)).await;
    store.write(revoke).await.unwrap();
    let products = || ask(&url, "SELECT count(*) FROM product");
    let then = products();
    create.await.unwrap().unwrap();
    assert_eq!((then, products()), ("1".into(), "1".into()));
}
