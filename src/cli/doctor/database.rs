//! The database: whether it answers, accepts changes, has our schema and is undamaged. Nothing in it is changed: it is not
//! migrated, and an empty one gets no tables.

use std::sync::Arc;
use std::time::Duration;

use super::Subject;
use super::finding::Finding;
use crate::settings::Database;
use crate::store::{OpenError, SCHEMA_VERSION, inspect};

const DATABASE: &str = "database";

/// How long to check the SQLite file.
const LOOKED_FOR: Duration = Duration::from_secs(3);

/// The oldest version of PostgreSQL that still gets fixes.
const OLDEST: i32 = 140_000;

/// Whether it answers and accepts changes, and which schema it has.
pub(super) async fn reachable(subject: Arc<Subject>) -> Vec<Finding> {
    let database = &subject.settings.database;
    let found = match inspect::open(database).await {
        Ok(found) => found,
        Err(error) if is_absent(&error) => {
            let to_do = "nothing, if this is a new server: `invoicing serve` makes it; otherwise mend `database`";
            return vec![Finding::warn(DATABASE, error.to_string(), to_do)];
        }
        Err(error) => {
            let to_do = "mend what it says; nothing works without it";
            return vec![Finding::bad(DATABASE, error.to_string(), to_do)];
        }
    };
    let version = found.version();
    let reordered = found.server().and_then(|it| it.reordered.clone());
    let written = match found.takes_changes().await {
        Ok(()) => Finding::good(DATABASE, format!("{database} answers, and takes changes")),
        Err(why) => {
            let found = format!("{database} answers, and takes no changes: {why}");
            let to_do = "look at the rights of this user, at the disk, at who holds the lock, and, with PostgreSQL, \
                         whether it is a standby or has default_transaction_read_only";
            Finding::bad(DATABASE, found, to_do)
        }
    };
    let mut findings = vec![written, schema(version)];
    findings.extend(reordered.map(collation));
    findings
}

fn collation((made, now): (String, String)) -> Finding {
    let found = format!(
        "PostgreSQL sorts text by version {now} of its locale, and the database was made with {made}: indexes may miss rows \
         that exist, so a sku or an idempotency key may be taken twice"
    );
    let to_do = "stop the service, run REINDEX DATABASE and ALTER DATABASE ... REFRESH COLLATION VERSION, and start it again";
    Finding::bad("collation", found, to_do)
}

fn is_absent(error: &OpenError) -> bool {
    use crate::{postgres, sqlite};
    match error {
        OpenError::Sqlite(error) => matches!(error, sqlite::OpenError::Absent { .. }),
        OpenError::Postgres(error) => matches!(**error, postgres::OpenError::Empty { .. }),
    }
}

/// A newer one has been refused before.
fn schema(version: i64) -> Finding {
    const CHECK: &str = "schema";
    let found = format!("version {version}, of {SCHEMA_VERSION}");
    match version == SCHEMA_VERSION {
        true => Finding::good(CHECK, found),
        false => {
            let to_do = "make a backup; `invoicing serve` then brings it up to date when it starts";
            Finding::warn(CHECK, found, to_do)
        }
    }
}

/// Whether the SQLite file is undamaged, as far as the time allows to check.
pub(super) fn content(subject: &Subject) -> Vec<Finding> {
    const CHECK: &str = "content";
    let Database::Sqlite(path) = &subject.settings.database else {
        return vec![Finding::good(
            CHECK,
            "the database is PostgreSQL, which looks after it",
        )];
    };
    vec![match inspect::quick_check(path, LOOKED_FOR) {
        Err(_) => Finding::good(CHECK, "not looked at, as the database cannot be opened"),
        Ok(inspect::Content::Whole) => Finding::good(CHECK, "the file is whole"),
        Ok(inspect::Content::TooLong) => {
            let seconds = LOOKED_FOR.as_secs();
            let found = format!("no damage in what could be looked through in {seconds} seconds");
            Finding::good(CHECK, found)
        }
        Ok(inspect::Content::Damaged(what)) => {
            let to_do = "stop the server, keep the file, and restore the newest backup";
            Finding::bad(CHECK, format!("the file is damaged: {what}"), to_do)
        }
    }]
}

/// Whether PostgreSQL admits all connections that this process may make.
pub(super) async fn connections(subject: Arc<Subject>) -> Vec<Finding> {
    const CHECK: &str = "connections";
    let Database::Postgres(address) = &subject.settings.database else {
        return vec![Finding::good(CHECK, "the database is a file")];
    };
    let Ok(found) = inspect::open(&subject.settings.database).await else {
        return vec![Finding::good(
            CHECK,
            "not looked at, as the database does not answer",
        )];
    };
    let Some(server) = found.server() else {
        return Vec::new();
    };
    let pool = i64::try_from(address.pool_size()).unwrap_or(i64::MAX);
    let found = format!(
        "pool_size is {pool}, of {} that others than superusers may have; {} are in use",
        server.connections, server.used
    );
    let to_do = "lower pool_size (docs of `database`), or raise max_connections of PostgreSQL";
    let mut findings = vec![if pool > server.connections {
        Finding::bad(CHECK, found, to_do)
    } else if 2 * pool > server.connections {
        let found = format!("{found}: during an upgrade there are twice as many");
        Finding::warn(CHECK, found, to_do)
    } else {
        Finding::good(CHECK, found)
    }];
    if server.version < OLDEST {
        let found = format!(
            "PostgreSQL {} is no longer mended by its makers",
            server.name
        );
        findings.push(Finding::warn(CHECK, found, "upgrade it"));
    }
    findings
}
