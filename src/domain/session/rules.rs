//! Rules on whether a code or a refresh token is granted, given what is on record and what was presented.
//!
//! Plain functions: `app/session.rs` calls them inside a transaction, and carries out their rulings. The steps named
//! here are listed at the top of that file.

use std::time::Duration;

use aws_lc_rs::constant_time;

use super::grace::Sealed;
use super::underway::TransactionId;
use super::{CodeExchange, Refresh, Session};
use crate::domain::Error;
use crate::domain::auth_code::{AuthCode, CODE_LIFETIME};
use crate::domain::id::{SessionId, UserId};
use crate::domain::oauth_client::ClientId;
use crate::domain::time::Timestamp;

/// How long an access token works (docs/decisions.md, S5).
pub const ACCESS_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);
/// How long a session lives without a refresh.
pub const SESSION_IDLE: Duration = Duration::from_hours(30 * 24);
/// How long a session lives at most.
pub const SESSION_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// How far in the future a session may have started: by another replica's clock, or by this one's before it was
/// corrected.
const AHEAD: Duration = Duration::from_hours(24);

/// When a session that started at `created_at` and was refreshed `now` ends, unless it is refreshed again.
pub fn session_expires_at(created_at: Timestamp, now: Timestamp) -> Timestamp {
    now.after(SESSION_IDLE)
        .min(created_at.after(SESSION_LIFETIME))
}

/// When an access token issued at `issued_at` expires: never after its session.
pub fn access_token_expires_at(session_created_at: Timestamp, issued_at: Timestamp) -> Timestamp {
    issued_at
        .after(ACCESS_TOKEN_LIFETIME)
        .min(session_created_at.after(SESSION_LIFETIME))
}

/// The latest expiry of an access token that works `now`. One that would last longer was issued by a wrong clock; the
/// extra hour allows for the clocks of replicas, and for small corrections of one.
pub fn latest_access_token(now: Timestamp) -> Timestamp {
    now.after(2 * ACCESS_TOKEN_LIFETIME)
}

/// The same, for a code.
fn latest_code(now: Timestamp) -> Timestamp {
    now.after(CODE_LIFETIME + ACCESS_TOKEN_LIFETIME)
}

/// Why an exchange is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantError {
    /// There is no such client. The code or token stays as it was.
    InvalidClient,
    /// The code or token is not valid, or not valid for this client. It stays as it was.
    InvalidGrant,
    /// The code or token was used before. The session that it belongs to must be ended.
    Reused(SessionId),
}

impl From<GrantError> for Error {
    fn from(error: GrantError) -> Error {
        match error {
            GrantError::InvalidClient => Error::InvalidClient,
            GrantError::InvalidGrant => Error::InvalidGrant,
            GrantError::Reused(session_id) => Error::GrantReused(session_id),
        }
    }
}

/// A code on record.
#[derive(Clone, Debug)]
pub struct KnownCode {
    /// As it was issued.
    pub code: AuthCode,
    /// The session that its first use started; `None` while it is unused.
    pub session_id: Option<SessionId>,
    /// The generation of a session that its user starts now.
    pub generation: i64,
}

/// Rules on the exchange of a code, and returns who is signed in if it is granted.
///
/// # Errors
/// Why it is refused, and what follows from that.
pub fn rule_on_code(
    known: Option<&KnownCode>,
    client_exists: bool,
    presented: &CodeExchange,
) -> Result<UserId, GrantError> {
    if let Some(session_id) = known.and_then(|known| known.session_id) {
        return Err(GrantError::Reused(session_id)); // Code 2
    }
    if !client_exists {
        return Err(GrantError::InvalidClient); // Code 3
    }
    let good = |code: &&AuthCode| {
        presented.now < code.expires_at
            && code.expires_at <= latest_code(presented.now)
            && presented.client_id == code.client_id
            && presented.redirect_uri == code.redirect_uri
            && presented.challenge == code.challenge
    };
    let code = known.map(|known| &known.code).filter(good);
    code.map(|code| code.user_id) // Code 5
        .ok_or(GrantError::InvalidGrant) // Code 4
}

