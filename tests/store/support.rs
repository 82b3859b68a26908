//! A service over a database of its own, with a clock that the test sets.

use std::path::PathBuf;
use std::sync::Arc;

use invoicing::app::App;
use invoicing::app::time::{ManualClock, Timestamp};
use invoicing::store::Store;
use invoicing::store::sqlite::Sqlite;
use tempfile::TempDir;

/// When every test begins: 2026-11-20T21:49:00.123Z.
pub const START: Timestamp = Timestamp::from_millis(1_795_211_340_123);

/// A service over a database of its own. The database stays when the test fails.
pub struct Service {
    pub app: Arc<App>,
    pub clock: Arc<ManualClock>,
    folder: Option<TempDir>,
}

impl Service {
    pub async fn new() -> Service {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let store = open(folder.path().join("invoicing.db"));
        let app = App::new(store, clock.clone(), "https://links.example")
            .await
            .unwrap();
        Service {
            app: Arc::new(app),
            clock,
            folder: Some(folder),
        }
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.folder.as_ref().unwrap().path().join("invoicing.db")
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

/// Opens the store under test.
fn open(path: PathBuf) -> Arc<dyn Store> {
    Arc::new(Sqlite::open(path).unwrap())
}
