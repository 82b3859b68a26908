//! Whether the clock of this machine is right, as far as others tell: PostgreSQL, the OpenID provider, and the files of
//! SQLite, which cannot have been changed in times to come unless the clock was set back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::Subject;
use super::finding::Finding;
use super::services;
use crate::settings::Database;
use crate::store::inspect;

const CHECK: &str = "clock";

/// As far as clocks are apart that are kept right; a header tells whole seconds, and everything takes its time.
const NEAR: Duration = Duration::from_secs(3);

/// From here on, ID tokens are refused, and sessions end too early or too late.
const FAR: Duration = Duration::from_secs(120);

/// Compares the clock with those of others.
pub(super) async fn clock(subject: Arc<Subject>) -> Vec<Finding> {
    let (database, provider) = tokio::join!(of_database(&subject), of_provider(&subject));
    let told: Vec<_> = [database, provider].into_iter().flatten().collect();
    let findings: Vec<_> = told.iter().map(|(who, apart)| judge(who, *apart)).collect();
    match findings.is_empty() {
        true => vec![Finding::good(CHECK, "nobody to compare it with")],
        false => findings,
    }
}

/// By whom the time is told, and how far from ours.
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

/// How far a clock is from ours that was asked between these moments: what it takes to ask is no error of a clock.
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
