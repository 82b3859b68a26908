//! Sign-ins that were refused ([`crate::domain::refused_sign_in`]).

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::refused_sign_in::{ROWS_PER_DAY, RefusedSignIn};
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of refused sign-ins.
    pub(super) mod row = "refused_sign_in", key [user_id, minute, client_address];
    ()
    RefusedSignIn { user_id: Uuid, minute: Integer, client_address: Text, count: Integer }
    ()
}

/// Whether this one has room: its row exists, or the day has fewer rows than it may have.
pub fn has_room(refused: &RefusedSignIn) -> impl Batch<Out = bool> {
    let RefusedSignIn {
        user_id,
        minute,
        client_address,
        ..
    } = refused;
    sql!(
        "SELECT 1 WHERE \
             (SELECT count(*) FROM refused_sign_in WHERE user_id = $1 AND minute >= $2) < $3 \
             OR EXISTS (SELECT 1 FROM refused_sign_in WHERE user_id = $1 AND minute = $4 AND client_address = $5)"
    )
    .with(values![
        user_id,
        minute.to_the_day(),
        ROWS_PER_DAY,
        minute,
        client_address
    ])
    .exists()
}

/// Counts one more. Counts nothing if the user does not exist, or is being removed at this moment. It does not wait for that:
/// a removal thus finds all rows that there will be.
pub fn count(refused: &RefusedSignIn) -> impl Batch {
    sql!(
        "INSERT INTO refused_sign_in (user_id, minute, client_address, count) \
         SELECT id, $2, $3, $4 FROM \"user\" WHERE id = $1 AND removed_at IS NULL FOR KEY SHARE SKIP LOCKED \
         ON CONFLICT (user_id, minute, client_address) DO UPDATE SET count = refused_sign_in.count + excluded.count"
    )
    .with(row::values(refused))
}

/// Subtracts one again.
pub fn take_off(refused: &RefusedSignIn) -> impl Batch {
    let RefusedSignIn {
        user_id,
        minute,
        client_address,
        ..
    } = refused;
    (
        sql!(
            "UPDATE refused_sign_in SET count = count - 1 WHERE user_id = $1 AND minute = $2 AND client_address = $3"
        )
        .with(values![user_id, minute, client_address]),
        sql!(
            "DELETE FROM refused_sign_in WHERE user_id = $1 AND minute = $2 AND client_address = $3 AND count <= 0"
        )
        .with(values![user_id, minute, client_address]),
    )
}

/// The refused sign-ins to a user's account since `time`, newest first.
pub fn list(user_id: UserId, time: Timestamp, limit: u32) -> impl Batch<Out = Vec<RefusedSignIn>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM refused_sign_in WHERE user_id = $1 AND minute > $2 ORDER BY minute DESC, client_address LIMIT $3"
    )
    .with(values![user_id, time, limit])
    .all(row::read)
}

/// Deletes at most `limit` refused sign-ins to a user's account; returns how many.
pub fn delete_some(user_id: UserId, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM refused_sign_in WHERE (user_id, minute, client_address) IN ( \
             SELECT user_id, minute, client_address FROM refused_sign_in WHERE user_id = $1 LIMIT $2)"
    )
    .with(values![user_id, limit])
}

/// Deletes at most `limit` rows from before `time`; returns how many.
pub fn delete_before(time: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM refused_sign_in WHERE (user_id, minute, client_address) IN ( \
             SELECT user_id, minute, client_address FROM refused_sign_in WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![time, limit])
}
