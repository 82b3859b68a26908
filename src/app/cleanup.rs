//! What runs besides the requests: expired rows are deleted, uses of keys and sessions are recorded, and
//! sealed pairs of tokens are erased.
//!
//! Nothing depends on it being done in time. What has expired counts as absent from that moment on,
//! whether or not its row is still there.
//!
//! A deletion goes in bounded steps, each a change of its own: it takes its turn among the requests and
//! never holds them up for longer than any other change.

use std::time::Duration;

use slog::{Logger, warn};
use tokio::time::MissedTickBehavior;

use super::App;
use super::counts::Task;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::SessionId;
use crate::domain::idempotency::AHEAD;
use crate::domain::letter::Occasion;
use crate::domain::password::OF_ACCOUNT;
use crate::domain::product_import::KEPT_FOR;
use crate::domain::session::rules::GRACE;
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{
    Sql, api_key, audit, auth_code, browser_session, email_change, idempotency, invitation,
    mail_count, one_time_link, passkey, password, product_import, refused_sign_in, session,
};

/// Rows deleted in one step: a few milliseconds of work.
pub(super) const STEP: u32 = 500;

/// Plans of imports deleted in one step: each may have five megabytes.
pub(super) const IMPORTS: u32 = 10;

/// How often expired rows are looked for.
const CLEANUP_EVERY: Duration = Duration::from_secs(60);

/// For how long the audit is kept.
const AUDIT_KEPT: Duration = Duration::from_hours(400 * 24);

/// How often sealed pairs are erased, whose grace lasts 30 seconds.
const ERASE_EVERY: Duration = Duration::from_secs(5);

/// How often noted uses are recorded; they are kept to the minute.
const RECORD_USES_EVERY: Duration = Duration::from_secs(10);

impl App {
    /// Runs for ever, beside the requests that are served. To stop it, drop it, and call [`App::record_uses`] once more.
    /// Failures are logged and tried again.
    pub async fn run_background_tasks(&self, log: &Logger) {
        let erase = async || self.erase_successors().await;
        let record = async || self.record_uses().await;
        let delete = async || self.delete_expired().await;
        let counts = &self.counts;
        // Beside each other: a long deletion must not keep sealed pairs from being erased.
        tokio::join!(
            self.repeat(
                ERASE_EVERY,
                ("erasing sealed pairs", &counts.erase_pairs),
                log,
                erase
            ),
            self.repeat(
                RECORD_USES_EVERY,
                ("recording uses", &counts.record_uses),
                log,
                record
            ),
            self.repeat(
                CLEANUP_EVERY,
                ("deleting expired rows", &counts.delete_expired),
                log,
                delete
            ),
        );
    }

    /// Deletes everything that has expired, step by step, and what is left of removed users and deleted teams.
    ///
    /// # Errors
    /// What the store answers; what was deleted until then stays deleted.
    pub async fn delete_expired(&self) -> Result<(), Error> {
        let now = self.now();
        let records = async move |sql: Sql<'_>| idempotency::delete_expired(sql, now, STEP).await;
        while self.deleted(self.store.write(Holder::Service, records).await?) == STEP {}
        let sessions = async move |sql: Sql<'_>| delete_expired_sessions(sql, now).await;
        while self.deleted(self.store.write(Holder::Service, sessions).await?) == STEP {}
        let of_people = async move |sql: Sql<'_>| delete_expired_of_people(sql, now).await;
        while self.deleted(self.store.write(Holder::Service, of_people).await?) == STEP {}
        let expired = now.before(KEPT_FOR);
        let imports = async move |sql: Sql<'_>| {
            let deleted = sql.run(product_import::delete_expired(expired, IMPORTS));
            Ok(deleted.await? as u32) // at most `IMPORTS`
        };
        while self.deleted(self.store.write(Holder::Service, imports).await?) == IMPORTS {}
        self.go_on_deleting_oauth_clients().await?;
        self.empty_all().await
    }

    /// Counts rows that were deleted.
    fn deleted(&self, rows: u32) -> u32 {
        self.counts.expired_rows.add(rows.into());
        rows
    }

    /// Runs a task now and then every `period`; after a long run it waits, instead of catching up.
    async fn repeat(
        &self,
        period: Duration,
        (name, counts): (&str, &Task),
        log: &Logger,
        task: impl AsyncFn() -> Result<(), Error>,
    ) {
        let mut interval = tokio::time::interval(period);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let ended = task().await;
            counts.ended(&ended, self.now());
            if let Err(error) = ended {
                let cause = error
                    .cause()
                    .map_or_else(|| error.to_string(), ToString::to_string);
                warn!(log, "a background task failed and will be tried again"; "task" => name, "error" => cause);
            }
        }
    }

    /// Hands the uses of keys and sessions that were noted since the last call to the store. Keeps them
    /// when the store cannot take them now.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn record_uses(&self) -> Result<(), Error> {
        let keys = async |uses: Vec<_>| {
            let record = async move |sql: Sql<'_>| api_key::record_uses(sql, &uses).await;
            self.store.write(Holder::Service, record).await
        };
        let sessions = async |uses: Vec<_>| {
            let uses: Vec<_> = uses.into_iter().map(|(id, at, ())| (id, at)).collect();
            let record = async move |sql: Sql<'_>| session::record_uses(sql, &uses).await;
            self.store.write(Holder::Service, record).await
        };
        let browsers = async |uses: Vec<_>| {
            let uses: Vec<_> = uses.into_iter().map(|(id, at, ())| (id, at)).collect();
            let record = async move |sql: Sql<'_>| browser_session::record_uses(sql, &uses).await;
            self.store.write(Holder::Service, record).await
        };
        let keys = self.key_uses.hand_over(keys).await;
        let sessions = self.session_uses.hand_over(sessions).await;
        let browsers = self.browser_uses.hand_over(browsers).await;
        keys.and(sessions).and(browsers)
    }

    /// Erases the sealed pairs whose grace has ended ([`super::session`], Refresh 6).
    ///
    /// # Errors
    /// What the store answers; what was erased until then stays erased.
    pub async fn erase_successors(&self) -> Result<(), Error> {
        let now = self.now();
        let erase = async move |sql: Sql<'_>| erase_successors(sql, now).await;
        while self.store.write(Holder::Service, erase).await? == u64::from(STEP) {}
        self.store.forget_pairs(now).await
    }
}

