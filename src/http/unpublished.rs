//! What the server answers besides the published operations: to anybody, and in no document.

use std::time::Instant;

use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions, Body, HttpError,
};
use http::{Method, Response};

use super::{Context, RequestContext, finish};

/// Adds `GET path`, which answers what `answer` makes of the request.
///
/// # Errors
/// When another endpoint has this path.
pub fn get(
    api: &mut ApiDescription<Context>,
    path: &'static str,
    answer: impl Fn(&RequestContext) -> Response<Body> + Send + Sync + 'static,
) -> Result<(), ApiDescriptionRegisterError> {
    let handler = move |context: RequestContext| {
        let start = Instant::now();
        let mut answer = answer(&context);
        finish(&context, path, &mut answer, start.elapsed());
        std::future::ready(Ok::<_, HttpError>(answer))
    };
    let all = ApiEndpointVersions::All;
    let endpoint = ApiEndpoint::new(
        path.to_owned(),
        handler,
        Method::GET,
        "application/json",
        path,
        all,
    );
    api.register(endpoint.visible(false))
}
