//! Sessions: one signed-in device each, from the exchange of a code to the end.
//!
//! A session is alive until it is ended or `expires_at` is reached. Access tokens and refresh tokens are random texts that
//! name it. The store holds their SHA-256, and for half a minute one pair that it cannot read itself ([`grace`]), so a
//! reader of the database can use none of them. All that one exchange reads and changes is one write transaction, and writes
//! run one after another: of two uses of a code or token, one is first.
//!
//! # Exchange of an authorization code (RFC 6749, 4.1.3; RFC 7636, 4.6)
//!
//! - **Code 1** Before the transaction: take the digests of the code and of the verifier, find the code's user, wait until
//!   no other request is exchanging the code, and draw the session's id and a pair of tokens. A refusal costs as much as a
//!   grant.
//! - **Code 2** A code that was used before ends the session that its first use started, whatever comes with it: one of the
//!   two uses is a thief's (RFC 6749, 4.1.2). `invalid_grant`.
//! - **Code 3** A client that does not exist is `invalid_client`.
//! - **Code 4** An unknown code, one that is 60 seconds old, a client other than the code's, a redirect URI that differs in
//!   any character, or a verifier that does not match the challenge: `invalid_grant`, one answer for all of them. The code
//!   stays as it was.
//! - **Code 5** Otherwise the session starts, and the code is marked with it. A used code is kept as long as its session,
//!   for Code 2; after that there is nothing left for another use to end.
//!
//! # Refresh (RFC 6749, 6; RFC 9700, 4.14.2)
//!
//! - **Refresh 1** Before the transaction: take the digest of the presented token, find its session and user, wait until no
//!   other token of the session is being handled, draw the successor pair, and seal it under a key derived from the
//!   presented token ([`grace`]).
//! - **Refresh 2** A token that is unknown, or whose session is over, is `invalid_grant`. A spent token stays
//!   known as long as its session.
//! - **Refresh 3** An unspent token ends the grace of the token before it, whether it is granted or not: the client that
//!   presents it has received it, so no answer was lost. The sealed pair is erased.
//! - **Refresh 4** An unspent token with a client other than the session's, or with another or no install id when the
//!   session started with one, is `invalid_grant`, and stays unspent.
//! - **Refresh 5** Otherwise the unspent token is spent. The successor pair is stored, sealed for the grace; the session
//!   lives 30 days from now, but never beyond 90 days from its start.
//! - **Refresh 6** A spent token that comes with the right client and install id, within 30 seconds of Refresh 5 and
//!   before Refresh 3 has erased the pair, gets the same pair again, with what is left of the access token's hour:
//!   the answer was lost on its way, or two refreshes ran at once. If PostgreSQL may have committed Refresh 5 so late
//!   that nobody waited for it any more, the 30 seconds begin then ([`underway`](crate::domain::session::underway)).
//! - **Refresh 7** Any other spent token ends its session: two parties hold it, and one is a thief. `invalid_grant`.
//!
//! In Refresh 2 and Refresh 4 a client that does not exist is `invalid_client` instead. This does not apply in Code 2 and
//! Refresh 7: naming such a client must not be a way to try a spent secret in silence. No client is ever
//! `unauthorized_client`, since each may use both grants.
//!
//! The rulings themselves are in [`rules`](crate::domain::session::rules): plain functions.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::exchange_turns::ExchangeTurn;
use super::session_end::end_by_token;
use super::user::require_user_exists;
use super::{App, Presented};
use crate::domain::Error;
use crate::domain::auth_code::CodeChallenge;
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, SessionId, UserId};
use crate::domain::list::Part;
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::{Digest, Secret};
use crate::domain::session::pair::TokenPair;
use crate::domain::session::rules::{
    ACCESS_TOKEN_LIFETIME, GrantError, KnownToken, RefreshGrant, access_token_expires_at,
    grace_to_end, rule_on_code, rule_on_refresh, session_expires_at,
};
use crate::domain::session::underway::Watch;
use crate::domain::session::{
    CodeExchange, Device, Refresh, Refreshed, Session, SignedIn, TokenRequest, TokenSet, grace,
};
use crate::domain::subject::Subject;
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Sql, auth_code, oauth_client, session, token};

