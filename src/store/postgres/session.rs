//! Codes, sessions and tokens in PostgreSQL. The steps (C2, R7, ...) are those of [`crate::domain::session`].
//!
//! Two exchanges that touch one session come one after the other: a refresh locks the row of its session
//! before it looks at the token, an exchange the row of its code. What is read afterwards is what the one
//! before has committed, on whichever replica, and the rules rule on that.
//!
//! A sealed pair that was erased is out of its row, not off the disk: the dead version of the row stays until it is
//! vacuumed and written over, and the write-ahead log, its archive and every backup have it for as long as they are
//! kept. SQLite forgets pairs by forgetting keys (`sqlite/pair.rs`); here the same log would have the keys. README.md
//! tells operators.

mod expired;

use async_trait::async_trait;
use futures::future::try_join;
use tokio_postgres::Row;

use super::Postgres;
use super::oauth_client::{client_exists, require_redirect_uri};
use super::sql::{Failure, Sql};
use super::user::require_user;
use super::values::params;
use crate::domain::Error;
use crate::domain::auth_code::{AuthCode, CodeChallenge};
use crate::domain::id::{SessionId, UserId};
use crate::domain::secret::Digest;
use crate::domain::session::rules::{
    KnownCode, KnownToken, RefreshGrant, Refusal, access_token_expires_at, latest_access_token,
    rule_on_code, rule_on_refresh, session_expires_at,
};
use crate::domain::session::{CodeExchange, Refresh, Refreshed, Session, SignedIn};
use crate::domain::time::Timestamp;
use crate::store::SessionStore;

#[async_trait]
impl SessionStore for Postgres {
    async fn issue_auth_code(&self, code: AuthCode) -> Result<(), Error> {
        let insert = "INSERT INTO auth_code \
             (digest, user_id, client_id, redirect_uri, code_challenge, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)";
        let code = &code;
        self.write(|sql| async move {
            require_user(&sql, code.user_id).await?;
            require_redirect_uri(&sql, &code.client_id, &code.redirect_uri).await?;
            let challenge = code.challenge.digest();
            let values = params![
                code.digest,
                code.user_id,
                code.client_id,
                code.redirect_uri,
                challenge,
                code.expires_at,
            ];
            sql.execute(insert, values).await?;
            Ok(())
        })
        .await
    }

    async fn exchange_code(
        &self,
        exchange: CodeExchange,
    ) -> Result<Result<UserId, Refusal>, Error> {
        let exchange = &exchange;
        self.write(|sql| async move {
            let known = lock_code(&sql, exchange.code);
            let client_exists = client_exists(&sql, &exchange.client_id);
            let (known, client_exists) = try_join(known, client_exists).await?;
            let ruling = rule_on_code(known.as_ref(), client_exists, exchange);
            match ruling {
                Ok(user_id) => begin_session(&sql, user_id, exchange).await?,
                Err(refusal) => end_session_if_reused(&sql, refusal, exchange.now).await?,
            }
            Ok(ruling)
        })
        .await
    }

    async fn refresh(&self, refresh: Refresh) -> Result<Result<Refreshed, Refusal>, Error> {
        let refresh = &refresh;
        self.write(|sql| async move {
            let known = lock_refresh_token(&sql, refresh.token);
            let client_exists = client_exists(&sql, &refresh.client_id);
            let (known, client_exists) = try_join(known, client_exists).await?;
            match (
                rule_on_refresh(known.as_ref(), client_exists, refresh),
                known,
            ) {
                (Ok(grant), Some(known)) => carry_out(&sql, grant, &known, refresh).await.map(Ok),
                (Ok(_), None) => Err(Error::internal("an unknown token was granted").into()),
                (Err(refusal), known) => {
                    if let Some(unspent) = known.filter(|known| known.spent_at.is_none()) {
                        erase_successor(&sql, unspent.session_id).await?; // R3
                    }
                    end_session_if_reused(&sql, refusal, refresh.now).await?;
                    Ok(Err(refusal))
                }
            }
        })
        .await
    }

    async fn find_access_token(
        &self,
        token: Digest,
        now: Timestamp,
    ) -> Result<Option<(SignedIn, Timestamp)>, Error> {
        let select = "SELECT user_id, session_id, last_used_at \
             FROM access_token JOIN session ON session.id = access_token.session_id \
             WHERE access_token.digest = $1 AND access_token.expires_at > $2 AND access_token.expires_at <= $3 \
             AND session.ended_at IS NULL";
        let latest = latest_access_token(now);
        self.read(|sql| async move {
            let found = sql
                .optional(select, params![token, now, latest], |row| {
                    let (user_id, session_id) =
                        (row.try_get("user_id")?, row.try_get("session_id")?);
                    let signed_in = SignedIn {
                        user_id,
                        session_id,
                    };
                    Ok((signed_in, row.try_get("last_used_at")?))
                })
                .await?;
            Ok(found)
        })
        .await
    }

