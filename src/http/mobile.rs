//! The mobile device-session API: implements the trait that is generated from its document, with each operation in the file
//! of its noun.

use std::time::Duration;

use bytes::Bytes;
use dropshot::Body;
use http::Response;
use http::header::CACHE_CONTROL;
use openapi_dropshot_runtime::{Admitted, ErrorAnswer, Operation, Rejection, Unchecked};

use super::answered::answered;
use super::api::Service;
use super::context::{Context, RequestContext};
use super::rejection::Error;
use super::turns::until_answered;
use super::{credential, error, session, share_link, span};
use crate::domain::session::SignedIn;
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
        // These answers are about one person: even that something is missing must not be stored.
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

    fn within<W: Future + Send>(
        context: &RequestContext,
        _: &'static Operation,
        work: W,
    ) -> impl Future<Output = W::Output> + Send {
        span::within(context, until_answered(work))
    }

    fn answered(
        context: &RequestContext,
        operation: &'static Operation,
        answer: Response<Bytes>,
        latency: Duration,
    ) -> Response<Body> {
        // No answer of the token endpoint is so large that it has to be replaced.
        let overloaded = |rejection| Self::error_response(context, operation, rejection);
        answered(context, operation, answer, latency, overloaded)
    }

    async fn exchange_token(
        context: &RequestContext,
        request: Unchecked<ExchangeTokenRequest>,
    ) -> Result<ExchangeTokenAnswer, Rejection<Error>> {
        session::exchange_token(context, request).await
    }

    async fn list_links(
        context: &RequestContext,
        caller: SignedIn,
        request: Unchecked<ListLinksRequest>,
    ) -> Result<ListLinksAnswer, Rejection<Error>> {
        share_link::list_links(context, caller, request).await
    }
}