impl App {
    /// Exchanges a code or a refresh token for a pair of tokens, as described [above](self).
    ///
    /// # Errors
    /// [`Error::InvalidGrant`], [`Error::GrantReused`], [`Error::InvalidClient`].
    pub async fn exchange_token(&self, request: TokenRequest) -> Result<TokenSet, Error> {
        let exchanged = match request {
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
        };
        let tokens = self.counts.tokens.refusing(exchanged)?;
        // A caller who presents this token is no stranger.
        let access_token = tokens.access_token.digest();
        self.known.note(&access_token, tokens.user_id.into());
        Ok(tokens)
    }

    async fn exchange_code(
        &self,
        code: &Secret,
        challenge: CodeChallenge,
        redirect_uri: String,
        client_id: ClientId,
        device: Device,
    ) -> Result<TokenSet, Error> {
        // Code 1
        let turn = self.code_turn(&code.digest()).await?;
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
        let user_id = self.carry_out_exchange(turn.holder, exchange).await?;
        self.counts.tokens.issued.one();
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
        // Refresh 1
        let turn = self.token_turn(&token.digest()).await?;
        let now = self.now();
        let pair = TokenPair::draw();
        let refresh = Refresh {
            token: token.digest(),
            client_id,
            device,
            pair: pair.digests(),
            sealed: grace::seal(token, &pair)?,
            watch: self.watch(),
            now,
        };
        let event_id = self.ids.next(now);
        let script = async move |sql: Sql<'_>| refresh_token(sql, &refresh, event_id).await;
        let refreshed = self
            .store
            .write_in_group(turn.holder, [turn.subject], script)
            .await??;
        let pair = match &refreshed.given_before {
            Some(sealed) => {
                self.counts.tokens.repeated.one();
                grace::open(token, sealed)?
            }
            None => {
                self.counts.tokens.refreshed.one();
                pair
            }
        };
        Ok(token_set(
            pair,
            refreshed.user_id,
            refreshed.expires_at,
            now,
        ))
    }

    /// Looks which transactions are under way: before the first request, and then every few seconds
    /// ([`underway`](crate::domain::session::underway)).
    ///
    /// # Errors
    /// Any store error.
    pub async fn look_for_late_commits(&self) -> Result<(), Error> {
        let now = self.now();
        let look = async |sql: Sql<'_>| sql.run(token::list_underway()).await;
        if let Some(transactions) = self.store.read(Holder::Service, look).await? {
            Arc::make_mut(&mut self.lock_watch()).note(now, transactions);
        }
        Ok(())
    }

