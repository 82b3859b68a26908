//! Brings a database file to the schema that this binary knows.
//!
//! 1. Each file in `migrations/` is one version; `PRAGMA user_version` says which the database has.
//! 2. A database that is newer than the binary, or that is not ours at all (`PRAGMA application_id`),
//!    is refused before anything is written to it.
//! 3. Each version is applied in one transaction that takes the write lock first and checks the version again: of two
//!    processes that start at once, one migrates and the other finds it done. A new file gets all versions in one: if that
//!    is interrupted, the file is still new, and can be the target of a copy.
//! 4. A migration that was released is never edited. A change to the schema is a new file.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior};

use super::open_error::OpenError;

/// The versions in order: the first is version 1. `build.rs` lists the files of the folder.
const MIGRATIONS: &[&str] = &include!(concat!(env!("OUT_DIR"), "/sqlite_migrations.rs"));

/// The newest version that this binary knows.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64; // a handful

/// How long to try for write-ahead logging.
const WAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Marks a file as ours: "INVO" in ASCII.
const APPLICATION_ID: i64 = 0x494e_564f;

/// A version, and what makes it from the one before.
type Version<'a> = (i64, &'a str);

/// Applies the missing versions; see the steps above. Returns the version that the file had before: 0 for a new one.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<i64, OpenError> {
    apply(connection, path, MIGRATIONS)
}

/// Opens the file at `path` as the previous release would, if its schema were one version older.
#[cfg(test)]
pub(crate) fn open_by_the_release_before(path: &Path) -> Result<(i64, Connection), OpenError> {
    super::create_private(path).map_err(|error| OpenError::Open {
        path: path.to_owned(),
        source: error.into(),
    })?;
    let connection = super::connect(path).map_err(|error| OpenError::new(path, error));
    let mut connection = connection?;
    let found = apply(&mut connection, path, &MIGRATIONS[..MIGRATIONS.len() - 1])?;
    Ok((found, connection))
}

fn apply(connection: &mut Connection, path: &Path, migrations: &[&str]) -> Result<i64, OpenError> {
    let failed = |error| OpenError::new(path, error);
    let known = migrations.len() as i64; // a handful
    let checked = check(connection, path, known).map_err(failed)?;
    let found = checked.or_else(|refused| {
        // Otherwise closing it could checkpoint a log that the newer program has left.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .map_err(failed)?;
        Err(refused)
    })?;

    use_wal(connection, path)?;
    let missing = (1..).zip(migrations.iter().copied());
    let missing: Vec<Version<'_>> = missing.filter(|(version, _)| *version > found).collect();
    let at_once = if found == 0 { migrations.len() } else { 1 };
    for versions in missing.chunks(at_once) {
        step(connection, versions).map_err(|source| OpenError::Migrate {
            path: path.to_owned(),
            version: versions.last().map_or(found, |it| it.0),
            source,
        })?;
    }
    // Step 2 again: a newer process may have migrated since.
    check(connection, path, known).map_err(failed)??;
    Ok(found)
}

/// Switches to write-ahead logging, which the file remembers. A database in memory, for one, cannot.
fn use_wal(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let switch = || {
        let mode = |row: &Row<'_>| row.get::<_, String>(0);
        connection.pragma_update_and_check(None, "journal_mode", "WAL", mode)
    };
    // SQLite calls no busy handler for the switch while another process makes it, too.
    let busy = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
    let (mut mode, begun) = (switch(), Instant::now());
    while mode.as_ref().is_err_and(busy) && begun.elapsed() < WAL_TIMEOUT {
        std::thread::sleep(Duration::from_millis(1));
        mode = switch();
    }
    match mode.map_err(|error| OpenError::new(path, error))?.as_str() {
        "wal" => Ok(()),
        mode => Err(OpenError::Open {
            path: path.to_owned(),
            source: format!("it stays in journal mode {mode}, and this service needs WAL").into(),
        }),
    }
}

/// Step 2: whether the file is ours, and not newer than we are.
fn check(
    connection: &Connection,
    path: &Path,
    known: i64,
) -> rusqlite::Result<Result<i64, OpenError>> {
    let found = pragma(connection, "user_version")?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let foreign =
        pragma(connection, "application_id")? != APPLICATION_ID && (tables, found) != (0, 0);
    Ok(match () {
        () if foreign => Err(OpenError::Foreign {
            path: path.to_owned(),
        }),
        () if found > known => Err(OpenError::Newer {
            path: path.to_owned(),
            found,
            known,
        }),
        () => Ok(found),
    })
}

/// Step 3: applies those of these versions that the database lacks, all or none.
fn step(connection: &mut Connection, versions: &[Version<'_>]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (version, sql) in versions {
        if pragma(&transaction, "user_version")? < *version {
            // Makes SQLite read the schema again, which another process may have changed: a pragma does not do so, and not
            // every statement of a migration that meets an old schema would.
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", *version)?;
        }
    }
    transaction.commit()
}

