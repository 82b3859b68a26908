//! Brings a database to the schema that this binary knows.
//!
//! 1. Each file in `migrations/` is one version; the one row of the table `schema_version` says which the
//!    database has. There is no such table before the first.
//! 2. A database that is newer than the binary, or whose schema has tables of another program, is refused before anything is
//!    written to it. So is an empty one, unless the caller may set it up, and one whose encoding lacks some characters,
//!    unless it already has our tables: what it has is served.
//! 3. Each version is applied in one transaction that first takes a lock, which only migrations take, and checks the version
//!    again: of replicas that start at once, one migrates and the others find it done. Then it waits a moment for the locks of
//!    tables, and if others keep them, such as a dump, it tries again later ([`PATIENCE`]): while it waits, all who need a
//!    table wait behind it. A new database gets all versions in one transaction: if that is interrupted, the database is still
//!    new, and can be the target of a copy.
//! 4. A migration that was released is never edited. A change to the schema is a new file.
//! 5. Replicas of the previous release keep running, so a migration breaks none of their statements: expand, then contract.
//!    CONTRIBUTING.md has the rule, and `tests/store/postgres/upgrade/` runs their statements on the newest schema.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, GenericClient, IsolationLevel};

use super::address::Address;
use super::open_error::OpenError;

/// The versions in order: the first is version 1. `build.rs` lists the files of the folder.
const MIGRATIONS: &[&str] = &include!(concat!(env!("OUT_DIR"), "/postgres_migrations.rs"));

/// The newest version that this binary knows.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64; // a handful

/// The lock of step 3: "INVO" in ASCII.
const LOCK: &str = "SELECT pg_advisory_xact_lock(x'494e564f'::bigint)";

/// How long a migration waits for the lock of a table: longer than PostgreSQL takes to end an autovacuum that is in the way, a
/// second (`deadlock_timeout`), and shorter than a request may wait.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '1500ms'";

/// How often it tries again, and for how long.
const PAUSE: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_mins(1);

/// Records a version, and marks the database as ours.
const SCHEMA_VERSION: &str = "CREATE TABLE IF NOT EXISTS schema_version (invoicing BIGINT NOT NULL); DELETE FROM schema_version";

/// What to do with a database that has no tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenEmpty {
    /// Make ours.
    Make,
    /// Leave it as it is: a caller that expects data has come to the wrong place.
    Refuse,
}

/// A version, and what makes it from the one before.
type Version<'a> = (i64, &'a str);

/// Applies the missing versions; see the steps above. Returns the version that the database had before: 0 for a new one.
pub(super) async fn migrate(
    client: &mut Client,
    address: &Address,
    when_empty: WhenEmpty,
) -> Result<i64, OpenError> {
    apply(client, address, when_empty, MIGRATIONS).await
}

async fn apply(
    client: &mut Client,
    address: &Address,
    when_empty: WhenEmpty,
    migrations: &[&str],
) -> Result<i64, OpenError> {
    let known = migrations.len() as i64; // a handful
    let found = check(client, address, known).await?;
    if found == 0 && when_empty == WhenEmpty::Refuse {
        return Err(OpenError::Empty {
            address: address.clone(),
        });
    }
    let missing = (1..).zip(migrations.iter().copied());
    let missing: Vec<Version<'_>> = missing.filter(|(version, _)| *version > found).collect();
    let at_once = if found == 0 { migrations.len() } else { 1 };
    for versions in missing.chunks(at_once) {
        let begun = Instant::now();
        loop {
            let source = match step(client, versions).await {
                Ok(()) => break,
                Err(source) => source,
            };
            // Without a code it was the connection that failed. A server ends one with a code of class 57P, a pooler of 08.
            let is_of_connection = |it: &&SqlState| {
                ["57P", "08"]
                    .iter()
                    .any(|class| it.code().starts_with(class))
            };
            let code = source.code().filter(|it| !is_of_connection(it));
            if code.is_none() {
                return Err(cannot_ask(address, source));
            }
            let is_locked = code == Some(&SqlState::LOCK_NOT_AVAILABLE);
            if !is_locked || begun.elapsed() > PATIENCE {
                return Err(OpenError::Migrate {
                    address: address.clone(),
                    version: versions.last().map_or(found, |it| it.0),
                    source,
                });
            }
            sleep(PAUSE).await;
        }
    }
    // Step 2 again: a newer process may have migrated since.
    check(client, address, known).await?;
    Ok(found)
}

/// Step 2 alone, which writes nothing. Returns the version of a database of ours.
pub(super) async fn found(client: &mut Client, address: &Address) -> Result<i64, OpenError> {
    match check(client, address, VERSION).await? {
        0 => Err(OpenError::Empty {
            address: address.clone(),
        }),
        found => Ok(found),
    }
}