    async fn list_sessions(&self, user_id: UserId, now: Timestamp) -> Result<Vec<Session>, Error> {
        let user = "SELECT 1 FROM \"user\" WHERE id = $1 AND removed_at IS NULL";
        let select = "SELECT id, user_id, client_id, install_id, user_agent, created_at, last_used_at, expires_at \
             FROM session WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY id DESC";
        self.read(|sql| async move {
            if !sql.exists(user, params![user_id]).await? {
                return Err(crate::domain::user::User::missing(user_id).into());
            }
            sql.all(select, params![user_id, now], read_session).await
        })
        .await
    }

    async fn revoke_session(&self, id: SessionId, now: Timestamp) -> Result<(), Error> {
        let lock = "SELECT 1 FROM session WHERE id = $1 FOR UPDATE";
        self.write(|sql| async move {
            if !sql.exists(lock, params![id]).await? {
                return Err(Session::missing(id).into());
            }
            end_session(&sql, id, now).await
        })
        .await
    }

    /// Replicas note the uses of the same sessions, so they lock them in one order.
    async fn record_session_uses(&self, uses: Vec<(SessionId, Timestamp)>) -> Result<(), Error> {
        let update = "WITH used AS (SELECT * FROM unnest($1::uuid[], $2::bigint[]) AS used (id, used_at)), \
             locked AS (SELECT session.id, used_at FROM session JOIN used USING (id) \
                 ORDER BY session.id FOR UPDATE OF session) \
             UPDATE session SET last_used_at = greatest(last_used_at, used_at) FROM locked \
             WHERE session.id = locked.id";
        let (ids, times): (Vec<_>, Vec<_>) = uses
            .into_iter()
            .map(|(id, time)| (id.0, time.as_millis()))
            .unzip();
        let (ids, times) = (&ids, &times);
        self.write(|sql| async move {
            sql.execute(update, params![ids, times]).await?;
            Ok(())
        })
        .await
    }

    async fn erase_successors(&self, now: Timestamp, limit: u32) -> Result<u32, Error> {
        self.write(|sql| async move { expired::erase_successors(&sql, now, limit).await })
            .await
    }

    async fn delete_expired_sessions(&self, now: Timestamp, limit: u32) -> Result<u32, Error> {
        self.write(|sql| async move { expired::delete(&sql, now, limit).await })
            .await
    }
}

/// A code on record, which nobody else exchanges until the end of the transaction.
async fn lock_code(sql: &Sql, digest: Digest) -> Result<Option<KnownCode>, Failure> {
    let select = "SELECT user_id, client_id, redirect_uri, code_challenge, expires_at, session_id \
         FROM auth_code WHERE digest = $1 FOR UPDATE";
    let found = sql
        .optional(select, params![digest], |row| {
            let code = AuthCode {
                digest,
                user_id: row.try_get("user_id")?,
                client_id: row.try_get("client_id")?,
                redirect_uri: row.try_get("redirect_uri")?,
                challenge: CodeChallenge::from_digest(row.try_get("code_challenge")?),
                expires_at: row.try_get("expires_at")?,
            };
            Ok(KnownCode {
                code,
                session_id: row.try_get("session_id")?,
            })
        })
        .await?;
    Ok(found)
}

/// C5
async fn begin_session(sql: &Sql, user_id: UserId, exchange: &CodeExchange) -> Result<(), Failure> {
    let insert = "INSERT INTO session \
         (id, user_id, client_id, install_id, user_agent, created_at, last_used_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7)";
    let used = "UPDATE auth_code SET session_id = $2 WHERE digest = $1";
    let CodeExchange {
        code,
        session_id,
        client_id,
        device,
        now,
        pair,
        ..
    } = exchange;
    let session_ends = session_expires_at(*now, *now);
    let expires_at = access_token_expires_at(*now, *now);
    let (install_id, user_agent) = (&device.install_id, &device.user_agent);
    let session = params![
        session_id,
        user_id,
        client_id,
        install_id,
        user_agent,
        now,
        session_ends
    ];
    sql.together([
        (insert, session),
        (used, params![code, session_id]),
        (
            ADD_ACCESS_TOKEN,
            params![pair.access, session_id, expires_at],
        ),
        (ADD_REFRESH_TOKEN, params![pair.refresh, session_id]),
    ])
    .await?;
    Ok(())
}

const ADD_ACCESS_TOKEN: &str =
    "INSERT INTO access_token (digest, session_id, expires_at) VALUES ($1, $2, $3)";

const ADD_REFRESH_TOKEN: &str = "INSERT INTO refresh_token (digest, session_id) VALUES ($1, $2)";

