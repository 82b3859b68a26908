//! Advisory locks that make row locks fair, on PostgreSQL (SQLite has only one writer).
//!
//! New sharers of a row lock may overtake a transaction that waits to lock the row alone. So a caller who keeps sharing a row
//! could keep it from ever being changed: a user who keeps changing things could never be deactivated. Sharers of an advisory
//! lock may not overtake. So both sides take one first, which is released with the transaction, after the commit is visible.
//!
//! PostgreSQL knows them by numbers. Two that share a number would only wait for each other. Releases share them while one
//! replaces the other, so the number of a lock does not change.

use uuid::Uuid;

use super::{Batch, Sql};
use crate::domain::id::{ApiKeyId, BrowserSessionId, TeamId, UserId};
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::Digest;
use crate::sql::{ScriptError, lock, values};

/// The locks. What relies on the named thing shares its lock; what changes or ends that takes it alone.
#[derive(Clone, Copy)]
pub(super) enum Lock<'a> {
    /// A key's validity.
    ApiKey(ApiKeyId),
    /// A session of a browser.
    BrowserSession(BrowserSessionId),
    /// The imports of a team. Each takes it alone, so they run one after the other.
    Imports(TeamId),
    /// A member's role.
    Member(TeamId, UserId),
    /// An app.
    OauthClient(&'a ClientId),
    /// A user, in all that changes.
    User(UserId),
    /// That a user joins no team.
    UserJoins(UserId),
    /// That a user is not removed.
    UserRemoval(UserId),
}

impl Lock<'_> {
    /// Its number: random bits of an id, or of the digest of a text.
    fn number(self) -> i64 {
        match self {
            Lock::ApiKey(id) => of_id(id.0),
            Lock::BrowserSession(id) => of_id(id.0),
            Lock::Imports(id) => of_id(id.0),
            Lock::Member(team_id, user_id) => of_id(team_id.0) ^ of_id(user_id.0).rotate_left(1),
            Lock::OauthClient(id) => of_text(id.as_str()),
            Lock::User(id) => of_id(id.0),
            Lock::UserRemoval(id) => of_id(id.0).wrapping_add(1),
            Lock::UserJoins(id) => of_id(id.0).wrapping_add(2),
        }
    }
}

fn of_id(id: Uuid) -> i64 {
    id.as_u64_pair().1.cast_signed()
}

fn of_text(text: &str) -> i64 {
    let digest = Digest::of(text.as_bytes());
    let mut number = [0; 8];
    number.copy_from_slice(&digest.as_bytes()[..8]);
    i64::from_be_bytes(number)
}

/// Waits for those that wait to have it alone, or do, and keeps others from that until the end of the transaction.
pub(super) fn share(of: Lock<'_>) -> impl Batch + use<> {
    lock!(
        one: ["SELECT pg_advisory_xact_lock_shared($1)"],
        many(1): [
            "SELECT pg_advisory_xact_lock_shared(number), number \
             FROM (SELECT unnest($1::bigint[]) AS number ORDER BY 1) AS asked"
        ],
    )
    .with(values![of.number()])
}

/// Waits until no other transaction has it, and lets none have it until the end of this one.
pub(super) fn alone(of: Lock<'_>) -> impl Batch + use<> {
    lock!("SELECT pg_advisory_xact_lock($1)").with(values![of.number()])
}

/// Takes several [`alone`], in the order of their numbers. PostgreSQL has room for some thousands over all transactions.
///
/// # Errors
/// As for every script.
pub(super) async fn all_alone(
    sql: Sql<'_>,
    of: impl Iterator<Item = Lock<'_>>,
) -> Result<(), ScriptError> {
    let numbers: Vec<i64> = of.map(Lock::number).collect();
    let lock = lock!(
        "SELECT pg_advisory_xact_lock(number) FROM (SELECT unnest($1::bigint[]) AS number ORDER BY 1) AS asked"
    );
    let lock = lock.with(values![numbers.as_slice()]);
    sql.run(lock).await.map(drop)
}
