//! Checks this machine's clock against others: PostgreSQL, the OpenID provider, and the SQLite files, which cannot have been
//! changed in the future unless the clock was set back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::Subject;
use super::finding::Finding;
use super::services;
use crate::settings::Database;
use crate::store::inspect;

const CHECK: &str = "clock";

/// How far apart well-kept clocks may be: a header has whole seconds, and every answer takes time.
const NEAR: Duration = Duration::from_secs(3);

/// Beyond this, ID tokens are refused, and sessions end too early or too late.
const FAR: Duration = Duration::from_secs(120);

/// Compares the clock with others.
pub(super) async fn clock(subject: Arc<Subject>) -> Vec<Finding> {
    let (database, provider) = tokio::join!(of_database(&subject), of_provider(&subject));
    let told: Vec<_> = [database, provider].into_iter().flatten().collect();
    let findings: Vec<_> = told.iter().map(|(who, apart)| judge(who, *apart)).collect();
    match findings.is_empty() {
        true => vec![Finding::good(CHECK, "nobody to compare it with")],
        false => findings,
    }
}

/// The source of a time, and how far it is from ours.
type Told = (&'static str, Duration);

async fn of_database(subject: &Subject) -> Option<Told> {
    if let Database::Sqlite(path) = &subject.settings.database {
        let changed = path.metadata().ok()?.modified().ok()?;
        let ahead = changed.duration_since(SystemTime::now());
        return Some(("the database file", ahead.unwrap_or_default()));
    }
    let before = SystemTime::now();
    let found = inspect::open(&subject.settings.database).await.ok()?;
    let theirs = found.server()?.now;
    let apart = apart(before, theirs, SystemTime::now());
    Some(("PostgreSQL", apart))
}

async fn of_provider(subject: &Subject) -> Option<Told> {
    let provider = services::of(&subject.settings)?.ok()?;
    let before = SystemTime::now();
    let theirs = provider.date().await?;
    let apart = apart(before, theirs, SystemTime::now());
    Some(("the OpenID provider", apart))
}

/// How far another clock, read between `before` and `after`, is from ours: the time that reading takes does not count.
fn apart(before: SystemTime, theirs: SystemTime, after: SystemTime) -> Duration {
    let early = before.duration_since(theirs).unwrap_or_default();
    let late = theirs.duration_since(after).unwrap_or_default();
    early.max(late)
}

fn judge(who: &str, apart: Duration) -> Finding {
    let found = format!("{} seconds from that of {who}", apart.as_secs());
    let to_do = "have the clocks of all machines kept right (systemd-timesyncd, chrony)";
    match apart {
        _ if apart > FAR => Finding::bad(CHECK, found, to_do),
        _ if apart > NEAR => Finding::warn(CHECK, found, to_do),
        _ => Finding::good(CHECK, found),
    }
}