/// A token on record, with its session, which nobody else changes until the end of the transaction. Two
/// statements, because the second has to see what was committed while the first waited for the lock.
async fn lock_refresh_token(sql: &Sql, digest: Digest) -> Result<Option<KnownToken>, Failure> {
    let lock = "SELECT 1 FROM session \
         WHERE id = (SELECT session_id FROM refresh_token WHERE digest = $1) FOR UPDATE";
    let select = "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at, \
         spent_at, successor \
         FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
         WHERE refresh_token.digest = $1";
    let token = params![digest];
    let [locked, found] = sql.together([(lock, token), (select, token)]).await?;
    let found = found.first().filter(|_| !locked.is_empty());
    Ok(found.map(read_known_token).transpose()?)
}

fn read_known_token(row: &Row) -> Result<KnownToken, tokio_postgres::Error> {
    Ok(KnownToken {
        session_id: row.try_get("session_id")?,
        user_id: row.try_get("user_id")?,
        client_id: row.try_get("client_id")?,
        install_id: row.try_get("install_id")?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        ended: row.try_get::<_, Option<Timestamp>>("ended_at")?.is_some(),
        spent_at: row.try_get("spent_at")?,
        successor: row.try_get("successor")?,
    })
}

/// R5 and R6
async fn carry_out(
    sql: &Sql,
    grant: RefreshGrant,
    known: &KnownToken,
    refresh: &Refresh,
) -> Result<Refreshed, Failure> {
    let (issued_at, given_before) = match grant {
        RefreshGrant::Rotate => {
            rotate(sql, known, refresh).await?;
            (refresh.now, None)
        }
        RefreshGrant::Repeat(successor, spent_at) => (spent_at, Some(successor)),
    };
    let expires_at = access_token_expires_at(known.created_at, issued_at);
    Ok(Refreshed {
        user_id: known.user_id,
        given_before,
        expires_at,
    })
}

/// R3 and R5: the grace of the token before ends, and only then that of this one begins.
async fn rotate(sql: &Sql, known: &KnownToken, refresh: &Refresh) -> Result<(), Failure> {
    let spend = "UPDATE refresh_token SET spent_at = $2, successor = $3 WHERE digest = $1";
    let live_on = "UPDATE session SET expires_at = $2, last_used_at = greatest(last_used_at, $3), \
         user_agent = coalesce($4, user_agent) WHERE id = $1";
    let (now, pair, id) = (refresh.now, refresh.pair, known.session_id);
    let session_ends = session_expires_at(known.created_at, now);
    let expires_at = access_token_expires_at(known.created_at, now);
    let user_agent = &refresh.device.user_agent;
    sql.together([
        (ERASE_SUCCESSOR, params![id]),
        (spend, params![refresh.token, now, refresh.sealed]),
        (ADD_ACCESS_TOKEN, params![pair.access, id, expires_at]),
        (ADD_REFRESH_TOKEN, params![pair.refresh, id]),
        (live_on, params![id, session_ends, now, user_agent]),
    ])
    .await?;
    Ok(())
}

/// C2 and R7
async fn end_session_if_reused(sql: &Sql, refusal: Refusal, now: Timestamp) -> Result<(), Failure> {
    match refusal {
        Refusal::Reused(session_id) => end_session(sql, session_id, now).await,
        Refusal::InvalidClient | Refusal::InvalidGrant => Ok(()),
    }
}

/// Ends a session, unless it has ended before. Its tokens and codes go later, in the background.
async fn end_session(sql: &Sql, id: SessionId, now: Timestamp) -> Result<(), Failure> {
    let end = "UPDATE session SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL";
    sql.execute(end, params![id, now]).await?;
    erase_successor(sql, id).await
}

/// Ends all sessions of a user, in the order of their ids.
pub(super) async fn end_sessions_of(
    sql: &Sql,
    user_id: UserId,
    now: Timestamp,
) -> Result<(), Failure> {
    let select =
        "SELECT id FROM session WHERE user_id = $1 AND ended_at IS NULL ORDER BY id FOR UPDATE";
    let ids = sql
        .all(select, params![user_id], |row| row.try_get("id"))
        .await?;
    for id in ids {
        end_session(sql, id, now).await?;
    }
    Ok(())
}

/// Ends the grace of a session, if one is running.
const ERASE_SUCCESSOR: &str =
    "UPDATE refresh_token SET successor = NULL WHERE session_id = $1 AND successor IS NOT NULL";

async fn erase_successor(sql: &Sql, id: SessionId) -> Result<(), Failure> {
    sql.execute(ERASE_SUCCESSOR, params![id]).await?;
    Ok(())
}

fn read_session(row: &Row) -> Result<Session, tokio_postgres::Error> {
    Ok(Session {
        id: row.try_get("id")?,
        user_id: row.try_get("user_id")?,
        client_id: row.try_get("client_id")?,
        install_id: row.try_get("install_id")?,
        user_agent: row.try_get("user_agent")?,
        created_at: row.try_get("created_at")?,
        last_used_at: row.try_get("last_used_at")?,
        expires_at: row.try_get("expires_at")?,
    })
}