    /// What this process has seen of late commits.
    pub(super) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.lock_watch())
    }

    fn lock_watch(&self) -> MutexGuard<'_, Arc<Watch>> {
        // Nothing panics while it is locked.
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a token's session.
    ///
    /// # Errors
    /// As for [`ExchangeTurns::next`](super::exchange_turns::ExchangeTurns::next); any store error.
    pub(super) async fn token_turn(&self, token: &Digest) -> Result<ExchangeTurn, Error> {
        let find = token::find_session(*token);
        let session = self
            .store
            .look_up_sign_in(Holder::Exchanges, find, 1)
            .await?;
        let (subject, user_id) = match session {
            Some((id, user_id)) => (Subject::session(id), Some(user_id)),
            None => (Subject::presented(token), None),
        };
        self.exchange_turns.next(subject, user_id).await
    }

    /// Waits for the turn of a code.
    ///
    /// # Errors
    /// As for [`ExchangeTurns::next`](super::exchange_turns::ExchangeTurns::next); any store error.
    async fn code_turn(&self, code: &Digest) -> Result<ExchangeTurn, Error> {
        let find = auth_code::find_user(*code);
        let user_id = self
            .store
            .look_up_sign_in(Holder::Exchanges, find, 1)
            .await?;
        let subject = Subject::presented(code);
        self.exchange_turns.next(subject, user_id).await
    }

    /// Steps Code 2 to Code 5: signs a user in, with the given session and pair of tokens, and returns the user.
    pub(crate) async fn carry_out_exchange(
        &self,
        holder: impl Into<Holder>,
        exchange: CodeExchange,
    ) -> Result<UserId, Error> {
        let event_id = self.ids.next(exchange.now);
        let script = async move |sql: Sql<'_>| exchange_code(sql, &exchange, event_id).await;
        Ok(self.store.write(holder, script).await??)
    }

    /// The access token that a request presented.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when it is malformed.
    pub fn presented_access_token(&self, text: &str) -> Result<Presented, Error> {
        match Secret::is_base64url(text) {
            true => Ok(self.presented(text)),
            false => Err(Error::InvalidToken),
        }
    }

    /// The user of the presented access token, in a live session.
    ///
    /// # Errors
    /// [`Error::InvalidToken`]; any store error.
    pub async fn look_up_access_token(&self, presented: Presented) -> Result<SignedIn, Error> {
        let now = self.now();
        let Presented { digest, holder } = presented;
        let find = token::find_access_token(digest, now);
        let found = self.store.look_up_credential(holder, find).await;
        let found = found.and_then(|found| found.ok_or(Error::InvalidToken));
        let user = |(found, _): &(SignedIn, _)| found.user_id.into();
        let (signed_in, last_used_at) = self.looked_up(presented, found, user)?;
        self.session_uses
            .note(signed_in.session_id, now, Some(last_used_at), || ());
        Ok(signed_in)
    }

    /// [`presented_access_token`](App::presented_access_token) and
    /// [`look_up_access_token`](App::look_up_access_token) in one step.
    ///
    /// # Errors
    /// [`Error::InvalidToken`]; any store error.
    pub async fn authenticate_access_token(&self, token: &Secret) -> Result<SignedIn, Error> {
        let presented = self.presented_access_token(token.reveal())?;
        self.look_up_access_token(presented).await
    }

    /// The live sessions of a user, or of all users, newest first.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such user; any store error.
    pub async fn list_sessions(
        &self,
        user_id: Option<UserId>,
        part: Part<SessionId>,
    ) -> Result<Vec<Session>, Error> {
        let now = self.now();
        let calls = async move |sql: Sql<'_>| match user_id {
            Some(id) => {
                let list = session::list(id, now, part);
                let ((), sessions) = sql.run((require_user_exists(id), list)).await?;
                Ok(sessions)
            }
            None => sql.run(session::list_all(now, part)).await,
        };
        self.store.read(Holder::Service, calls).await
    }

    /// The session with this id, if it is alive.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such session, or it has ended; any store error.
    pub async fn get_session(&self, id: SessionId) -> Result<Session, Error> {
        let now = self.now();
        let calls = async move |sql: Sql<'_>| sql.run(session::find(id, now)).await;
        let found = self.store.read(Holder::Service, calls).await?;
        found.ok_or_else(|| Session::missing(id))
    }
}

/// Steps Code 2 to Code 5: the user who is signed in, or why the grant is refused. A refusal may end a session, so it is
/// returned as a value and not as an error, which would undo that.
async fn exchange_code(
    sql: Sql<'_>,
    exchange: &CodeExchange,
    event_id: AuditEventId,
) -> Result<Result<UserId, GrantError>, ScriptError> {
    // The client first, as in every change to a client and its codes.
    let client = oauth_client::hold(&exchange.client_id);
    let code = auth_code::lock(&exchange.code);
    let (client_exists, known) = sql.run((client, code)).await?;
    let ruling = rule_on_code(known.as_ref(), client_exists, exchange);
    match (ruling, known) {
        (Ok(user_id), Some(known)) => {
            begin_session(sql, user_id, known.generation, exchange).await?;
        }
        (Ok(_), None) => return Err(Error::internal("an unknown code was granted").into()),
        (Err(GrantError::Reused(id)), Some(known)) => {
            let event = (event_id, exchange.now);
            end_by_token(sql, (id, known.code.user_id), &exchange.device, event).await?; // Code 2
        }
        (Err(_), _) => {}
    }
    Ok(ruling)
}

