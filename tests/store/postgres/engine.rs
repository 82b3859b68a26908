//! PostgreSQL: one cluster for this process, and a database in it for each test.

use std::sync::{Arc, OnceLock};

use invoicing::store::{Address, Store, open};
use test_support::postgres::{ask, drop_database, dump, shared};
use tokio::runtime::Runtime;

use super::{partitioned, relay};

/// A random id, and bytes of a digest's length.
pub const RANDOM_ID: &str = "gen_random_uuid()";
/// An id that sorts before those that are made now.
pub const RANDOM_EARLY_ID: &str = "overlay(gen_random_uuid()::text PLACING '0000' FROM 1)::uuid";
pub const RANDOM_DIGEST: &str = "sha256(gen_random_uuid()::text::bytea)";
/// The id of a row's team, as text.
pub const TEAM_ID: &str = "team_id::text";

/// Marks a schema as older than it is.
pub const AGE_SCHEMA: &str = "UPDATE schema_version SET invoicing = 1";

/// The keys that sealed pairs are wrapped under: PostgreSQL has none.
pub const PAIR_KEYS: &str = "(SELECT 1 WHERE false) AS none";

/// A test's own database.
pub struct Database {
    url: String,
}

impl Database {
    pub fn new() -> Database {
        Database {
            url: laid_out(shared().database()),
        }
    }

    /// One with the newest schema: a copy, as all the migrations take longer than most tests.
    pub fn migrated() -> Database {
        static ORIGINAL: OnceLock<String> = OnceLock::new();
        let original = ORIGINAL.get_or_init(|| {
            let url = laid_out(relay::past_any_pooler());
            let address = url.parse().unwrap();
            // A runtime that ends, and with it all connections: a database that is in use cannot be copied.
            let migrate = move || Runtime::new().unwrap().block_on(open(&address)).map(drop);
            std::thread::spawn(migrate).join().unwrap().unwrap();
            url
        });
        Database {
            url: shared().copy_of(original),
        }
    }

    /// Opens the store on it, as every process does.
    pub async fn open(&self) -> Arc<Store> {
        open(&self.address()).await.unwrap()
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.url.parse().unwrap()
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many rows a table has; a condition may follow its name.
    pub fn rows(&self, table: &str) -> i64 {
        let count = ask(&self.url, &format!("SELECT count(*) FROM {table}"));
        count.parse().unwrap()
    }

    /// Changes rows in a way in which nothing in the service does.
    pub fn change(&self, statement: &str) {
        ask(&self.url, statement);
    }

    /// The bytes that a query returns.
    pub fn bytes(&self, query: &str) -> Vec<u8> {
        let hex = ask(&self.url, &format!("SELECT encode(({query}), 'hex')"));
        let byte = |number: usize| u8::from_str_radix(&hex[2 * number..2 * number + 2], 16);
        (0..hex.len() / 2).map(|number| byte(number).unwrap()).collect()
    }

    /// Whether any row of any table has the bytes, as text or as bytes. (In the files, erased data
    /// stays until it is vacuumed away.)
    pub fn keeps(&self, bytes: &[u8]) -> bool {
        let tables = "SELECT string_agg(format('SELECT t::text FROM %I AS t', tablename), ' UNION ALL ') \
             FROM pg_tables WHERE schemaname = 'public'";
        let rows = ask(&self.url, &ask(&self.url, tables));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = std::str::from_utf8(bytes).is_ok_and(|text| rows.contains(text));
        text || rows.contains(&hex)
    }

    /// Keeps the database for those who investigate why a test failed. Returns where it is.
    pub fn keep(self) -> String {
        let folder = tempfile::TempDir::new().unwrap().keep();
        let file = folder.join("dump.sql");
        dump(&self.url, &file);
        file.display().to_string()
    }
}

/// The database at `url`, with its tables partitioned if that is wanted.
fn laid_out(url: String) -> String {
    if partitioned::is_wanted() {
        partitioned::lay_out(&url);
    }
    url
}

impl Drop for Database {
    fn drop(&mut self) {
        drop_database(&self.url);
    }
}
