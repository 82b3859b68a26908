//! Counts of letters sent, shared by all replicas.

use std::time::Duration;

use uuid::Uuid;

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::letter::Occasion;
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of counts.
    pub(super) mod row = "mail_count", key [subject, occasion];
    (subject: Uuid, occasion: Text, count: Integer, begun_at: Integer)
    ()
}

/// Counts one more letter at `now`, unless there were `most` in the current period, which lasts `within`. Returns whether it
/// did. Locks the count until the end of the transaction. A count that started more than `within` in the future comes from a
/// wrong clock, and must not hold back a letter.
pub fn one_more(
    subject: impl Into<Uuid>,
    occasion: Occasion,
    now: Timestamp,
    (most, within): (i64, Duration),
) -> impl Batch<Out = bool> {
    sql!(
        row::INSERT,
        " ON CONFLICT (subject, occasion) DO UPDATE \
         SET count = CASE WHEN mail_count.begun_at > $5 AND mail_count.begun_at <= $6 \
                 THEN mail_count.count + 1 ELSE 1 END, \
             begun_at = CASE WHEN mail_count.begun_at > $5 AND mail_count.begun_at <= $6 \
                 THEN mail_count.begun_at ELSE excluded.begun_at END \
         WHERE mail_count.count < $7 OR mail_count.begun_at <= $5 OR mail_count.begun_at > $6"
    )
    .with(values![
        subject.into(),
        occasion,
        1_i64,
        now,
        now.before(within),
        now.after(within),
        most
    ])
    .rule(|counted: u64| Ok(counted > 0))
}

/// Whether there may be one more letter, as for [`one_more`], which counts it.
pub fn has_room(
    subject: impl Into<Uuid>,
    occasion: Occasion,
    now: Timestamp,
    (most, within): (i64, Duration),
) -> impl Batch<Out = bool> {
    sql!(
        "SELECT 1 FROM mail_count WHERE subject = $1 AND occasion = $2 AND begun_at > $3 AND begun_at <= $4 \
         AND count >= $5"
    )
    .with(values![
        subject.into(),
        occasion,
        now.before(within),
        now.after(within),
        most
    ])
    .exists()
    .rule(|is_full| Ok(!is_full))
}

/// How many letters of each kind a user had, and since when; at most one entry per occasion.
pub fn list(user_id: UserId) -> impl Batch<Out = Vec<(Occasion, i64, Timestamp)>> {
    sql!("SELECT occasion, count, begun_at FROM mail_count WHERE subject = $1 ORDER BY occasion")
        .with(values![user_id])
        .all(|row| Ok((row.take()?, row.take()?, row.take()?)))
}

/// Forgets all counts of a user.
pub fn delete_all(subject: impl Into<Uuid>) -> impl Batch {
    sql!("DELETE FROM mail_count WHERE subject = $1").with(values![subject.into()])
}

/// Deletes at most `limit` counts that began before `time`; returns how many.
pub fn delete_before(time: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM mail_count WHERE (subject, occasion) IN ( \
             SELECT subject, occasion FROM mail_count WHERE begun_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![time, limit])
}
