//! Token revocation (RFC 7009): ends a session by one of its tokens. In terms of the store, a revocation is one write
//! transaction.
//!
//! - **Revoke 1** Before the transaction: take the digest of the presented token. The client need not know what kind of
//!   token it is, and `token_type_hint` is not read.
//! - **Revoke 2** Any token of the client ends its session, even a spent one.
//! - **Revoke 3** A spent refresh token presented by another client ends its session, too, since two parties hold it, and is
//!   `invalid_grant`, as at the token endpoint. The client need not exist.
//! - **Revoke 4** Otherwise a client that does not exist is `invalid_client`.
//! - **Revoke 5** Any other token of another client is `invalid_grant`, and stays valid.
//! - **Revoke 6** A token that is unknown, has expired, or whose session is over, changes nothing, and is no error (RFC
//!   7009, 2.2): the client wanted it invalid, and it is. The answer rests on the session, which is locked for it in any case:
//!   its end may still wait for a synchronous standby.

use super::App;
use super::session_end::end_by_token;
use crate::domain::Error;
use crate::domain::id::AuditEventId;
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::{Digest, Secret};
use crate::domain::session::Device;
use crate::domain::session::rules::{GrantError, rule_on_revocation};
use crate::domain::time::Timestamp;
use crate::sql::ScriptError;
use crate::store::{Sql, oauth_client, session, token};

impl App {
    /// Ends the session of an access token or a refresh token that came from `device`, as described [above](self). Returns
    /// whether there was one to end.
    ///
    /// # Errors
    /// [`Error::InvalidClient`], [`Error::InvalidGrant`], [`Error::GrantReused`]; any store error.
    pub async fn revoke_token(
        &self,
        token: &Secret,
        client_id: ClientId,
        device: Device,
    ) -> Result<bool, Error> {
        // Revoke 1
        let (digest, now) = (token.digest(), self.now());
        let turn = self.token_turn(&digest).await?;
        let revocation = Revocation {
            token: digest,
            client_id,
            device,
            event_id: self.ids.next(now),
            now,
        };
        let script = async move |sql: Sql<'_>| revoke_token(sql, &revocation).await;
        Ok(self.store.write(turn.holder, script).await??)
    }
}

/// A token that was presented to be revoked (after Revoke 1).
struct Revocation {
    token: Digest,
    client_id: ClientId,
    device: Device,
    /// The id of its audit event.
    event_id: AuditEventId,
    now: Timestamp,
}

/// Revoke 2 to Revoke 6. A refused revocation may end a session, so it is returned as a value and not as an error, which
/// would undo that.
async fn revoke_token(
    sql: Sql<'_>,
    presented: &Revocation,
) -> Result<Result<bool, GrantError>, ScriptError> {
    let Revocation { client_id, now, .. } = presented;
    let refresh = token::lock_refresh_token(&presented.token);
    let access = token::find_access_token(presented.token, *now);
    let (whose, client) = (
        token::find_session(presented.token),
        oauth_client::exists(client_id),
    );
    let (known, signed_in, whose, client_exists) =
        sql.run((refresh, access, whose, client)).await?;
    let session = match (signed_in, &known, whose) {
        (Some((signed_in, _)), ..) => {
            let id = signed_in.session_id;
            sql.run((session::lock(id), session::find(id, *now)))
                .await?
                .1
        }
        // Revoke 6
        (None, None, Some((id, _))) => {
            sql.run(session::lock(id)).await?;
            None
        }
        (None, ..) => None,
    };
    let ruling = rule_on_revocation(
        known.as_ref(),
        session.as_ref(),
        client_exists,
        client_id,
        *now,
    );
    let user_id = known.map(|it| it.user_id);
    let user_id = user_id.or(session.map(|it| it.user_id));
    if let (Ok(Some(id)) | Err(GrantError::Reused(id)), Some(user_id)) = (&ruling, user_id) {
        let event = (presented.event_id, *now);
        end_by_token(sql, (*id, user_id), &presented.device, event).await?;
    }
    Ok(ruling.map(|ended| ended.is_some()))
}