/// Erases the sealed pairs of at most [`STEP`] tokens whose grace does not run `now`: it has ended, or the token is to be
/// spent only so long after now, by a clock that was wrong. Another replica's clock may be ahead of ours by some minutes,
/// and its pairs are good all the same; of SQLite there is one process.
async fn erase_successors(sql: Sql<'_>, now: Timestamp) -> Result<u64, ScriptError> {
    let last = match sql {
        Sql::Sqlite(_) => now.after(GRACE),
        Sql::Postgres(_) => now.after(AHEAD),
    };
    sql.run(session::erase_successors(now.before(GRACE), last, STEP))
        .await
}

/// How many rows a step may still delete.
pub(super) struct Budget {
    limit: u32,
    left: u32,
}

impl Budget {
    pub(super) fn of(limit: u32) -> Budget {
        Budget { limit, left: limit }
    }

    /// As many may still go.
    pub(super) fn rows(&self) -> u32 {
        self.left
    }

    /// As many have gone: no more than there were left, which the statement was told.
    pub(super) fn take(&mut self, deleted: impl Into<u64>) {
        self.left = self.left.saturating_sub(deleted.into() as u32);
    }

    /// As many have gone in all.
    pub(super) fn spent(&self) -> u32 {
        self.limit - self.left
    }
}

/// Deletes at most [`STEP`] rows of access tokens and unused codes that have expired, and of sessions that are over, with
/// all that belongs to them; says how many. The spent tokens and the code of a session that is alive stay, however old.
async fn delete_expired_sessions(sql: Sql<'_>, now: Timestamp) -> Result<u32, ScriptError> {
    let mut left = Budget::of(STEP);
    left.take(
        sql.run(session::delete_expired_access_tokens(now, left.rows()))
            .await?,
    );
    left.take(sql.run(auth_code::delete_expired(now, left.rows())).await?);
    for id in sql.run(session::lock_expired(now, left.rows())).await? {
        left.take(delete_session(sql, id, left.rows()).await?);
    }
    Ok(left.spent())
}

/// Deletes at most [`STEP`] rows of browser sessions that are over, of links, invitations, emails that users want, spent
/// challenges and counts that are too old, and of what was done or refused more than [`AUDIT_KEPT`] ago; says how many.
async fn delete_expired_of_people(sql: Sql<'_>, now: Timestamp) -> Result<u32, ScriptError> {
    let mut left = Budget::of(STEP);
    left.take(
        sql.run(browser_session::delete_over(now, left.rows()))
            .await?,
    );
    left.take(
        sql.run(one_time_link::delete_expired(now, left.rows()))
            .await?,
    );
    left.take(
        sql.run(invitation::delete_expired(now, left.rows()))
            .await?,
    );
    left.take(
        sql.run(email_change::delete_expired(now, left.rows()))
            .await?,
    );
    let mailed = now.before(Occasion::COUNTED_FOR);
    left.take(
        sql.run(mail_count::delete_before(mailed, left.rows()))
            .await?,
    );
    left.take(sql.run(passkey::delete_expired(now, left.rows())).await?);
    let counted = now.before(OF_ACCOUNT.within);
    left.take(
        sql.run(password::delete_wrong_before(counted, left.rows()))
            .await?,
    );
    let kept = now.before(AUDIT_KEPT);
    left.take(
        sql.run(refused_sign_in::delete_before(kept, left.rows()))
            .await?,
    );
    left.take(sql.run(audit::delete_before(kept, left.rows())).await?);
    Ok(left.spent())
}

/// Deletes a session, or as much of what belongs to it as `limit` allows: the session itself goes last.
pub(super) async fn delete_session(
    sql: Sql<'_>,
    id: SessionId,
    limit: u32,
) -> Result<u32, ScriptError> {
    let mut left = Budget::of(limit);
    left.take(
        sql.run(session::delete_access_tokens(id, left.rows()))
            .await?,
    );
    left.take(
        sql.run(session::delete_refresh_tokens(id, left.rows()))
            .await?,
    );
    left.take(
        sql.run(auth_code::delete_of_session(id, left.rows()))
            .await?,
    );
    if left.rows() > 0 {
        left.take(sql.run(session::delete(id)).await?);
    }
    Ok(left.spent())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_deletes_so_many_rows_of_all_kinds_together() {
        let mut left = Budget::of(10);
        assert_eq!((left.rows(), left.spent()), (10, 0));
        left.take(4_u64);
        assert_eq!((left.rows(), left.spent()), (6, 4));
        left.take(1_u32);
        assert_eq!((left.rows(), left.spent()), (5, 5));
    }
}
