//! A process killed in the middle of concurrent writes: nothing acknowledged is lost, nothing half done
//! is visible, and every idempotency key still replays.
//!
//! Each round starts this very binary again as a writer with 64 clients, reads what it acknowledges,
//! kills it (SIGKILL) at a different point, and looks at what is left. `CRASH_ROUNDS` sets how many.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use invoicing::app::App;
use invoicing::app::api_key::{ApiKey, Mode, Scope};
use invoicing::app::idempotency::IdempotentRequest;
use invoicing::app::product::{NewProduct, Product, StatusFilter};
use invoicing::app::time::SystemClock;
use invoicing::store::sqlite::Sqlite;

const CLIENTS: usize = 64;
const DATABASE: &str = "CRASH_DATABASE";
const ROUND: &str = "CRASH_ROUND";
const KEY: &str = "CRASH_KEY";

async fn open(path: &Path) -> Arc<App> {
    let store = Arc::new(Sqlite::open(path).unwrap());
    Arc::new(
        App::new(store, Arc::new(SystemClock), "http://localhost")
            .await
            .unwrap(),
    )
}

/// Creates the product called `name` under an idempotency key of the same name.
async fn create(app: &App, key: &ApiKey, name: &str) -> (Product, bool) {
    let product = NewProduct {
        name: name.into(),
        unit_price: "1".parse().unwrap(),
        currency: "EUR".into(),
        description: None,
        sku: Some(name.into()),
        tax_rate: None,
        product_type: None,
        unit_of_measure: None,
    };
    let request = IdempotentRequest::new(name, "POST", "/api/v1/products", "{}").unwrap();
    let outcome = app
        .create_product(key, product, Some(request))
        .await
        .unwrap();
    (outcome.value, outcome.replayed)
}

/// Every product, by name.
async fn all(app: &App, key: &ApiKey) -> HashMap<String, Product> {
    let (mut products, mut after) = (HashMap::new(), None);
    loop {
        let status = StatusFilter::All;
        let page = app
            .list_products(key, status, 100, after.as_deref())
            .await
            .unwrap();
        for product in page.items {
            assert!(
                products.insert(product.name.clone(), product).is_none(),
                "twice"
            );
        }
        after = page.next;
        if after.is_none() {
            return products;
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill_and_nothing_is_half_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("invoicing.db");
    let app = open(&path).await;
    let team = app.create_team("Acme").await.unwrap().id;
    let (key, secret) = app
        .create_api_key(team, Mode::Live, Scope::ReadWrite, None, None)
        .await
        .unwrap();
    drop(app);

    let rounds = std::env::var("CRASH_ROUNDS").map_or(5, |rounds| rounds.parse().unwrap());
    let mut acknowledged = HashMap::new();
    for round in 0..rounds {
        acknowledged.extend(write_and_kill(&path, secret.reveal(), round));

        let app = open(&path).await;
        let products = all(&app, &key).await;
        for (name, id) in &acknowledged {
            let found = products.get(name).map(|product| product.id.to_string());
            assert_eq!(
                found.as_ref(),
                Some(id),
                "{name} was acknowledged in or before {round}"
            );
        }
        // A product without its record, or a record without its product, would be half a change.
        for (name, product) in &products {
            assert_eq!(create(&app, &key, name).await, (product.clone(), true));
        }
        assert_eq!(all(&app, &key).await.len(), products.len());
        drop(app);
        check(&path);
    }
}

/// Starts a writer, kills it once it has acknowledged some products, and answers name and id of each.
fn write_and_kill(path: &Path, key: &str, round: usize) -> HashMap<String, String> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(DATABASE, path)
        .env(KEY, key)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut acknowledged = HashMap::new();
    let mut note = |line: String| {
        // A line that the kill cut short has no end mark.
        let words: Vec<_> = line.split(' ').collect();
        if let ["created", name, id, "."] = words[..] {
            acknowledged.insert(name.to_owned(), id.to_owned());
        }
        acknowledged.len()
    };
    let enough = 100 + 61 * round;
    while note(lines.next().expect("the writer writes until it is killed")) < enough {}
    writer.kill().unwrap();
    for line in lines {
        note(line);
    }
    writer.wait().unwrap();
    acknowledged
}

/// What SQLite itself says of the file.
fn check(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    for pragma in ["integrity_check", "foreign_key_check"] {
        let mut found = connection.prepare(&format!("PRAGMA {pragma}")).unwrap();
        let found: Vec<String> = found
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(found.is_empty() || found == ["ok"], "{pragma}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "what the other test starts and kills"]
async fn writes_until_it_is_killed() {
    let Ok(path) = std::env::var(DATABASE) else {
        return;
    };
    let variable = |name| std::env::var(name).expect(name);
    let app = open(Path::new(&path)).await;
    let key = app.authenticate_api_key(&variable(KEY)).await.unwrap();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (app, key, round) = (app.clone(), key.clone(), variable(ROUND));
            tokio::spawn(async move {
                for number in 0.. {
                    let name = format!("{round}-{client}-{number}");
                    let (product, _) = create(&app, &key, &name).await;
                    println!("created {name} {} .", product.id);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
}
