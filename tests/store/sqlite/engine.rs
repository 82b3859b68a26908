//! SQLite: a database is a file in a folder of the test's own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::store::{Address, Store, open};
use tempfile::TempDir;

/// A random id, and bytes of a digest's length.
pub const RANDOM_ID: &str = "randomblob(16)";
/// An id that sorts before those that are made now.
pub const RANDOM_EARLY_ID: &str = "CAST(zeroblob(2) || randomblob(14) AS BLOB)";
pub const RANDOM_DIGEST: &str = "randomblob(32)";
/// The id of a row's team, as text.
pub const TEAM_ID: &str = "hex(team_id)";

/// Marks a schema as older than it is.
pub const AGE_SCHEMA: &str = "PRAGMA user_version = 1";

/// The keys that sealed pairs are wrapped under.
pub const PAIR_KEYS: &str = "grace_key";

/// A test's own database.
pub struct Database {
    folder: TempDir,
}

impl Database {
    pub fn new() -> Database {
        Database {
            folder: TempDir::new().unwrap(),
        }
    }

    /// One that has the newest schema once it is opened.
    pub fn migrated() -> Database {
        Database::new()
    }

    /// Opens the store on it, as every process does.
    pub async fn open(&self) -> Arc<Store> {
        open(&self.address()).await.unwrap()
    }

    /// Its address.
    pub fn address(&self) -> Address {
        Address::sqlite(self.path())
    }

    /// How many rows a table has; a condition may follow its name.
    pub fn rows(&self, table: &str) -> i64 {
        self.value(&format!("SELECT count(*) FROM {table}"))
    }

    /// Changes rows in a way in which nothing in the service does.
    pub fn change(&self, statement: &str) {
        let database = rusqlite::Connection::open(self.path()).unwrap();
        database.execute_batch(statement).unwrap();
    }

    /// The bytes that a query returns.
    pub fn bytes(&self, query: &str) -> Vec<u8> {
        self.value(query)
    }

    /// Whether the bytes are anywhere in the database's files, once the log is checkpointed.
    pub fn keeps(&self, bytes: &[u8]) -> bool {
        // The store itself may be checkpointing.
        let begun = Instant::now();
        while self.value::<i64>("PRAGMA wal_checkpoint(TRUNCATE)") != 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it stays busy");
            std::thread::sleep(Duration::from_millis(5));
        }
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.into_iter().any(|file| {
            let file = std::fs::read(file.unwrap().path()).unwrap();
            file.windows(bytes.len()).any(|window| window == bytes)
        })
    }

    /// Keeps the database for those who investigate why a test failed. Returns where it is.
    pub fn keep(self) -> String {
        self.folder.keep().display().to_string()
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("invoicing.db")
    }

    fn value<T: rusqlite::types::FromSql>(&self, query: &str) -> T {
        let database = rusqlite::Connection::open(self.path()).unwrap();
        database.query_row(query, [], |row| row.get(0)).unwrap()
    }
}
