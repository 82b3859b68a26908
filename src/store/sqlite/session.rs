//! Codes, sessions and tokens in SQLite. The steps (C2, R7, ...) are those of [`crate::domain::session`].

mod expired;

use async_trait::async_trait;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Row, params};

use super::Sqlite;
use super::oauth_client::{client_exists, require_redirect_uri};
use super::pair::{UNWRAPPED, forget, spend};
use super::sql::Sql;
use super::user::require_user;
use crate::domain::Error;
use crate::domain::auth_code::{AuthCode, CodeChallenge};
use crate::domain::id::{SessionId, UserId};
use crate::domain::secret::Digest;
use crate::domain::session::grace::Sealed;
use crate::domain::session::rules::{
    KnownCode, KnownToken, RefreshGrant, Refusal, access_token_expires_at, latest_access_token,
    rule_on_code, rule_on_refresh, session_expires_at,
};
use crate::domain::session::{CodeExchange, PairDigests, Refresh, Refreshed, Session, SignedIn};
use crate::domain::time::Timestamp;
use crate::store::SessionStore;

#[async_trait]
impl SessionStore for Sqlite {
    async fn issue_auth_code(&self, code: AuthCode) -> Result<(), Error> {
        let insert = "INSERT INTO auth_code \
             (digest, user_id, client_id, redirect_uri, code_challenge, expires_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.write(move |sql| {
            let AuthCode {
                digest,
                user_id,
                client_id,
                redirect_uri,
                challenge,
                expires_at,
            } = &code;
            require_user(sql, *user_id)?;
            require_redirect_uri(sql, client_id, redirect_uri)?;
            let challenge = challenge.digest();
            sql.execute(
                insert,
                params![
                    digest,
                    user_id,
                    client_id,
                    redirect_uri,
                    challenge,
                    expires_at
                ],
            )?;
            Ok(())
        })
        .await
    }

    async fn exchange_code(
        &self,
        exchange: CodeExchange,
    ) -> Result<Result<UserId, Refusal>, Error> {
        self.write(move |sql| {
            let known = find_code(sql, exchange.code)?;
            let client_exists = client_exists(sql, &exchange.client_id)?;
            let ruling = rule_on_code(known.as_ref(), client_exists, &exchange);
            match ruling {
                Ok(user_id) => begin_session(sql, user_id, &exchange)?,
                Err(refusal) => end_session_if_reused(sql, refusal, exchange.now)?,
            }
            Ok(ruling)
        })
        .await
    }

    async fn refresh(&self, refresh: Refresh) -> Result<Result<Refreshed, Refusal>, Error> {
        self.write(move |sql| {
            let known = find_refresh_token(sql, refresh.token)?;
            if let Some(unspent) = known.as_ref().filter(|known| known.spent_at.is_none()) {
                erase_successor(sql, unspent.session_id)?; // R3
            }
            let client_exists = client_exists(sql, &refresh.client_id)?;
            match (
                rule_on_refresh(known.as_ref(), client_exists, &refresh),
                known,
            ) {
                (Ok(grant), Some(known)) => carry_out(sql, grant, &known, &refresh).map(Ok),
                (Ok(_), None) => Err(Error::internal("an unknown token was granted")),
                (Err(refusal), _) => {
                    end_session_if_reused(sql, refusal, refresh.now)?;
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
             WHERE access_token.digest = ?1 AND access_token.expires_at > ?2 AND access_token.expires_at <= ?3 \
             AND session.ended_at IS NULL";
        let latest = latest_access_token(now);
        self.read(|sql| {
            sql.optional(select, params![token, now, latest], |row| {
                let (user_id, session_id) = (row.get("user_id")?, row.get("session_id")?);
                Ok((
                    SignedIn {
                        user_id,
                        session_id,
                    },
                    row.get("last_used_at")?,
                ))
            })
        })
    }

    async fn list_sessions(&self, user_id: UserId, now: Timestamp) -> Result<Vec<Session>, Error> {
        let select = "SELECT id, user_id, client_id, install_id, user_agent, created_at, last_used_at, expires_at \
             FROM session WHERE user_id = ?1 AND ended_at IS NULL AND expires_at > ?2 ORDER BY id DESC";
        self.snapshot(|sql| {
            require_user(sql, user_id)?;
            sql.all(select, params![user_id, now], read_session)
        })
    }

    async fn revoke_session(&self, id: SessionId, now: Timestamp) -> Result<(), Error> {
        self.write(move |sql| {
            sql.optional("SELECT 1 FROM session WHERE id = ?1", [id], |_| Ok(()))?
                .ok_or_else(|| Session::missing(id))?;
            end_session(sql, id, now)
        })
        .await
    }

    async fn record_session_uses(&self, uses: Vec<(SessionId, Timestamp)>) -> Result<(), Error> {
        let update = "UPDATE session SET last_used_at = ?2 WHERE id = ?1 AND last_used_at < ?2";
        self.write(move |sql| {
            for (id, time) in &uses {
                sql.execute(update, params![id, time])?;
            }
            Ok(())
        })
        .await
    }

    async fn erase_successors(&self, now: Timestamp, limit: u32) -> Result<u32, Error> {
        let emptying = self.emptying.clone();
        self.write(move |sql| {
            let erased = expired::erase_successors(sql, now, limit)?;
            if erased < limit {
                emptying.after(forget(sql, now)?);
            }
            Ok(erased)
        })
        .await
    }

    async fn delete_expired_sessions(&self, now: Timestamp, limit: u32) -> Result<u32, Error> {
        self.write(move |sql| expired::delete(sql, now, limit))
            .await
    }
}

fn find_code(sql: Sql<'_>, digest: Digest) -> Result<Option<KnownCode>, Error> {
    let select = "SELECT user_id, client_id, redirect_uri, code_challenge, expires_at, session_id \
         FROM auth_code WHERE digest = ?1";
    sql.optional(select, [digest], |row| {
        let code = AuthCode {
            digest,
            user_id: row.get("user_id")?,
            client_id: row.get("client_id")?,
            redirect_uri: row.get("redirect_uri")?,
            challenge: CodeChallenge::from_digest(row.get("code_challenge")?),
            expires_at: row.get("expires_at")?,
        };
        Ok(KnownCode {
            code,
            session_id: row.get("session_id")?,
        })
    })
}

/// C5
fn begin_session(sql: Sql<'_>, user_id: UserId, exchange: &CodeExchange) -> Result<(), Error> {
    let insert = "INSERT INTO session \
         (id, user_id, client_id, install_id, user_agent, created_at, last_used_at, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)";
    let CodeExchange {
        session_id,
        client_id,
        device,
        now,
        ..
    } = exchange;
    let expires_at = session_expires_at(*now, *now);
    let (install_id, user_agent) = (&device.install_id, &device.user_agent);
    sql.execute(
        insert,
        params![
            session_id, user_id, client_id, install_id, user_agent, now, expires_at
        ],
    )?;
    let used = "UPDATE auth_code SET session_id = ?2 WHERE digest = ?1";
    sql.execute(used, params![exchange.code, session_id])?;
    add_pair(
        sql,
        *session_id,
        exchange.pair,
        access_token_expires_at(*now, *now),
    )
}

fn add_pair(
    sql: Sql<'_>,
    session_id: SessionId,
    pair: PairDigests,
    expires_at: Timestamp,
) -> Result<(), Error> {
    let access = "INSERT INTO access_token (digest, session_id, expires_at) VALUES (?1, ?2, ?3)";
    sql.execute(access, params![pair.access, session_id, expires_at])?;
    let refresh = "INSERT INTO refresh_token (digest, session_id) VALUES (?1, ?2)";
    sql.execute(refresh, params![pair.refresh, session_id])?;
    Ok(())
}

fn find_refresh_token(sql: Sql<'_>, digest: Digest) -> Result<Option<KnownToken>, Error> {
    let select = format!(
        "SELECT session_id, user_id, client_id, install_id, created_at, expires_at, ended_at, \
         spent_at, {UNWRAPPED} AS successor \
         FROM refresh_token JOIN session ON session.id = refresh_token.session_id \
         WHERE refresh_token.digest = ?1"
    );
    sql.optional(&select, [digest], |row| {
        Ok(KnownToken {
            session_id: row.get("session_id")?,
            user_id: row.get("user_id")?,
            client_id: row.get("client_id")?,
            install_id: row.get("install_id")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            ended: row.get::<_, Option<Timestamp>>("ended_at")?.is_some(),
            spent_at: row.get("spent_at")?,
            successor: row.get("successor")?,
        })
    })
}

/// R5 and R6
fn carry_out(
    sql: Sql<'_>,
    grant: RefreshGrant,
    known: &KnownToken,
    refresh: &Refresh,
) -> Result<Refreshed, Error> {
    let (issued_at, given_before) = match grant {
        RefreshGrant::Rotate => {
            rotate(sql, known, refresh)?;
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

/// R5
fn rotate(sql: Sql<'_>, known: &KnownToken, refresh: &Refresh) -> Result<(), Error> {
    let now = refresh.now;
    spend(sql, refresh)?;
    let expires_at = access_token_expires_at(known.created_at, now);
    add_pair(sql, known.session_id, refresh.pair, expires_at)?;

    let live_on = "UPDATE session SET expires_at = ?2, last_used_at = max(last_used_at, ?3), \
         user_agent = coalesce(?4, user_agent) WHERE id = ?1";
    let expires_at = session_expires_at(known.created_at, now);
    let user_agent = &refresh.device.user_agent;
    sql.execute(
        live_on,
        params![known.session_id, expires_at, now, user_agent],
    )?;
    Ok(())
}

/// C2 and R7
fn end_session_if_reused(sql: Sql<'_>, refusal: Refusal, now: Timestamp) -> Result<(), Error> {
    match refusal {
        Refusal::Reused(session_id) => end_session(sql, session_id, now),
        Refusal::InvalidClient | Refusal::InvalidGrant => Ok(()),
    }
}

/// Ends a session, unless it has ended before. Its tokens and codes go later, in the background.
fn end_session(sql: Sql<'_>, id: SessionId, now: Timestamp) -> Result<(), Error> {
    let end = "UPDATE session SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL";
    sql.execute(end, params![id, now])?;
    erase_successor(sql, id)
}

/// Ends all sessions of a user.
pub(super) fn end_sessions_of(sql: Sql<'_>, user_id: UserId, now: Timestamp) -> Result<(), Error> {
    let select = "SELECT id FROM session WHERE user_id = ?1 AND ended_at IS NULL";
    for id in sql.all(select, [user_id], |row| row.get("id"))? {
        end_session(sql, id, now)?;
    }
    Ok(())
}

/// Ends the grace, if one is running.
fn erase_successor(sql: Sql<'_>, id: SessionId) -> Result<(), Error> {
    let erase =
        "UPDATE refresh_token SET successor = NULL WHERE session_id = ?1 AND successor IS NOT NULL";
    sql.execute(erase, [id])?;
    Ok(())
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: row.get("id")?,
        user_id: row.get("user_id")?,
        client_id: row.get("client_id")?,
        install_id: row.get("install_id")?,
        user_agent: row.get("user_agent")?,
        created_at: row.get("created_at")?,
        last_used_at: row.get("last_used_at")?,
        expires_at: row.get("expires_at")?,
    })
}

impl ToSql for Sealed {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.as_bytes())))
    }
}

impl FromSql for Sealed {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Vec::column_result(value).map(Sealed::from_bytes)
    }
}