/// Step 2: whether the database is ours, and not newer than we are.
async fn check(client: &mut Client, address: &Address, known: i64) -> Result<i64, OpenError> {
    let failed = |source| cannot_ask(address, source);
    // One snapshot: between two, another replica that starts may make the tables.
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await
        .map_err(failed)?;
    let tables = "SELECT count(*), current_setting('server_encoding') FROM pg_class \
         WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace";
    let found = version(&transaction).await.map_err(failed)?;
    let row = transaction.query_typed_one(tables, &[]).await;
    let (tables, encoding): (i64, String) = row
        .and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .map_err(failed)?;
    transaction.rollback().await.map_err(failed)?;
    match found {
        0 if tables > 0 => Err(OpenError::Foreign {
            address: address.clone(),
        }),
        0 if encoding != "UTF8" => Err(OpenError::Encoding {
            address: address.clone(),
            encoding,
        }),
        found if found > known => Err(OpenError::Newer {
            address: address.clone(),
            found,
            known,
        }),
        found => Ok(found),
    }
}

fn cannot_ask(address: &Address, source: Error) -> OpenError {
    OpenError::Connect {
        address: address.clone(),
        source: source.into(),
    }
}

/// Step 3: applies those of these versions that the database lacks, all or none.
async fn step(client: &mut Client, versions: &[Version<'_>]) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.batch_execute(LOCK).await?;
    let found = version(&transaction).await?;
    for (number, sql) in versions.iter().filter(|(number, _)| *number > found) {
        transaction.batch_execute(LOCK_TIMEOUT).await?;
        let note = format!("{SCHEMA_VERSION}; INSERT INTO schema_version VALUES ({number})");
        transaction.batch_execute(sql).await?;
        transaction.batch_execute(&note).await?;
    }
    transaction.commit().await
}

/// The version of the database; 0 for one without our tables.
pub(super) async fn version(client: &impl GenericClient) -> Result<i64, Error> {
    let ours = "SELECT 1 FROM pg_attribute \
         WHERE attrelid = to_regclass('schema_version') AND attname = 'invoicing'";
    if client.query_typed(ours, &[]).await?.is_empty() {
        return Ok(0);
    }
    let select = "SELECT invoicing FROM schema_version";
    let row = client.query_typed_opt(select, &[]).await?;
    row.map_or(Ok(0), |row| row.try_get(0))
}

#[cfg(test)]
mod tests {
    use test_support::postgres::{Locked, ask, shared, until_lock_waits};
    use tokio_postgres::NoTls;

    use super::*;
    use crate::postgres::Postgres;

    async fn refusal(url: &str) -> String {
        let opened = Postgres::open(&url.parse().unwrap()).await;
        opened.err().expect("refused").to_string()
    }

    async fn open(url: &str, migrations: &[&str]) -> Result<(), OpenError> {
        let (mut client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let address = url.parse().unwrap();
        apply(&mut client, &address, WhenEmpty::Make, migrations)
            .await
            .map(drop)
    }

    fn tables(url: &str) -> String {
        let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
        ask(url, tables).replace('\n', " ")
    }

    #[tokio::test]
    async fn a_new_database_gets_every_version_and_keeps_what_it_has_when_opened_again() {
        let url = shared().database();
        open(&url, MIGRATIONS).await.unwrap();
        let team = "INSERT INTO team (id, name, created_at) VALUES (gen_random_uuid(), 'Acme', 0)";
        ask(&url, team);
        open(&url, MIGRATIONS).await.unwrap();
        let found = "SELECT invoicing, (SELECT count(*) FROM team) FROM schema_version";
        assert_eq!(ask(&url, found), format!("{VERSION}|1"));
    }

    #[tokio::test]
    async fn a_newer_database_is_refused_untouched() {
        let url = shared().database();
        open(&url, MIGRATIONS).await.unwrap();
        ask(&url, "UPDATE schema_version SET invoicing = 99");
        let text = refusal(&url).await;
        for part in ["version 99", "left as it is", "Use the newer program"] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
        assert_eq!(ask(&url, "SELECT invoicing FROM schema_version"), "99");
    }

    #[tokio::test]
    async fn a_database_of_another_program_is_refused_untouched() {
        // Frameworks like the name `schema_version`, too.
        for table in ["recipe (name TEXT)", "schema_version (version TEXT)"] {
            let url = shared().database();
            ask(&url, &format!("CREATE TABLE {table}"));
            let before = tables(&url);
            let text = refusal(&url).await;
            assert!(text.contains("another program"), "{text}");
            assert_eq!(tables(&url), before);
        }
    }

    #[tokio::test]
    async fn an_empty_database_that_cannot_keep_every_letter_is_refused() {
        let url = shared().database();
        let latin = format!("{url}_latin1");
        let (_, name) = latin.rsplit_once('/').unwrap();
        let create =
            format!("CREATE DATABASE {name} ENCODING LATIN1 LOCALE 'C' TEMPLATE template0");
        ask(&url, &create);
        let text = refusal(&latin).await;
        assert!(
            text.contains("LATIN1") && text.contains("ENCODING 'UTF8'"),
            "{text}"
        );
        assert_eq!(tables(&latin), "");
    }

    #[tokio::test]
    async fn an_empty_database_is_made_only_by_who_may() {
        let url = shared().database();
        let address = url.parse().unwrap();
        let refused = Postgres::open_existing(&address).await;
        let text = refused.err().expect("refused").to_string();
        assert!(text.contains("is empty, and was left so"), "{text}");
        assert_eq!(tables(&url), "");
        open(&url, &MIGRATIONS[..1]).await.unwrap();
        // One that exists is brought up to date by any caller.
        let opened = Postgres::open_existing(&address).await.unwrap();
        assert_eq!(opened.found_version(), 1);
        let version = ask(&url, "SELECT invoicing FROM schema_version");
        assert_eq!(version, VERSION.to_string());
    }

    #[tokio::test]
    async fn a_schema_of_its_own_keeps_other_programs_apart() {
        let url = shared().database();
        ask(&url, "CREATE TABLE recipe (name TEXT); CREATE SCHEMA ours");
        let ours = format!("{url}?options=-csearch_path%3Dours");
        open(&ours, MIGRATIONS).await.unwrap();
        open(&ours, MIGRATIONS).await.unwrap();
        assert_eq!(tables(&url), "recipe");
    }

    #[tokio::test]
    async fn a_migration_that_fails_leaves_the_version_before_it() {
        let url = shared().database();
        let broken = [
            "CREATE TABLE a (x INTEGER)",
            "CREATE TABLE b (x INTEGER); INSERT INTO b VALUES (1, 2)",
        ];
        open(&url, &broken[..1]).await.unwrap();
        let text = open(&url, &broken).await.expect_err("refused").to_string();
        assert!(
            text.contains("schema version 2") && text.contains("Nothing of that"),
            "{text}"
        );
        assert_eq!(tables(&url), "a schema_version");
    }

    #[tokio::test]
    async fn a_new_database_whose_migration_fails_is_still_new() {
        let url = shared().database();
        let broken = ["CREATE TABLE a (x INTEGER)", "INSERT INTO a VALUES (1, 2)"];
        open(&url, &broken).await.expect_err("refused");
        assert_eq!(tables(&url), "");
    }

    #[tokio::test]
    async fn a_connection_that_breaks_under_a_migration_is_no_matter_of_rights() {
        let url = shared().database();
        let broken = ["SELECT pg_terminate_backend(pg_backend_pid())"];
        let text = open(&url, &broken).await.expect_err("refused").to_string();
        assert!(text.contains("Check that it runs"), "{text}");
        open(&url, MIGRATIONS).await.unwrap();
    }

    #[tokio::test]
    async fn a_migration_lets_others_go_on_while_a_dump_keeps_its_table_locked() {
        let url = shared().database();
        let migrations = ["CREATE TABLE a (x INTEGER)", "ALTER TABLE a ADD y INTEGER"];
        open(&url, &migrations[..1]).await.unwrap();
        let dump = Locked::by(&url, "LOCK TABLE a IN ACCESS SHARE MODE");
        let others = async {
            until_lock_waits(&url, 1).await;
            let begun = Instant::now();
            ask(&url, "INSERT INTO a VALUES (1)");
            drop(dump);
            begun.elapsed()
        };
        let (opened, waited) = tokio::join!(open(&url, &migrations), others);
        opened.unwrap();
        assert!(waited < Duration::from_secs(4), "{waited:?}");
        assert_eq!(ask(&url, "SELECT count(x), count(y) FROM a"), "1|0");
    }

    #[tokio::test]
    async fn each_version_is_applied_once_by_many_that_start_at_once() {
        let migrations = [
            "CREATE TABLE a (x INTEGER)",
            "ALTER TABLE a ADD y INTEGER",
            "INSERT INTO a VALUES (1, 2)",
        ];
        let url = shared().database();
        let replicas = (0..8).map(|_| open(&url, &migrations));
        futures::future::try_join_all(replicas).await.unwrap();
        assert_eq!(ask(&url, "SELECT count(*) FROM a"), "1");
    }
}