/// Step 2 alone, which writes nothing. Returns the version of a file of ours; 0 for one without tables.
pub(super) fn found(connection: &Connection, path: &Path) -> Result<i64, OpenError> {
    check(connection, path, VERSION).map_err(|error| OpenError::new(path, error))?
}

/// The version of the file; 0 for one that is not ours.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    match pragma(connection, "application_id")? {
        APPLICATION_ID => pragma(connection, "user_version"),
        _ => Ok(0),
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use std::sync::Arc;

    use openapi_dropshot_runtime::json;
    use tempfile::TempDir;

    use super::*;
    use crate::app::App;
    use crate::domain::Error;
    use crate::domain::id::{ApiKeyId, ProductId};
    use crate::domain::idempotency::IdempotentRequest;
    use crate::domain::product::{NewProduct, Product, ProductStatus, StatusFilter};
    use crate::domain::time::{ManualClock, Timestamp};
    use crate::sqlite::{Sqlite, connect, create_private};
    use crate::store::Store;

    fn file() -> (TempDir, PathBuf) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        (folder, path)
    }

    fn count(connection: &Connection, table: &str) -> i64 {
        let select = format!("SELECT count(*) FROM {table}");
        connection.query_row(&select, [], |row| row.get(0)).unwrap()
    }

    fn create(path: &Path, sql: &str) {
        Connection::open(path).unwrap().execute_batch(sql).unwrap();
    }

    fn open(path: &Path, migrations: &[&str]) -> Result<Connection, OpenError> {
        create_private(path).unwrap();
        let mut connection = connect(path).unwrap();
        apply(&mut connection, path, migrations).map(|_| connection)
    }

    fn refusal(path: &Path) -> String {
        Sqlite::open(path).err().expect("refused").to_string()
    }

    #[test]
    fn a_new_file_gets_every_version_and_keeps_what_it_has_when_opened_again() {
        let (_folder, path) = file();
        let insert = "INSERT INTO team (id, name, created_at) VALUES (zeroblob(16), 'Acme', 0)";
        open(&path, MIGRATIONS)
            .unwrap()
            .execute_batch(insert)
            .unwrap();
        let connection = open(&path, MIGRATIONS).unwrap();
        assert_eq!(
            pragma(&connection, "user_version").unwrap(),
            MIGRATIONS.len() as i64
        );
        assert_eq!(count(&connection, "team"), 1);
    }

    /// A file of version 2 with two products of the same sku, which equal `product` except for their ids and statuses, and
    /// with the record of the `request` that made it.
    fn version_2(path: &Path, product: &Product, archived: ProductId, request: &IdempotentRequest) {
        let file = open(path, &MIGRATIONS[..2]).unwrap();
        let team = "INSERT INTO team (id, name, created_at) VALUES (zeroblob(16), 'Acme', 0)";
        file.execute(team, []).unwrap();
        let key = "INSERT INTO api_key (team_id, id, digest, mode, scope, created_at)
                   VALUES (zeroblob(16), zeroblob(16), zeroblob(32), 'live', 'read-write', 0)";
        file.execute(key, []).unwrap();
        let insert =
            "INSERT INTO product VALUES (zeroblob(16), 'live', ?1, 'A', '1.50', 'EUR', 'D', 'S',
                          '19.0', 'GOODS', 'pcs', ?2, 1, 1)";
        for (id, status) in [(product.id, "active"), (archived, "archived")] {
            file.execute(insert, (id.as_bytes(), status)).unwrap();
        }
        let insert = "INSERT INTO idempotency VALUES (zeroblob(16), 'live', 'k', ?1, ?2, 1)";
        let answer = serde_json::to_string(product).unwrap();
        file.execute(insert, (request.digest.as_bytes(), answer))
            .unwrap();
    }

    #[tokio::test]
    async fn products_and_records_of_version_2_are_kept_and_found() {
        let (_folder, path) = file();
        let now = Timestamp::from_millis(1);
        let [active, archived] = [1, 2].map(|id| ProductId(uuid::Uuid::from_u128(id)));
        let request = IdempotentRequest::new("k", "POST", "/p", &json::Value::Object(Vec::new()));
        let product = NewProduct {
            description: Some("D".into()),
            sku: Some("S".into()),
            tax_rate: Some("19.0".parse().unwrap()),
            product_type: Some("GOODS".into()),
            unit_of_measure: Some("pcs".into()),
            ..NewProduct::new("A", "1.50".parse().unwrap(), "EUR")
        };
        let product = product.into_product(active, now);
        version_2(&path, &product, archived, &request);
        let mut old = product.clone();
        (old.id, old.status) = (archived, ProductStatus::Archived);

        let store = Arc::new(Store::from(Sqlite::open(&path).unwrap()));
        let clock = Arc::new(ManualClock::new(now));
        let app = App::new(store, clock, "https://links.example").await;
        let app = app.unwrap();
        let key = app.get_api_key(ApiKeyId(uuid::Uuid::nil()));
        let key = key.await.unwrap().key;
        for product in [&product, &old] {
            let found = app.get_product(&key, product.id).await;
            assert_eq!(found.unwrap(), *product);
        }
        let all = app.list_products(&key, StatusFilter::All, 9, None);
        assert_eq!(all.await.unwrap().items, [old, product.clone()]);
        let other = NewProduct {
            sku: product.sku.clone(),
            ..NewProduct::new("B", "2".parse().unwrap(), "EUR")
        };
        let taken = app.create_product(&key, other.clone(), None).await;
        assert!(matches!(taken, Err(Error::DuplicateSku)), "{taken:?}");
        let repeat = app
            .create_product(&key, other, Some(request))
            .await
            .unwrap();
        assert_eq!((repeat.replayed, repeat.value), (true, product));
    }

    #[test]
    fn pairs_of_version_3_are_wrapped_and_opened_again() {
        let (_folder, path) = file();
        let old = open(&path, &MIGRATIONS[..3]).unwrap();
        let insert = "PRAGMA foreign_keys = false;
            INSERT INTO refresh_token VALUES (zeroblob(32), zeroblob(16), 1795211340123, x'0506'),
                (randomblob(32), zeroblob(16), 1795211340124, x'07'), (randomblob(32), zeroblob(16), NULL, NULL)";
        old.execute_batch(insert).unwrap();
        drop(old);
        let new = open(&path, MIGRATIONS).unwrap();
        let pair = |column: &str| -> Vec<u8> {
            let select = format!("SELECT {column} FROM refresh_token WHERE digest = zeroblob(32)");
            new.query_row(&select, [], |row| row.get(0)).unwrap()
        };
        assert_ne!(pair("successor"), [5, 6]);
        assert_eq!(pair(crate::sqlite::pair::UNWRAPPED), [5, 6]);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, path) = file();
        let _store = Sqlite::open(&path).unwrap();
        for path in [path.clone(), path.with_extension("db-wal")] {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
    }

    #[test]
    fn a_newer_database_is_refused_untouched_even_with_a_log_left_behind() {
        let (_folder, path) = file();
        // A newer program that was killed: its last commit is in the log only.
        let newer = open(&path, MIGRATIONS).unwrap();
        newer
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .unwrap();
        newer
            .execute_batch("CREATE TABLE future (x); PRAGMA user_version = 99")
            .unwrap();
        drop(newer);
        let log = path.with_extension("db-wal");
        let before = (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap());

        let text = refusal(&path);
        for part in [
            "test.db",
            "version 99",
            "left as it is",
            "Use the newer program",
        ] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
        assert_eq!(
            (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap()),
            before
        );
    }

    #[test]
    fn a_database_of_another_program_is_refused_untouched() {
        let (_folder, path) = file();
        create(&path, "CREATE TABLE recipe (name TEXT)");
        let before = std::fs::read(&path).unwrap();
        let text = refusal(&path);
        assert!(
            text.contains("another program") && text.contains("--database"),
            "{text}"
        );
        assert!(
            std::fs::read(&path).unwrap() == before,
            "the file has changed"
        );
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_untouched() {
        let (_folder, path) = file();
        let letter = "Dear Sir or Madam, ".repeat(500);
        std::fs::write(&path, &letter).unwrap();
        let text = refusal(&path);
        assert!(
            text.contains("another program") && text.contains("test.db"),
            "{text}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), letter);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named_with_what_to_do() {
        let (folder, _) = file();
        let text = refusal(&folder.path().join("missing/invoicing.db"));
        assert!(
            text.contains("missing/invoicing.db") && text.contains("Check that"),
            "{text}"
        );
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it() {
        let (_folder, path) = file();
        let broken = [
            "CREATE TABLE a (x)",
            "CREATE TABLE b (x); INSERT INTO b VALUES (1, 2)",
        ];
        open(&path, &broken[..1]).unwrap();
        let text = open(&path, &broken).expect_err("refused").to_string();
        assert!(
            text.contains("schema version 2") && text.contains("Nothing of that"),
            "{text}"
        );
        let connection = connect(&path).unwrap();
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .unwrap();
        assert_eq!(
            (pragma(&connection, "user_version").unwrap(), tables),
            (1, 1)
        );
    }

    #[test]
    fn a_new_file_whose_migration_fails_is_still_new() {
        let (_folder, path) = file();
        let broken = ["CREATE TABLE a (x)", "INSERT INTO a VALUES (1, 2)"];
        open(&path, &broken).expect_err("refused");
        assert_eq!(found(&connect(&path).unwrap(), &path).unwrap(), 0);
    }

    #[test]
    fn each_version_is_applied_once_by_many_that_start_at_once() {
        let migrations = [
            "CREATE TABLE a (x)",
            "ALTER TABLE a ADD y",
            "INSERT INTO a VALUES (1, 2)",
        ];
        for _ in 0..10 {
            let (_folder, path) = file();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let connection = open(&path, &migrations).unwrap();
                        assert_eq!(count(&connection, "a"), 1);
                    });
                }
            });
        }
    }
}
