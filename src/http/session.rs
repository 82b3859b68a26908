//! Sessions of devices: the operations that the document of the mobile API has, and revocation by a token (RFC 7009), which
//! is in no document.

use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::Response;
use http::header::{CACHE_CONTROL, HeaderValue};
use openapi_dropshot_runtime::{Rejection, Unchecked};

use super::api::Api;
use super::context::RequestContext;
use super::credential::{address, visitor};
use super::form::UnreadForm;
use super::received::{received, received_form};
use super::rejection::Error;
use super::{credential, error, unpublished};
use crate::domain;
use crate::domain::audit::Visitor;
use crate::domain::oauth_client::{ClientId, parse_id};
use crate::domain::secret::Secret;
use crate::domain::session::{Device, TokenRequest, TokenSet};
use crate::generated::mobile::*;
use crate::log::NothingChanged;

/// The token endpoint: a code or a refresh token for a pair of tokens.
pub(super) async fn exchange_token(
    context: &RequestContext,
    request: Unchecked<ExchangeTokenRequest>,
) -> Result<ExchangeTokenAnswer, Rejection<Error>> {
    let (request, _permit) = received(context, credential::stranger(context), request).await?;
    let tokens = context
        .context()
        .app
        .exchange_token(token_request(context, request.body))
        .await?;
    Ok(ExchangeTokenAnswer::new(
        token_response(&tokens)?,
        types::CacheControl::NoStore,
    ))
}

/// Where an app signs its user out.
const REVOKE: &str = "/api/auth/mobile/revoke";

/// Adds the endpoint that is in no document.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    api.operations.push("revoke_token");
    unpublished::post(api, REVOKE, async |context, mut form| {
        let remainder = form.remainder();
        let fail = |rejection| {
            let problem = error::answer(&context, rejection);
            problem.into_token(&context.request_id).into_response()
        };
        let revoke = |()| revoke_token(&context, form);
        let admit = credential::anybody(&context);
        let of = (REVOKE, "revoke_token");
        Ok(unpublished::serve(&context, of, remainder, admit, revoke, fail).await)
    })
}

/// The revocation endpoint (RFC 7009, section 2).
async fn revoke_token(
    context: &RequestContext,
    form: UnreadForm,
) -> Result<Response<Bytes>, Rejection<Error>> {
    let (form, _permit) = received_form(context, credential::stranger(context), form).await?;
    let [token, client_id] = form.required(["token", "client_id"])?;
    let (token, client_id) = (Secret::from_text(token), parse_id(&client_id));
    // PostgreSQL does not even take every text.
    let client_id = client_id.map_err(|_| domain::Error::InvalidClient)?;
    let app = &context.context().app;
    let has_ended = app.revoke_token(&token, client_id, asking(context)).await?;
    let mut answer = Response::default();
    if !has_ended {
        answer.extensions_mut().insert(NothingChanged);
    }
    answer
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

fn token_request(context: &RequestContext, body: types::TokenRequest) -> TokenRequest {
    match body {
        types::TokenRequest::AuthorizationCodeGrant(grant) => TokenRequest::AuthorizationCode {
            code: Secret::from_text(grant.code),
            code_verifier: Secret::from_text(grant.code_verifier),
            redirect_uri: grant.redirect_uri.into(),
            client_id: ClientId::new(grant.client_id),
            device: device(context, grant.install_id, grant.user_agent),
        },
        types::TokenRequest::RefreshTokenGrant(grant) => TokenRequest::RefreshToken {
            refresh_token: Secret::from_text(grant.refresh_token),
            client_id: ClientId::new(grant.client_id),
            device: device(context, grant.install_id, grant.user_agent),
        },
    }
}

fn device(
    context: &RequestContext,
    install_id: Option<types::InstallId>,
    user_agent: Option<types::UserAgent>,
) -> Device {
    Device {
        install_id: install_id.map(Into::into),
        user_agent: user_agent.map(Into::into),
        client_address: Some(address(context)),
    }
}

/// Returns the device of a request that names none.
fn asking(context: &RequestContext) -> Device {
    let Visitor {
        address,
        user_agent,
    } = visitor(context);
    Device {
        user_agent,
        client_address: Some(address),
        ..Device::default()
    }
}

fn token_response(tokens: &TokenSet) -> Result<types::TokenResponse, domain::Error> {
    Ok(types::TokenResponse {
        access_token: error::published(tokens.access_token.reveal())?,
        refresh_token: error::published(tokens.refresh_token.reveal())?,
        token_type: types::TokenType::Bearer,
        expires_in: error::published(tokens.expires_in)?,
        user_id: tokens.user_id.0.into(),
    })
}
