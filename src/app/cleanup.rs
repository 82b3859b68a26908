//! Background tasks beside the requests: they delete expired rows and what is left of removed users and deleted teams, record
//! uses of keys and sessions, and erase sealed pairs of tokens.
//!
//! Nothing depends on these running on time. Whatever has expired counts as absent from that moment on, whether or not its
//! row still exists.
//!
//! All run in bounded [`steps`](super::steps).

use std::sync::atomic::Ordering;
use std::time::Duration;

use slog::{Logger, warn};
use tokio::time::MissedTickBehavior;

use super::App;
use super::budget::Budget;
use super::counts::Task;
use super::steps::{STEP, StepSize};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::SessionId;
use crate::domain::idempotency::{AHEAD, NOTICED};
use crate::domain::letter::Occasion;
use crate::domain::password::OF_ACCOUNT;
use crate::domain::product_import::KEPT_FOR;
use crate::domain::session::grace::GRACE;
use crate::domain::session::underway::{LOOK_EVERY, TransactionId};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{
    Sql, api_key, audit, auth_code, browser_session, email_change, idempotency, invitation,
    mail_count, one_time_link, passkey, password, product_import, refused_sign_in, session, token,
};

/// Import plans deleted in one step: each may have five megabytes.
pub(super) const IMPORTS: u32 = 10;

/// How often expired rows are looked for.
const CLEANUP_EVERY: Duration = Duration::from_secs(60);

/// How long the audit is kept.
const AUDIT_KEPT: Duration = Duration::from_hours(400 * 24);

/// How often sealed pairs are erased, whose grace lasts 30 seconds.
const ERASE_EVERY: Duration = Duration::from_secs(5);

/// How often noted uses are recorded, which are kept to the minute.
const RECORD_USES_EVERY: Duration = Duration::from_secs(10);

impl App {
    /// Runs for ever, beside the requests. To stop it, drop it, and call [`App::record_uses`] once more. Failures are logged
    /// and tried again.
    pub async fn run_background_tasks(&self, log: &Logger) {
        let erase = async || self.erase_successors().await;
        let record = async || self.record_uses().await;
        let delete = async || self.delete_expired().await;
        let empty = async || self.empty_all().await;
        let counts = &self.counts;
        // Concurrently: a long deletion must not keep sealed pairs from being erased.
        tokio::join!(
            self.keep_looking(),
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
            // By itself, as it may take long: nothing else waits for what a user has left behind.
            self.repeat(
                CLEANUP_EVERY,
                ("emptying users and teams", &counts.empty),
                log,
                empty
            ),
        );
    }

    /// Looks for late commits, for ever. A look that fails is what makes the next one count as the first.
    async fn keep_looking(&self) {
        let mut interval = tokio::time::interval(LOOK_EVERY);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let _ = self.look_for_late_commits().await;
        }
    }

    /// Deletes everything that has expired, step by step, and what is left of deleted apps.
    ///
    /// # Errors
    /// Any store error; what was deleted by then stays deleted.
    pub async fn delete_expired(&self) -> Result<(), Error> {
        let now = self.now();
        let records =
            async move |sql: Sql<'_>, rows| sql.run(idempotency::delete_expired(now, rows)).await;
        let sessions =
            async move |sql: Sql<'_>, rows| delete_expired_sessions(sql, now, rows).await;
        let of_people =
            async move |sql: Sql<'_>, rows| delete_expired_of_people(sql, now, rows).await;
        let expired = now.before(KEPT_FOR);
        let imports = async move |sql: Sql<'_>, rows| {
            sql.run(product_import::delete_expired(expired, rows)).await
        };
        // A failure does not stop the others: one caller may be the cause.
        let deleted = self.delete_all(STEP, records).await;
        let deleted = deleted.and(self.date_records_ahead().await);
        let deleted = deleted.and(self.delete_all(STEP, sessions).await);
        let deleted = deleted.and(self.delete_all(STEP, of_people).await);
        let deleted = deleted.and(self.delete_all(IMPORTS, imports).await);
        deleted.and(self.go_on_deleting_oauth_clients().await)
    }

    /// A part of [`delete_expired`](App::delete_expired): dates the records anew that a wrong clock has dated far ahead, once it
    /// has found them [so often](NOTICED) in a row.
    ///
    /// # Errors
    /// Any store error.
    pub async fn date_records_ahead(&self) -> Result<(), Error> {
        let now = self.now();
        let are_ahead = async move |sql: Sql<'_>| sql.run(idempotency::are_ahead(now)).await;
        if !self.store.read(Holder::Service, are_ahead).await? {
            self.records_seen_ahead.store(0, Ordering::Relaxed);
            return Ok(());
        }
        if self.records_seen_ahead.fetch_add(1, Ordering::Relaxed) + 1 < NOTICED {
            return Ok(());
        }
        let date =
            async move |sql: Sql<'_>, rows| sql.run(idempotency::date_ahead(now, rows)).await;
        self.take_steps((STEP, 1), date).await
    }

    /// Takes steps of at most so many rows until one deletes fewer than it may.
    async fn delete_all(
        &self,
        most: u32,
        step: impl AsyncFn(Sql<'_>, u32) -> Result<u64, ScriptError> + Copy + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let mut size = StepSize::of(most, &self.store);
        loop {
            let may = size.rows();
            let deleted = self.take_step_of(&mut size, 1, step).await?;
            self.counts.expired_rows.add(deleted);
            if deleted < may.into() {
                return Ok(());
            }
        }
    }

    /// Runs a task now, then every `period`. After a long run it waits, instead of catching up.
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
                warn!(log, "a background task failed and will be tried again"; "task" => name, "error" => error.causes());
            }
        }
    }

    /// Hands the store the uses of keys and sessions noted since the last call. Keeps them if the store cannot take them
    /// now.
    ///
    /// # Errors
    /// Any store error.
    pub async fn record_uses(&self) -> Result<(), Error> {
        let keys = async |uses: Vec<_>| {
            let record = async move |sql: Sql<'_>| api_key::record_uses(sql, &uses).await;
            self.take_step(record).await
        };
        let sessions = async |uses: Vec<_>| {
            let uses: Vec<_> = uses.into_iter().map(|(id, at, ())| (id, at)).collect();
            let record = async move |sql: Sql<'_>| session::record_uses(sql, &uses).await;
            self.take_step(record).await
        };
        let browsers = async |uses: Vec<_>| {
            let uses: Vec<_> = uses.into_iter().map(|(id, at, ())| (id, at)).collect();
            let record = async move |sql: Sql<'_>| browser_session::record_uses(sql, &uses).await;
            self.take_step(record).await
        };
        let keys = self.key_uses.hand_over(keys).await;
        let sessions = self.session_uses.hand_over(sessions).await;
        let browsers = self.browser_uses.hand_over(browsers).await;
        keys.and(sessions).and(browsers)
    }

    /// Erases the sealed pairs whose grace has ended ([`super::session`], Refresh 6).
    ///
    /// # Errors
    /// Any store error; what was erased by then stays erased.
    pub async fn erase_successors(&self) -> Result<(), Error> {
        let now = self.now();
        let (by, late) = self.watch().out_of_grace(now);
        let erase =
            async move |sql: Sql<'_>, rows| erase_successors(sql, now, (by, &late), rows).await;
        self.take_steps((STEP, 1), erase).await?;
        self.store.forget_pairs(now).await
    }
}

