//! Registers and serves endpoints besides the published operations: open to any client, and in no document.
//!
//! HEAD is answered like GET, without the body. Any other method, and a path that is not written like the endpoint's, is
//! refused before it gets here ([`openapi_dropshot_runtime::Methods`]).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use dropshot::{
    ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions, Body, HttpError, Path, Query,
};
use futures::FutureExt;
use http::{Extensions, Method, Response};
use openapi_dropshot_runtime::{Admitted, Rejection, Remainder, without_body};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::answered::{finish, sent};
use super::api::Api;
use super::context::{Context, RequestContext};
use super::form::{URL_ENCODED, UnreadForm};
use super::rejection::Error;
use super::span;
use super::turns::until_answered;
use crate::admin::FILE;
use crate::domain;

/// Adds `GET path`, which returns what `answer` makes of the request, and `HEAD path`.
///
/// # Errors
/// When another endpoint has this path.
pub(crate) fn get(
    api: &mut Api,
    path: &'static str,
    answer: impl Fn(&RequestContext) -> Response<Bytes> + Send + Sync + 'static,
) -> Result<(), ApiDescriptionRegisterError> {
    let answer = Arc::new(answer);
    for method in [Method::GET, Method::HEAD] {
        let answer = Arc::clone(&answer);
        register(api, path, method, move |context| {
            let start = Instant::now();
            let answer = answer(context);
            let metrics = &context.context().replica.metrics;
            metrics.answered(FILE, answer.status(), start.elapsed());
            let mut answer = answer.map(|bytes| context.context().unsent.shared_body(bytes));
            finish(context, path, &mut answer, start.elapsed());
            match *context.request.method() {
                Method::HEAD => without_body(answer),
                _ => answer,
            }
        })?;
    }
    api.methods.add(path, "GET, HEAD");
    Ok(())
}

/// Adds `GET path`, which returns what `answer` makes of its query, or 400 if that is not a `Q`. There is no HEAD: it would
/// do the work of the GET and then discard the result.
///
/// # Errors
/// When another endpoint has this path.
pub(crate) fn get_with_query<Q, F>(
    api: &mut Api,
    path: &'static str,
    answer: impl Fn(Q) -> F + Clone + Send + Sync + 'static,
) -> Result<(), ApiDescriptionRegisterError>
where
    Q: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    F: Future<Output = Result<Response<Body>, HttpError>> + Send + 'static,
{
    let handler = move |context: RequestContext, query: Query<Q>| {
        let answer = answer.clone();
        async move {
            let start = Instant::now();
            let mut answer = answer(query.into_inner()).await?;
            let remainder = Remainder::dropped(&context.request);
            remainder.settle(&context.request, &mut answer).await;
            finish(&context, path, &mut answer, start.elapsed());
            Ok::<_, HttpError>(answer)
        }
    };
    let (method, all) = (Method::GET, ApiEndpointVersions::All);
    let endpoint = ApiEndpoint::new(
        path.to_owned(),
        handler,
        method,
        "application/json",
        path,
        all,
    );
    api.endpoints.register(endpoint.visible(false))?;
    api.methods.add(path, "GET");
    Ok(())
}

/// Adds `POST path`, which takes a form.
///
/// # Errors
/// When another endpoint has this path.
pub(super) fn post<F>(
    api: &mut Api,
    path: &'static str,
    handler: impl Fn(RequestContext, UnreadForm) -> F + Send + Sync + 'static,
) -> Result<(), ApiDescriptionRegisterError>
where
    F: Future<Output = Result<Response<Body>, HttpError>> + Send + 'static,
{
    let (method, all) = (Method::POST, ApiEndpointVersions::All);
    let id = format!("{method} {path}");
    let endpoint: ApiEndpoint<Context> =
        ApiEndpoint::new(id, handler, method, URL_ENCODED, path, all);
    api.endpoints.register(endpoint.visible(false))?;
    api.methods.add(path, "POST");
    Ok(())
}

/// Serves a request to `path` by the steps of a published operation; `name` is its name in metrics. `handle` answers the
/// caller that `admit` has admitted, and `fail` turns a rejection into an answer. What `handle` has not read of the body is the
/// `remainder`.
pub(crate) async fn serve<P, F>(
    context: &RequestContext,
    (path, name): (&'static str, &'static str),
    remainder: Remainder,
    admit: impl Future<Output = Result<Admitted<P>, Error>>,
    handle: impl FnOnce(P) -> F,
    fail: impl Fn(Rejection<Error>) -> Response<Bytes>,
) -> Response<Body>
where
    F: Future<Output = Result<Response<Bytes>, Rejection<Error>>>,
{
    let start = Instant::now();
    let work = async {
        let (mut headers, mut notes) = (Vec::new(), Extensions::new());
        let steps = async {
            let admitted = admit.await.map_err(Rejection::Error)?;
            (headers, notes) = (admitted.headers, admitted.notes);
            handle(admitted.caller).await
        };
        // Without an answer, a client would try again.
        let steps = AssertUnwindSafe(steps).catch_unwind();
        let outcome = span::within(context, steps).await;
        let outcome = outcome.unwrap_or_else(|_| {
            let error = domain::Error::internal("a handler panicked");
            Err(Rejection::Error(Error::Domain(error)))
        });
        let mut answer = outcome.unwrap_or_else(&fail);
        answer.headers_mut().extend(headers);
        answer.extensions_mut().extend(notes);
        sent(context, (path, name), answer, start.elapsed(), &fail)
    };
    let mut answer = until_answered(work).await;
    remainder.settle(&context.request, &mut answer).await;
    answer
}

/// The variables of a path.
pub(crate) trait Variables: DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl<T: DeserializeOwned + JsonSchema + Send + Sync + 'static> Variables for T {}

/// A path without variables.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoVariables {}

/// Adds one method of a path.
fn register(
    api: &mut Api,
    path: &'static str,
    method: Method,
    answer: impl Fn(&RequestContext) -> Response<Body> + Send + Sync + 'static,
) -> Result<(), ApiDescriptionRegisterError> {
    let id = format!("{method} {path}");
    let answer = Arc::new(answer);
    let handler = move |context: RequestContext, _: Path<NoVariables>| {
        let answer = Arc::clone(&answer);
        async move {
            let mut answer = answer(&context);
            let remainder = Remainder::dropped(&context.request);
            remainder.settle(&context.request, &mut answer).await;
            Ok::<_, HttpError>(answer)
        }
    };
    let all = ApiEndpointVersions::All;
    let endpoint: ApiEndpoint<Context> =
        ApiEndpoint::new(id, handler, method, "application/json", path, all);
    api.endpoints.register(endpoint.visible(false))
}
