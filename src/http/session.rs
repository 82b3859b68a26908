//! The token endpoint of the mobile API, and what all of the mobile API has in common.

use std::time::Duration;

use bytes::Bytes;
use codegen_runtime::{Admitted, ErrorAnswer, Operation, Rejection, Unchecked};
use dropshot::Body;
use http::Response;
use http::header::CACHE_CONTROL;

use super::answered::answered;
use super::api::Service;
use super::context::{Context, RequestContext};
use super::received::received;
use super::rejection::Error;
use super::{credential, error, link};
use crate::domain;
use crate::domain::oauth_client::ClientId;
use crate::domain::secret::Secret;
use crate::domain::session::{Device, SignedIn, TokenRequest, TokenSet};
use crate::generated::mobile::*;

impl MobileApi for Service {
    type Context = Context;
    type Error = Error;
    type AccessToken = SignedIn;

    async fn access_token(
        context: &RequestContext,
        _: &'static Operation,
    ) -> Result<Admitted<SignedIn>, Error> {
        credential::access_token(context).await
    }

    async fn public(
        context: &RequestContext,
        _: &'static Operation,
    ) -> Result<Admitted<()>, Error> {
        credential::anybody(context).await
    }

    fn error_response(
        context: &RequestContext,
        _: &'static Operation,
        rejection: Rejection<Error>,
    ) -> ErrorAnswer<types::ErrorResponse> {
        // What is told here is about one person: nobody may store that something is missing, either.
        let answer = error::answer(context, rejection).into_mobile(&context.request_id);
        answer.header(CACHE_CONTROL, "no-store")
    }

    fn token_error(
        context: &RequestContext,
        _: &'static Operation,
        rejection: Rejection<Error>,
    ) -> ErrorAnswer<types::TokenError> {
        error::answer(context, rejection).into_token(&context.request_id)
    }

    fn answered(
        context: &RequestContext,
        operation: &'static Operation,
        answer: Response<Bytes>,
        latency: Duration,
    ) -> Response<Body> {
        // No answer of the token endpoint is so large that another has to take its place.
        let overloaded = |rejection| Self::error_response(context, operation, rejection);
        answered(context, operation, answer, latency, overloaded)
    }

    async fn exchange_token(
        context: &RequestContext,
        request: Unchecked<ExchangeTokenRequest>,
    ) -> Result<ExchangeTokenAnswer, Rejection<Error>> {
        let (request, _permit) = received(context, credential::stranger(context), request).await?;
        let tokens = context
            .context()
            .app
            .exchange_token(token_request(request.body))
            .await?;
        Ok(ExchangeTokenAnswer::new(
            token_response(tokens)?,
            types::CacheControl::NoStore,
        ))
    }

    async fn list_links(
        context: &RequestContext,
        caller: SignedIn,
        request: Unchecked<ListLinksRequest>,
    ) -> Result<ListLinksAnswer, Rejection<Error>> {
        link::list_links(context, caller, request).await
    }
}

fn token_request(body: types::TokenRequest) -> TokenRequest {
    match body {
        types::TokenRequest::AuthorizationCodeGrant(grant) => TokenRequest::AuthorizationCode {
            code: Secret::from_text(grant.code),
            code_verifier: Secret::from_text(grant.code_verifier),
            redirect_uri: grant.redirect_uri.into(),
            client_id: ClientId::new(grant.client_id),
            device: device(grant.install_id, grant.user_agent),
        },
        types::TokenRequest::RefreshTokenGrant(grant) => TokenRequest::RefreshToken {
            refresh_token: Secret::from_text(grant.refresh_token),
            client_id: ClientId::new(grant.client_id),
            device: device(grant.install_id, grant.user_agent),
        },
    }
}

fn device(install_id: Option<types::InstallId>, user_agent: Option<types::UserAgent>) -> Device {
    Device {
        install_id: install_id.map(Into::into),
        user_agent: user_agent.map(Into::into),
    }
}

fn token_response(tokens: TokenSet) -> Result<types::TokenResponse, domain::Error> {
    Ok(types::TokenResponse {
        access_token: error::published(tokens.access_token.reveal())?,
        refresh_token: error::published(tokens.refresh_token.reveal())?,
        token_type: types::TokenType::Bearer,
        expires_in: error::published(tokens.expires_in)?,
        user_id: tokens.user_id.0.into(),
    })
}
