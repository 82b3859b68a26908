//! Issuing authorization codes ([`crate::domain::auth_code`]).

use super::App;
use super::browser_session::require_person;
use super::deactivation::require_active;
use super::oauth_client::require_redirect_uri;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, Person};
use crate::domain::auth_code::{AuthCode, CODE_LIFETIME, CodeChallenge, IssuedAuthCode};
use crate::domain::authorization::{AuthorizationParameters, AuthorizationRequest, Ruling};
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::oauth_client::{ClientId, OauthClient};
use crate::domain::secret::Secret;
use crate::sql::ScriptError;
use crate::store::{Sql, audit, auth_code, oauth_client};

/// How many unused codes a user has at most: when they sign out, all are deleted in one change (docs/decisions.md, S1).
const APPROVED_CODES: u32 = 20;

impl App {
    /// Issues a code for a user who has signed in.
    ///
    /// # Errors
    /// [`Error::Missing`] for a user or client that does not exist, [`Error::Deactivated`], [`Error::Refused`] for a
    /// redirect URI that is not one of the client's.
    pub async fn issue_auth_code(
        &self,
        user_id: UserId,
        client_id: &ClientId,
        redirect_uri: &str,
        challenge: CodeChallenge,
    ) -> Result<IssuedAuthCode, Error> {
        let (code, issued) = self.drawn_code(user_id, client_id, redirect_uri, challenge);
        let event = self.event(&Actor::Operator, Action::IssueAuthCode);
        let event = event.to(user_id.0).of_client(client_id);
        self.store
            .write(Holder::Service, async move |sql| {
                add_code(sql, &issued).await?;
                sql.run(audit::insert(&event)).await.map(drop)
            })
            .await?;
        Ok(code)
    }

    /// The ruling on an app's authorization request (docs/decisions.md, A1 to A8), for the user at the browser, if one is
    /// signed in.
    ///
    /// # Errors
    /// Any store error.
    pub async fn check_authorization_request(
        &self,
        user_id: Option<UserId>,
        parameters: AuthorizationParameters,
    ) -> Result<Ruling, Error> {
        let id = match parameters.client_id() {
            Ok(id) => id,
            Err(why) => return Ok(Ruling::Stop(why)),
        };
        let find = (
            oauth_client::find(id.clone()),
            oauth_client::list_redirect_uris(id),
        );
        let holder = user_id.map_or(Holder::SignIns, Holder::from);
        // An app has few redirect URIs.
        let (client, redirect_uris) = self.store.look_up_sign_in(holder, find, 8).await?;
        Ok(parameters.rule(client.map(|client| OauthClient {
            redirect_uris,
            ..client
        })))
    }

    /// Issues a code to the app whose request a signed-in user has approved.
    ///
    /// # Errors
    /// [`Error::InvalidToken`] when the person is no longer signed in; as for [`issue_auth_code`](App::issue_auth_code).
    pub async fn approve_authorization(
        &self,
        person: Person,
        request: &AuthorizationRequest,
    ) -> Result<IssuedAuthCode, Error> {
        let (id, uri) = (&request.client_id, request.redirect_uri());
        let (code, issued) = self.drawn_code(person.user_id, id, uri, request.challenge);
        self.store
            .write(person.session_id, async move |sql| {
                sql.run(require_person(&person)).await?;
                add_code(sql, &issued).await?;
                let (user_id, latest) = (issued.user_id, issued.expires_at);
                let older = auth_code::delete_older_unused(user_id, APPROVED_CODES, latest);
                sql.run(older).await.map(drop)
            })
            .await?;
        Ok(code)
    }

    /// A new code, and what is stored of it.
    fn drawn_code(
        &self,
        user_id: UserId,
        client_id: &ClientId,
        redirect_uri: &str,
        challenge: CodeChallenge,
    ) -> (IssuedAuthCode, AuthCode) {
        let code = Secret::base64url();
        let kept = AuthCode {
            digest: code.digest(),
            user_id,
            client_id: client_id.clone(),
            redirect_uri: redirect_uri.to_owned(),
            challenge,
            expires_at: self.now().after(CODE_LIFETIME),
        };
        let expires_in = CODE_LIFETIME.as_secs();
        (IssuedAuthCode { code, expires_in }, kept)
    }
}

/// Adds a code, for an active user and an existing client and redirect URI. Every code is made here.
async fn add_code(sql: Sql<'_>, code: &AuthCode) -> Result<(), ScriptError> {
    let user = require_active(code.user_id);
    let uri = require_redirect_uri(&code.client_id, &code.redirect_uri);
    sql.run((user, uri, auth_code::insert(code)))
        .await
        .map(drop)
}