/// A refresh token on record, with its session.
#[derive(Clone, Debug)]
pub struct KnownToken {
    /// The session that it belongs to.
    pub session_id: SessionId,
    /// Who is signed in.
    pub user_id: UserId,
    /// The client that the session belongs to.
    pub client_id: ClientId,
    /// The installation that the session belongs to, if it started with one.
    pub install_id: Option<String>,
    /// When the session started.
    pub created_at: Timestamp,
    /// When the session ends by itself.
    pub expires_at: Timestamp,
    /// Whether the session has been ended already.
    pub ended: bool,
    /// When the token was spent; `None` while it is unspent.
    pub spent_at: Option<Timestamp>,
    /// The pair that it was spent for, while the grace lasts.
    pub successor: Option<Sealed>,
    /// The transaction that wrote the token last, if the store tells.
    pub written_by: Option<TransactionId>,
}

/// How a refresh is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshGrant {
    /// Spend the token and store the successor pair (Refresh 5).
    Rotate,
    /// Give again the pair that the token was spent for at this time (Refresh 6).
    Repeat(Sealed, Timestamp),
}

/// Refresh 3: the session whose grace ends because this token has come, however the refresh is ruled on.
pub fn grace_to_end(known: Option<&KnownToken>) -> Option<SessionId> {
    known
        .filter(|token| token.spent_at.is_none())
        .map(|token| token.session_id)
}

/// Rules on a refresh.
///
/// # Errors
/// Why it is refused, and what follows from that.
pub fn rule_on_refresh(
    known: Option<&KnownToken>,
    client_exists: bool,
    presented: &Refresh,
) -> Result<RefreshGrant, GrantError> {
    let unfit = match client_exists {
        true => GrantError::InvalidGrant,
        false => GrantError::InvalidClient,
    };
    // A session that starts in the future was started by a clock that was ahead, and would last longer by as much.
    let may_have_begun = |token: &KnownToken| token.created_at <= presented.now.after(AHEAD);
    let alive = |token: &&KnownToken| {
        !token.ended && presented.now < token.expires_at && may_have_begun(token)
    };
    let token = known.filter(alive).ok_or(unfit)?; // Refresh 2

    let install_id = presented.device.install_id.as_deref();
    let bound = client_exists
        && presented.client_id == token.client_id
        && is_same_install(token.install_id.as_deref(), install_id);
    let is_in_grace = |spent_at| {
        let watch = &presented.watch;
        watch.is_in_grace(spent_at, token.written_by, presented.now)
    };
    match (token.spent_at, &token.successor) {
        (None, _) if bound => Ok(RefreshGrant::Rotate), // Refresh 5
        (None, _) => Err(unfit),                        // Refresh 4
        (Some(spent_at), Some(successor)) if bound && is_in_grace(spent_at) => {
            Ok(RefreshGrant::Repeat(successor.clone(), spent_at)) // Refresh 6
        }
        (Some(_), _) => Err(GrantError::Reused(token.session_id)), // Refresh 7
    }
}

/// Rules on a revocation: which session it ends, if any. `known` is the refresh token that was presented, `session` the
/// live session of an access token that was.
///
/// # Errors
/// Why it is refused, and what follows from that.
pub fn rule_on_revocation(
    known: Option<&KnownToken>,
    session: Option<&Session>,
    client_exists: bool,
    client_id: &ClientId,
    now: Timestamp,
) -> Result<Option<SessionId>, GrantError> {
    let alive = known.filter(|token| !token.ended && now < token.expires_at);
    let of_refresh = alive.map(|it| (it.session_id, &it.client_id, it.spent_at.is_some()));
    let of_access = session.map(|it| (it.id, &it.client_id, false));
    match of_refresh.or(of_access) {
        Some((id, owner, _)) if client_exists && owner == client_id => Ok(Some(id)), // Revoke 2
        Some((id, _, true)) => Err(GrantError::Reused(id)),                          // Revoke 3
        _ if !client_exists => Err(GrantError::InvalidClient),                       // Revoke 4
        Some(_) => Err(GrantError::InvalidGrant),                                    // Revoke 5
        None => Ok(None),                                                            // Revoke 6
    }
}

/// A session that started without an install id is bound to none. The id helps keep a thief out, so it is compared like
/// a secret.
fn is_same_install(bound: Option<&str>, presented: Option<&str>) -> bool {
    let Some(bound) = bound else { return true };
    presented.is_some_and(|presented| {
        constant_time::verify_slices_are_equal(bound.as_bytes(), presented.as_bytes()).is_ok()
    })
}

#[cfg(test)]
mod tests;
