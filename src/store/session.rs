//! What a store keeps of codes, sessions and tokens.
//!
//! The protocol is told in [`crate::domain::session`]. A store reads what is on record, asks
//! [`rules`](crate::domain::session::rules) for a ruling and carries it out, all in one transaction. An exchange
//! that is refused may change something (a session ends), so a refusal is an answer here and no error.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::auth_code::AuthCode;
use crate::domain::id::{SessionId, UserId};
use crate::domain::secret::Digest;
use crate::domain::session::rules::Refusal;
use crate::domain::session::{CodeExchange, Refresh, Refreshed, Session, SignedIn};
use crate::domain::time::Timestamp;

/// Codes, sessions and tokens in the store.
#[async_trait]
pub trait SessionStore {
    /// Keeps a code that is about to be handed out.
    ///
    /// # Errors
    /// `User::missing` and
    /// `OauthClient::missing`, or its `foreign_redirect_uri`.
    async fn issue_auth_code(&self, code: AuthCode) -> Result<(), Error>;

    /// Steps C2 to C5: who is signed in, or why nobody is.
    ///
    /// # Errors
    /// As every change.
    async fn exchange_code(&self, exchange: CodeExchange)
    -> Result<Result<UserId, Refusal>, Error>;

    /// Steps R2 to R7.
    ///
    /// # Errors
    /// As every change.
    async fn refresh(&self, refresh: Refresh) -> Result<Result<Refreshed, Refusal>, Error>;

    /// Who is behind an access token that has not expired, and not for longer than
    /// [`latest_access_token`](crate::domain::session::rules::latest_access_token), in a session that has not ended; and the
    /// minute that the session is known to have been used last.
    ///
    /// # Errors
    /// As every read.
    async fn find_access_token(
        &self,
        token: Digest,
        now: Timestamp,
    ) -> Result<Option<(SignedIn, Timestamp)>, Error>;

    /// The sessions of a user that are alive, newest first.
    ///
    /// # Errors
    /// `User::missing`.
    async fn list_sessions(&self, user_id: UserId, now: Timestamp) -> Result<Vec<Session>, Error>;

    /// Ends a session, unless it has ended before.
    ///
    /// # Errors
    /// `Session::missing`.
    async fn revoke_session(&self, id: SessionId, now: Timestamp) -> Result<(), Error>;

    /// Notes when sessions were last used; a time before the one already noted changes nothing.
    ///
    /// # Errors
    /// As every change.
    async fn record_session_uses(&self, uses: Vec<(SessionId, Timestamp)>) -> Result<(), Error>;

    /// Erases the sealed pairs of at most `limit` tokens whose grace does not run `now`; says how many. It has
    /// ended [`GRACE`](crate::domain::session::rules::GRACE) after a token was spent; and a token that is to be spent
    /// only so long after now was spent by a clock that was wrong.
    ///
    /// # Errors
    /// As every change.
    async fn erase_successors(&self, now: Timestamp, limit: u32) -> Result<u32, Error>;

    /// Deletes at most `limit` rows of access tokens and unused codes that have expired, and of sessions that
    /// are over, with all that belongs to them; says how many. The spent tokens and the code of a session
    /// that is alive stay, however old they are.
    ///
    /// # Errors
    /// As every change.
    async fn delete_expired_sessions(&self, now: Timestamp, limit: u32) -> Result<u32, Error>;
}