/// Code 5
async fn begin_session(
    sql: Sql<'_>,
    user_id: UserId,
    generation: i64,
    exchange: &CodeExchange,
) -> Result<(), ScriptError> {
    let (id, now) = (exchange.session_id, exchange.now);
    let session = Session {
        id,
        user_id,
        client_id: exchange.client_id.clone(),
        install_id: exchange.device.install_id.clone(),
        user_agent: exchange.device.user_agent.clone(),
        created_at: now,
        last_used_at: now,
        expires_at: session_expires_at(now, now),
    };
    let insert = session::insert(&session, generation);
    let used = auth_code::mark_used(&exchange.code, id);
    let pair = token::insert_pair(id, &exchange.pair, access_token_expires_at(now, now));
    sql.run((insert, used, pair)).await?;
    Ok(())
}

/// Steps Refresh 2 to Refresh 7: the pair that counts, or why there is none. A refusal is a value, as in [`exchange_code`].
async fn refresh_token(
    sql: Sql<'_>,
    refresh: &Refresh,
    event_id: AuditEventId,
) -> Result<Result<Refreshed, GrantError>, ScriptError> {
    let token = token::lock_refresh_token(&refresh.token);
    let client = oauth_client::exists(&refresh.client_id);
    let (known, client_exists) = sql.run((token, client)).await?;
    let known = known.as_ref();
    match (rule_on_refresh(known, client_exists, refresh), known) {
        (Ok(grant), Some(known)) => carry_out_refresh(sql, grant, known, refresh).await.map(Ok),
        (Ok(_), None) => Err(Error::internal("an unknown token was granted").into()),
        (Err(error), known) => {
            sql.run(grace_to_end(known).map(session::end_grace)).await?;
            if let (GrantError::Reused(id), Some(known)) = (error, known) {
                let event = (event_id, refresh.now);
                end_by_token(sql, (id, known.user_id), &refresh.device, event).await?; // Refresh 7
            }
            Ok(Err(error))
        }
    }
}

/// Refresh 5 and Refresh 6
async fn carry_out_refresh(
    sql: Sql<'_>,
    grant: RefreshGrant,
    known: &KnownToken,
    refresh: &Refresh,
) -> Result<Refreshed, ScriptError> {
    let (issued_at, given_before) = match grant {
        RefreshGrant::Rotate => (refresh.now, None),
        RefreshGrant::Repeat(successor, spent_at) => (spent_at, Some(successor)),
    };
    let expires_at = access_token_expires_at(known.created_at, issued_at);
    if given_before.is_none() {
        rotate(sql, known, refresh, expires_at).await?;
    }
    Ok(Refreshed {
        user_id: known.user_id,
        given_before,
        expires_at,
    })
}

/// Refresh 3 and Refresh 5: ends the grace of the token before, and only then starts that of this one.
async fn rotate(
    sql: Sql<'_>,
    known: &KnownToken,
    refresh: &Refresh,
    expires_at: Timestamp,
) -> Result<(), ScriptError> {
    let (id, now) = (known.session_id, refresh.now);
    let session_ends = session_expires_at(known.created_at, now);
    sql.run((
        grace_to_end(Some(known)).map(session::end_grace),
        token::mark_spent(refresh),
        token::insert_pair(id, &refresh.pair, expires_at),
        session::extend(id, session_ends, now, &refresh.device.user_agent),
    ))
    .await?;
    Ok(())
}

fn token_set(pair: TokenPair, user_id: UserId, expires_at: Timestamp, now: Timestamp) -> TokenSet {
    TokenSet {
        access_token: pair.access,
        refresh_token: pair.refresh,
        // The clock may have stepped back since the pair was first given; no answer promises more than the token's hour.
        expires_in: expires_at.since(now).min(ACCESS_TOKEN_LIFETIME).as_secs(),
        user_id,
    }
}
