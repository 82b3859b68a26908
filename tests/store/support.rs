//! A service over a database of its own, with a clock that the test sets.

use std::path::PathBuf;
use std::sync::Arc;

use invoicing::app::App;
use invoicing::app::api_key::{ApiKey, Mode, Scope};
use invoicing::app::id::TeamId;
use invoicing::app::product::NewProduct;
use invoicing::app::time::{ManualClock, Timestamp};
use invoicing::store::Store;
use invoicing::store::sqlite::Sqlite;
use tempfile::TempDir;

/// When every test begins: 2026-11-20T21:49:00.123Z.
pub const START: Timestamp = Timestamp::from_millis(1_795_211_340_123);

/// A service over a database of its own. The database stays when the test fails.
pub struct Service {
    pub app: Arc<App>,
    pub store: Arc<dyn Store>,
    pub clock: Arc<ManualClock>,
    folder: Option<TempDir>,
}

impl Service {
    pub async fn new() -> Service {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let store = open(folder.path().join("invoicing.db"));
        let app = App::new(store.clone(), clock.clone(), "https://links.example")
            .await
            .unwrap();
        Service {
            app: Arc::new(app),
            store,
            clock,
            folder: Some(folder),
        }
    }

    /// A new team's id.
    pub async fn team(&self) -> TeamId {
        self.app.create_team("Acme").await.unwrap().id
    }

    /// A key for a team's products.
    pub async fn key(&self, team: TeamId, mode: Mode, scope: Scope) -> ApiKey {
        self.app
            .create_api_key(team, mode, scope, None, None)
            .await
            .unwrap()
            .0
    }

    /// A key that may write to the live catalog of a new team.
    pub async fn writer(&self) -> ApiKey {
        self.key(self.team().await, Mode::Live, Scope::ReadWrite)
            .await
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.folder.as_ref().unwrap().path().join("invoicing.db")
    }

    /// How many rows a table has.
    pub fn rows(&self, table: &str) -> i64 {
        self.value(&format!("SELECT count(*) FROM {table}"))
    }

    /// The first value that a query answers.
    pub fn value<T: rusqlite::types::FromSql>(&self, query: &str) -> T {
        let database = rusqlite::Connection::open(self.path()).unwrap();
        database.query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// Folds the log of changes into the database file and empties it.
    pub fn fold_log(&self) {
        let busy: i64 = self.value("PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(busy, 0);
    }

    /// Whether the bytes are anywhere in the database's files, the log included.
    pub fn keeps(&self, bytes: &[u8]) -> bool {
        let files = std::fs::read_dir(self.path().parent().unwrap()).unwrap();
        files.into_iter().any(|file| {
            let file = std::fs::read(file.unwrap().path()).unwrap();
            file.windows(bytes.len()).any(|window| window == bytes)
        })
    }

    /// A second service over the same database, as another process would be.
    pub async fn another(&self) -> App {
        App::new(
            open(self.path()),
            self.clock.clone(),
            "https://links.example",
        )
        .await
        .unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let kept = self.folder.take().unwrap().keep();
            eprintln!("the database of this test is kept in {}", kept.display());
        }
    }
}

/// A product with nothing but what it must have.
pub fn plain(name: &str) -> NewProduct {
    NewProduct {
        name: name.into(),
        unit_price: "19.90".parse().unwrap(),
        currency: "EUR".into(),
        description: None,
        sku: None,
        tax_rate: None,
        product_type: None,
        unit_of_measure: None,
    }
}

/// A product with that sku.
pub fn with_sku(sku: &str) -> NewProduct {
    NewProduct {
        sku: Some(sku.into()),
        ..plain("Has a sku")
    }
}

/// Opens the store under test.
fn open(path: PathBuf) -> Arc<dyn Store> {
    Arc::new(Sqlite::open(path).unwrap())
}
