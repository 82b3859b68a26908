//! Sessions: one signed-in device each, from the exchange of a code to the end.
//!
//! A session is alive while nobody has ended it and `expires_at` lies ahead. Access tokens and refresh
//! tokens are random texts that name it. The store holds their SHA-256, and for half a minute one pair
//! that it cannot read itself ([`grace`]), so whoever reads the database can use none of them. All that
//! one exchange looks at and changes is one write transaction, and writes happen one after the other: of
//! two uses of a code or token, one is first.
//!
//! # Exchange of an authorization code (RFC 6749, 4.1.3; RFC 7636, 4.6)
//!
//! - **C1** Before the transaction: take the digests of the code and of the verifier, and draw the
//!   session's id and a pair of tokens. A refusal costs what a grant costs.
//! - **C2** A code that was used before ends the session that its first use began, whatever comes with
//!   it: one of the two uses is a thief's (RFC 6749, 4.1.2). `invalid_grant`.
//! - **C3** A client that does not exist is `invalid_client`.
//! - **C4** An unknown code, one that is 60 seconds old, another client than the code's, another redirect
//!   URI in any character, or a verifier that does not answer the challenge: `invalid_grant`, one answer
//!   for all of them. The code stays as it was.
//! - **C5** Otherwise the session begins, and the code is marked with it. A used code is kept as long as
//!   its session, for C2; after that there is nothing that another use could end.
//!
//! # Refresh (RFC 6749, 6; RFC 9700, 4.14.2)
//!
//! - **R1** Before the transaction: take the digest of the presented token, draw the successor pair, and
//!   seal it under a key derived from the presented token ([`grace`]).
//! - **R2** A token that is unknown, or whose session is over, is `invalid_grant`. A spent token stays
//!   known as long as its session.
//! - **R3** An unspent token ends the grace of the token before it, whether it is granted or not: whoever
//!   presents it has received it, so no answer was lost. The sealed pair is erased.
//! - **R4** An unspent token with another client than the session's, or with another or no install id when
//!   the session began with one, is `invalid_grant`, and stays unspent.
//! - **R5** Otherwise the unspent token is spent. The successor pair is stored, sealed for the grace; the
//!   session lives 30 days from now, but never beyond 90 days from its beginning.
//! - **R6** A spent token that comes with the right client and install id, within 30 seconds of R5 and
//!   before R3 has erased the pair, gets the same pair again, with what is left of the access token's hour:
//!   the answer was lost on its way, or two refreshes ran at once.
//! - **R7** Any other spent token ends its session: two parties hold it, and one is a thief. `invalid_grant`.
//!
//! In R2 and R4 a client that does not exist is `invalid_client` instead. It changes nothing in C2 and R7:
//! naming one must not be a way to try a spent secret in silence. No client is ever
//! `unauthorized_client`, since each may use both grants.
//!
//! The rulings themselves are in [`rules`](crate::domain::session::rules): plain functions.

use super::App;
use crate::domain::Error;
use crate::domain::auth_code::CodeChallenge;
use crate::domain::id::{SessionId, UserId};
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::Secret;
use crate::domain::session::rules::{ACCESS_TOKEN_LIFETIME, access_token_expires_at};
use crate::domain::session::{
    CodeExchange, Device, Refresh, Session, SignedIn, TokenPair, TokenRequest, TokenSet, grace,
};
use crate::domain::time::Timestamp;

impl App {
    /// Exchanges a code or a refresh token for a pair of tokens, as told [above](self).
    ///
    /// # Errors
    /// [`Error::InvalidGrant`], [`Error::GrantReused`], [`Error::InvalidClient`].
    pub async fn exchange_token(&self, request: TokenRequest) -> Result<TokenSet, Error> {
        match request {
            TokenRequest::AuthorizationCode {
                code,
                code_verifier,
                redirect_uri,
                client_id,
                device,
            } => {
                let challenge = CodeChallenge::of(&code_verifier);
                self.exchange_code(&code, challenge, redirect_uri, client_id, device)
                    .await
            }
            TokenRequest::RefreshToken {
                refresh_token,
                client_id,
                device,
            } => self.refresh(&refresh_token, client_id, device).await,
        }
    }

    async fn exchange_code(
        &self,
        code: &Secret,
        challenge: CodeChallenge,
        redirect_uri: String,
        client_id: ClientId,
        device: Device,
    ) -> Result<TokenSet, Error> {
        // C1
        let now = self.now();
        let pair = TokenPair::draw();
        let exchange = CodeExchange {
            code: code.digest(),
            challenge,
            redirect_uri,
            client_id,
            device,
            session_id: self.ids.next(now),
            pair: pair.digests(),
            now,
        };
        let user_id = self.store.exchange_code(exchange).await??;
        Ok(token_set(
            pair,
            user_id,
            access_token_expires_at(now, now),
            now,
        ))
    }

    async fn refresh(
        &self,
        token: &Secret,
        client_id: ClientId,
        device: Device,
    ) -> Result<TokenSet, Error> {
        // R1
        let now = self.now();
        let pair = TokenPair::draw();
        let refresh = Refresh {
            token: token.digest(),
            client_id,
            device,
            pair: pair.digests(),
            sealed: grace::seal(token, &pair)?,
            now,
        };
        let refreshed = self.store.refresh(refresh).await??;
        let pair = match &refreshed.given_before {
            Some(sealed) => grace::open(token, sealed)?,
            None => pair,
        };
        Ok(token_set(
            pair,
            refreshed.user_id,
            refreshed.expires_at,
            now,
        ))
    }

    /// Who is behind an access token: its user, in a session that is alive.
    ///
    /// # Errors
    /// [`Error::InvalidToken`].
    pub async fn authenticate_access_token(&self, token: &Secret) -> Result<SignedIn, Error> {
        let now = self.now();
        let found = self.store.find_access_token(token.digest(), now).await?;
        let (signed_in, last_used_at) = found.ok_or(Error::InvalidToken)?;
        self.session_uses
            .note(signed_in.session_id, now, Some(last_used_at));
        Ok(signed_in)
    }

    /// The sessions of a user that are alive, newest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such user.
    pub async fn list_sessions(&self, user_id: UserId) -> Result<Vec<Session>, Error> {
        self.store.list_sessions(user_id, self.now()).await
    }

    /// Ends a session, at once and for ever. Revoking it again changes nothing.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such session. One that has been over for a while counts as that.
    pub async fn revoke_session(&self, id: SessionId) -> Result<(), Error> {
        self.store.revoke_session(id, self.now()).await
    }
}

fn token_set(pair: TokenPair, user_id: UserId, expires_at: Timestamp, now: Timestamp) -> TokenSet {
    TokenSet {
        access_token: pair.access,
        refresh_token: pair.refresh,
        // The clock may have stepped back since the pair was first given; no token promises more than its hour.
        expires_in: expires_at.since(now).min(ACCESS_TOKEN_LIFETIME).as_secs(),
        user_id,
    }
}
