//! The ways in which a user can sign in, among those that are switched on. Removing one locks the user first, so that of two
//! removals at once, one sees that its way is the last.

use super::Batch;
use crate::domain::id::UserId;
use crate::domain::ways_to_sign_in::{SwitchedOn, WaysToSignIn};
use crate::sql::{sql, values};

/// The ways of a user.
pub fn of(user_id: UserId, on: &SwitchedOn) -> impl Batch<Out = WaysToSignIn> {
    // No identity has an empty issuer.
    let issuer = on.issuer.as_deref().unwrap_or_default();
    sql!(
        "SELECT (SELECT count(*) FROM password WHERE user_id = $1 AND $2), \
             (SELECT count(*) FROM passkey WHERE user_id = $1 AND rp_id = $3), \
             (SELECT count(*) FROM identity WHERE user_id = $1 AND issuer = $4)"
    )
    .with(values![user_id, on.password, on.rp_id(), issuer])
    .first(|row| {
        let (passwords, passkeys): (i64, i64) = (row.take()?, row.take()?);
        let identities: i64 = row.take()?;
        Ok(WaysToSignIn {
            password: passwords > 0,
            passkey: passkeys > 0,
            provider: identities > 0,
        })
    })
    .rule(|found| Ok(found.unwrap_or_default()))
}
