//! Password hashes, and counts of wrong passwords.

use std::borrow::Cow;

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::password::{Source, WrongPasswords};
use crate::domain::secret::{Digest, Secret};
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of passwords.
    pub(super) mod row = "password", key [user_id];
    (user_id: Uuid, hash: Text, changed_at: Integer)
    ()
}

table! {
    /// The rows of counts.
    pub(super) mod wrong_row = "wrong_password", key [account, source];
    (account: Bytes, source: Bytes, count: Integer, begun_at: Integer)
    ()
}

/// Sets the password of a user, replacing any earlier one.
pub fn set(user_id: UserId, hash: &Secret, now: Timestamp) -> impl Batch {
    sql!(
        row::INSERT,
        " ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at"
    )
    .with(values![user_id, hash, now])
}

/// The password of a user.
pub fn find(user_id: UserId) -> impl Batch<Out = Option<Secret>> {
    sql!("SELECT hash FROM password WHERE user_id = $1")
        .with(values![user_id])
        .first(|row| Ok(row.take()?))
}

/// When the password of a user was set, if they have one.
pub fn find_changed_at(user_id: UserId) -> impl Batch<Out = Option<Timestamp>> {
    sql!("SELECT changed_at FROM password WHERE user_id = $1")
        .with(values![user_id])
        .first(|row| Ok(row.take()?))
}

/// The password of the user who has the email, ignoring case.
pub fn find_email<'a>(email: impl Into<Cow<'a, str>>) -> impl Batch<Out = Option<Secret>> {
    sql!(
        sqlite: [
            "SELECT hash FROM \"user\" JOIN password ON user_id = id WHERE lower(email) = lower($1) AND removed_at IS NULL",
        ],
        postgres: [
            "SELECT hash FROM \"user\" JOIN password ON user_id = id \
             WHERE lower(email COLLATE \"C\") = lower($1 COLLATE \"C\") AND removed_at IS NULL",
        ],
    )
    .with(values![email.into()])
    .first(|row| Ok(row.take()?))
}

/// As [`find`]; it cannot be changed before the end of the transaction.
pub fn hold(user_id: UserId) -> impl Batch<Out = Option<Secret>> {
    sql!("SELECT hash FROM password WHERE user_id = $1 FOR SHARE")
        .with(values![user_id])
        .first(|row| Ok(row.take()?))
}

/// Deletes the password of a user.
pub fn delete(user_id: UserId) -> impl Batch {
    sql!("DELETE FROM password WHERE user_id = $1").with(values![user_id])
}

/// How many wrong passwords there were for an account from a source. Locks the count until the end of the transaction. If
/// there is no count yet, one of zero is made, so that there is something to lock.
pub fn lock_wrong<'a>(
    account: &'a Digest,
    source: &'a Source,
    now: Timestamp,
) -> impl Batch<Out = WrongPasswords> {
    let none = WrongPasswords {
        count: 0,
        begun_at: now,
    };
    sql!(
        wrong_row::INSERT,
        " ON CONFLICT (account, source) DO UPDATE SET count = wrong_password.count RETURNING count, begun_at"
    )
    .with(values![account, &source.0, none.count, none.begun_at])
    .first(|row| {
        Ok(WrongPasswords {
            count: row.take()?,
            begun_at: row.take()?,
        })
    })
    .rule(move |counted| Ok(counted.unwrap_or(none)))
}

/// Writes a count.
pub fn set_wrong<'a>(
    account: &'a Digest,
    source: &'a Source,
    wrong: &'a WrongPasswords,
) -> impl Batch {
    sql!("UPDATE wrong_password SET count = $3, begun_at = $4 WHERE account = $1 AND source = $2")
        .with(values![account, &source.0, wrong.count, wrong.begun_at])
}

/// The counts of an account, for all sources: there are few.
pub fn list_wrong(account: &Digest) -> impl Batch<Out = Vec<WrongPasswords>> {
    sql!(
        "SELECT count, begun_at FROM wrong_password WHERE account = $1 ORDER BY begun_at LIMIT 1000"
    )
    .with(values![account])
    .all(|row| {
        Ok(WrongPasswords {
            count: row.take()?,
            begun_at: row.take()?,
        })
    })
}

/// Forgets a count.
pub fn forget_wrong<'a>(account: &'a Digest, source: &'a Source) -> impl Batch {
    sql!("DELETE FROM wrong_password WHERE account = $1 AND source = $2")
        .with(values![account, &source.0])
}

/// Forgets all counts of an account.
pub fn forget_all_wrong(account: &Digest) -> impl Batch {
    sql!("DELETE FROM wrong_password WHERE account = $1").with(values![account])
}

/// Subtracts one from the count of all sources, if the attempt was counted.
pub fn was_right(account: &Digest, counted: bool) -> impl Batch {
    sql!(
        "UPDATE wrong_password SET count = count - 1 WHERE account = $1 AND source = $2 AND count > 0 AND $3"
    )
    .with(values![account, Source::ALL.0.as_bytes(), counted])
}

/// Deletes at most `limit` counts that began before `time`; returns how many.
pub fn delete_wrong_before(time: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM wrong_password WHERE (account, source) IN ( \
             SELECT account, source FROM wrong_password WHERE begun_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![time, limit])
}
