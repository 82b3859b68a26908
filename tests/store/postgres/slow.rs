//! Whose rows take long to find, as those that are on a slow disk, keeps nobody else waiting for long.

use std::sync::Arc;
use std::time::Duration;

use invoicing::app::App;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::id::ProductId;
use invoicing::domain::product::ProductChanges;
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use test_support::postgres::ask;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::relay::migrated;
use super::support::{live_key, plain};

/// How many requests the team whose rows are slow makes at a time: more than are made together.
const AT_ONCE: u128 = 96;

/// The team whose rows are slow.
const SLOW: Uuid = Uuid::from_u128(1);

/// What the others' requests take in the middle, at most: each row of the slow team takes 20 ms, and with sixty of these the
/// others would wait for a second.
const MOST: Duration = Duration::from_millis(250);

/// An app, a key of a team, and one of another, whose products each take a while to find.
async fn app() -> (Arc<App>, ApiKey, ApiKey) {
    let url = migrated().await;
    let slow = format!(
        "CREATE FUNCTION found(team uuid) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN \
             IF team = '{SLOW}' THEN PERFORM pg_sleep(0.02); END IF; RETURN true; END $$; \
         ALTER TABLE product RENAME TO product_row; \
         CREATE VIEW product AS SELECT * FROM product_row WHERE found(team_id); \
         INSERT INTO team (id, name, created_at) VALUES ('{SLOW}', 'Slow', 0); \
         INSERT INTO product_row (team_id, mode, id, name, unit_price, currency, status, created_at, updated_at) \
             SELECT '{SLOW}', 'live', lpad(to_hex(it), 32, '0')::uuid, 'it', 1, 'EUR', 'active', 0, 0 \
             FROM generate_series(0, {AT_ONCE} - 1) AS it"
    );
    ask(&url, &slow);
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = Arc::new(app.await.unwrap());
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(&app, team).await.unwrap();
    let (slow, _) = live_key(&app, SLOW.into()).await.unwrap();
    (app, key, slow)
}

/// How many requests in a row are looked at.
const IN_A_ROW: usize = 15;

/// How long `one` request takes in the middle of some, whether it succeeds or not, while the slow team makes `others` all the
/// time: once that is less than [`MOST`], as it is found within seconds that the database waits, or after half a minute.
async fn in_the_middle<T>(one: impl AsyncFn() -> T, others: JoinSet<()>) -> Duration {
    let (mut took, begun) = (Vec::new(), Instant::now());
    loop {
        let asked = Instant::now();
        one().await;
        took.push(asked.elapsed());
        sleep(Duration::from_millis(20)).await;
        let Some(last) = took.last_chunk::<IN_A_ROW>() else {
            continue;
        };
        let mut last = *last;
        last.sort();
        let middle = last[IN_A_ROW / 2];
        if middle < MOST || begun.elapsed() > Duration::from_secs(30) {
            drop(others);
            return middle;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lookups_of_a_team_whose_rows_are_slow_keep_no_other_team_waiting() {
    let (app, key, slow) = app().await;
    let made = app.create_product(&key, plain("it"), None).await;
    let id = made.unwrap().value.id;
    let mut others = JoinSet::new();
    for number in 0..AT_ONCE {
        let id = ProductId::from(Uuid::from_u128(number));
        let (app, slow) = (Arc::clone(&app), slow.clone());
        others.spawn(async move {
            loop {
                // Some wait for too long.
                _ = app.get_product(&slow, id).await;
            }
        });
    }
    let get = async || app.get_product(&key, id).await;
    let took = in_the_middle(get, others).await;
    assert!(took < MOST, "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_team_whose_rows_are_slow_keep_no_other_team_waiting() {
    let (app, key, slow) = app().await;
    let mut others = JoinSet::new();
    for number in 0..AT_ONCE {
        let id = ProductId::from(Uuid::from_u128(number));
        let (app, slow) = (Arc::clone(&app), slow.clone());
        others.spawn(async move {
            loop {
                let changes = ProductChanges {
                    name: Some(format!("its {number}")),
                    ..ProductChanges::default()
                };
                _ = app.update_product(&slow, id, changes, None).await;
            }
        });
    }
    let create = async || app.create_product(&key, plain("it"), None).await;
    let took = in_the_middle(create, others).await;
    assert!(took < MOST, "{took:?}");
}
