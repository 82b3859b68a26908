//! Authorization codes: who gets one ([`crate::domain::auth_code`]).

use super::App;
use super::oauth_client::require_redirect_uri;
use super::user::require_user;
use crate::domain::Error;
use crate::domain::auth_code::{AuthCode, CODE_LIFETIME, CodeChallenge, IssuedAuthCode};
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::Secret;
use crate::store::auth_code;

impl App {
    /// Issues a code for a user who has signed in.
    ///
    /// # Errors
    /// [`Error::Missing`] for a user or client that does not exist, [`Error::Refused`] for a redirect URI
    /// that is not one of the client's.
    pub async fn issue_auth_code(
        &self,
        user_id: UserId,
        client_id: &ClientId,
        redirect_uri: &str,
        challenge: CodeChallenge,
    ) -> Result<IssuedAuthCode, Error> {
        let code = Secret::base64url();
        let issued = AuthCode {
            digest: code.digest(),
            user_id,
            client_id: client_id.clone(),
            redirect_uri: redirect_uri.to_owned(),
            challenge,
            expires_at: self.now().after(CODE_LIFETIME),
        };
        self.store
            .write(Holder::Service, async move |sql| {
                let user = require_user(issued.user_id);
                let uri = require_redirect_uri(&issued.client_id, &issued.redirect_uri);
                sql.run((user, uri, auth_code::insert(&issued))).await?;
                Ok(())
            })
            .await?;
        Ok(IssuedAuthCode {
            code,
            expires_in: CODE_LIFETIME.as_secs(),
        })
    }
}
