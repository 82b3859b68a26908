//! The benefit of the shared commit, and its correctness: 64 concurrent clients against one at a time.
//!
//!     cargo test --release --test throughput -- --nocapture --test-threads 1
//!
//! prints both figures, measured in turns so that a busy machine slows down both alike.
//! `THROUGHPUT_WRITES` sets how many products each side of a round creates, `THROUGHPUT_ROUNDS` how many
//! rounds. The single client pays a commit for each change: the same store, the same durability.
//!
//! It also prints the benefit of reading on the async threads over `spawn_blocking` (`THROUGHPUT_READS`
//! for each side of a round); the store's choice rests on that.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::app::App;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::audit::Actor;
use invoicing::domain::catalog::Mode;
use invoicing::domain::id::ProductId;
use invoicing::domain::product::{NewProduct, StatusFilter};
use invoicing::domain::time::SystemClock;
use invoicing::sqlite::Sqlite;

const CLIENTS: usize = 64;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

fn product(sku: String) -> NewProduct {
    NewProduct {
        sku: Some(sku),
        tax_rate: Some("19".parse().unwrap()),
        product_type: Some("SERVICES".into()),
        unit_of_measure: Some("hr".into()),
        ..NewProduct::new("Consulting", "120.00".parse().unwrap(), "EUR")
    }
}

/// Creates `writes` products from as many concurrent clients. Returns how long it took, and their ids.
async fn create(
    app: &Arc<App>,
    key: &ApiKey,
    clients: usize,
    writes: usize,
    round: &str,
) -> (Duration, Vec<ProductId>) {
    let begin = Instant::now();
    let clients: Vec<_> = (0..clients)
        .map(|client| {
            let (app, key, round) = (app.clone(), key.clone(), round.to_owned());
            tokio::spawn(async move {
                let mut ids = Vec::new();
                for number in (client..writes).step_by(clients) {
                    let new = product(format!("{round}-{number}"));
                    ids.push(app.create_product(&key, new, None).await.unwrap().value.id);
                }
                ids
            })
        })
        .collect();
    let mut ids = Vec::new();
    for client in clients {
        ids.extend(client.await.unwrap());
    }
    (begin.elapsed(), ids)
}

/// Every product of the team, page by page.
async fn all(app: &App, key: &ApiKey) -> Vec<ProductId> {
    let (mut ids, mut after) = (Vec::new(), None);
    loop {
        let page = app
            .list_products(key, StatusFilter::All, 100, after.as_deref())
            .await
            .unwrap();
        ids.extend(page.items.iter().map(|product| product.id));
        after = page.next;
        if after.is_none() {
            return ids;
        }
    }
}

fn per_second(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_64_clients_are_correct_and_many_times_faster_than_one_commit_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(
        Sqlite::open(folder.path().join("invoicing.db"))
            .unwrap()
            .into(),
    );
    let app = Arc::new(
        App::new(store, Arc::new(SystemClock), "http://localhost")
            .await
            .unwrap(),
    );
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = app
        .create_api_key(
            &Actor::Operator,
            team,
            Mode::Live,
            Scope::ReadWrite,
            None,
            None,
        )
        .await
        .unwrap();

    let (writes, rounds) = (
        setting("THROUGHPUT_WRITES", 640),
        setting("THROUGHPUT_ROUNDS", 3),
    );
    let (mut alone, mut together) = (Duration::ZERO, Duration::ZERO);
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        let (time, ids) = create(&app, &key, 1, writes, &format!("alone-{round}")).await;
        alone += time;
        acknowledged.extend(ids);
        let (time, ids) = create(&app, &key, CLIENTS, writes, &format!("together-{round}")).await;
        together += time;
        acknowledged.extend(ids);
    }

    let stored = all(&app, &key).await;
    assert!(
        stored.is_sorted_by(|one, next| one > next),
        "newest first, none twice"
    );
    assert_eq!(
        HashSet::<_>::from_iter(stored),
        HashSet::from_iter(acknowledged)
    );

    let (alone, together) = (
        per_second(writes * rounds, alone),
        per_second(writes * rounds, together),
    );
    let ratio = together / alone;
    println!("writes, one at a time:      {alone:8.0} a second");
    println!(
        "writes, {CLIENTS} clients at once: {together:8.0} a second, {ratio:.1} times as many"
    );
    // A loose bound: a disk that answers at once leaves little to share.
    assert!(ratio > 1.5, "{ratio}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_correct_on_the_async_threads_and_on_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(
        Sqlite::open(folder.path().join("invoicing.db"))
            .unwrap()
            .into(),
    );
    let app = Arc::new(
        App::new(store, Arc::new(SystemClock), "http://localhost")
            .await
            .unwrap(),
    );
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, _) = app
        .create_api_key(
            &Actor::Operator,
            team,
            Mode::Live,
            Scope::ReadWrite,
            None,
            None,
        )
        .await
        .unwrap();
    let (_, ids) = create(&app, &key, CLIENTS, CLIENTS, "read").await;

    let reads = setting("THROUGHPUT_READS", 6_400);
    let rounds = setting("THROUGHPUT_ROUNDS", 3);
    let (mut inline, mut handed_over) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        inline += read(&app, &key, &ids, reads, false).await;
        handed_over += read(&app, &key, &ids, reads, true).await;
    }
    let each = |time: Duration| time.as_secs_f64() * 1e6 / (reads * rounds) as f64;
    println!(
        "reads, on the async threads: {:6.1} µs of processor time each",
        each(inline)
    );
    println!(
        "reads, by spawn_blocking:    {:6.1} µs of processor time each",
        each(handed_over)
    );
}

/// The processor time that this process has used, to a hundredth of a second; zero if there is no /proc.
/// Unlike wall-clock time, it does not depend on the machine's other processes.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold anything; user and system time are the 12th and 13th after it.
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(2);
    Duration::from_millis(
        fields
            .map(|ticks| ticks.parse::<u64>().unwrap_or(0) * 10)
            .sum(),
    )
}

/// Reads products from 64 concurrent clients, on the async threads or handed over to others. Returns how
/// much processor time it took.
async fn read(
    app: &Arc<App>,
    key: &ApiKey,
    ids: &[ProductId],
    reads: usize,
    hand_over: bool,
) -> Duration {
    let begin = processor_time();
    let clients: Vec<_> = ids
        .iter()
        .map(|&id| {
            let (app, key) = (app.clone(), key.clone());
            tokio::spawn(async move {
                for _ in 0..reads / CLIENTS {
                    let product = if hand_over {
                        let (app, key) = (app.clone(), key.clone());
                        let here = tokio::runtime::Handle::current();
                        let read = move || here.block_on(app.get_product(&key, id));
                        tokio::task::spawn_blocking(read).await.unwrap()
                    } else {
                        app.get_product(&key, id).await
                    };
                    assert_eq!(product.unwrap().id, id);
                    tokio::task::yield_now().await; // As a connection does between two requests.
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    processor_time() - begin
}