/// Erases the sealed pairs of at most `rows` tokens whose grace does not run at `now`: it has ended, or the token's time
/// of spending lies so far after now that a wrong clock must have set it. Another replica's clock may be ahead of ours by
/// some minutes, and its pairs are valid all the same; SQLite has only one process. It has ended for those that were spent
/// `by` then, but not by one of the `late` transactions.
async fn erase_successors(
    sql: Sql<'_>,
    now: Timestamp,
    (by, late): (Timestamp, &[TransactionId]),
    rows: u32,
) -> Result<u64, ScriptError> {
    let last = match sql {
        Sql::Sqlite(_) => now.after(GRACE),
        Sql::Postgres(_) => now.after(AHEAD),
    };
    sql.run(token::erase_successors((by, last), late, rows))
        .await
}

/// Deletes at most `rows`: expired access tokens and unused codes, and sessions that are over, with all that belongs to them.
/// Returns how many. The spent tokens and the code of a live session stay, however old.
async fn delete_expired_sessions(
    sql: Sql<'_>,
    now: Timestamp,
    rows: u32,
) -> Result<u64, ScriptError> {
    let mut budget = Budget::of(rows);
    budget
        .spend(sql, |rows| token::delete_expired_access_tokens(now, rows))
        .await?;
    budget
        .spend(sql, |rows| auth_code::delete_expired(now, rows))
        .await?;
    let over = sql.run(session::lock_expired(now, budget.left())).await?;
    delete_sessions(sql, &over, &mut budget).await?;
    Ok(budget.spent())
}

/// Deletes at most `rows`: browser sessions that are over; links, invitations, requested email changes, spent challenges and
/// counts that are too old; and what was done or refused more than [`AUDIT_KEPT`] ago. Returns how many.
async fn delete_expired_of_people(
    sql: Sql<'_>,
    now: Timestamp,
    rows: u32,
) -> Result<u64, ScriptError> {
    let mut budget = Budget::of(rows);
    budget
        .spend(sql, |rows| browser_session::delete_over(now, rows))
        .await?;
    budget
        .spend(sql, |rows| one_time_link::delete_expired(now, rows))
        .await?;
    budget
        .spend(sql, |rows| invitation::delete_expired(now, rows))
        .await?;
    budget
        .spend(sql, |rows| email_change::delete_expired(now, rows))
        .await?;
    let mailed = now.before(Occasion::COUNTED_FOR);
    budget
        .spend(sql, |rows| mail_count::delete_before(mailed, rows))
        .await?;
    budget
        .spend(sql, |rows| passkey::delete_expired(now, rows))
        .await?;
    let counted = now.before(OF_ACCOUNT.within);
    budget
        .spend(sql, |rows| password::delete_wrong_before(counted, rows))
        .await?;
    let kept = now.before(AUDIT_KEPT);
    budget
        .spend(sql, |rows| refused_sign_in::delete_before(kept, rows))
        .await?;
    budget
        .spend(sql, |rows| audit::delete_before(kept, rows))
        .await?;
    Ok(budget.spent())
}

/// Deletes sessions with what belongs to them, as far as the budget allows. The sessions themselves go last.
pub(super) async fn delete_sessions(
    sql: Sql<'_>,
    ids: &[SessionId],
    budget: &mut Budget,
) -> Result<(), ScriptError> {
    budget
        .spend_by(async |rows| token::delete_access_tokens(sql, ids, rows).await)
        .await?;
    budget
        .spend_by(async |rows| token::delete_refresh_tokens(sql, ids, rows).await)
        .await?;
    budget
        .spend_by(async |rows| auth_code::delete_of_sessions(sql, ids, rows).await)
        .await?;
    // With no budget left, some of the above may still exist.
    if budget.left() > 0 {
        budget
            .spend_by(async |rows| session::delete(sql, ids, rows).await)
            .await?;
    }
    Ok(())
}
