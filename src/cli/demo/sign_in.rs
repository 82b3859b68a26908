//! A sign-in page that asks for nothing, for the tests of an app: only `--fixed` registers it.
//!
//! How users sign in is not part of the published interface, but an app cannot be tested end to end without it.
//!
//! 1. An app sends the browser here with an authorization request (RFC 6749, 4.1.1) and a code challenge (RFC 7636, 4.3).
//!    Other parameters of the request are ignored (RFC 6749, 3.1).
//! 2. The only user counts as signed in, and as having agreed. A code is issued to the app, as by
//!    `invoicing auth-code issue`, under the same rules.
//! 3. The browser is sent to the app's redirect URI with the code, and the `state` as it came (RFC 6749, 4.1.2).
//! 4. A request that is wrong in any way gets 400, with a text for the author of the test, and is not redirected. RFC 6749,
//!    4.1.2.1, would send most mistakes to the app, where they would go unread.

use std::sync::Arc;

use dropshot::{ApiDescriptionRegisterError, Body, HttpError};
use http::header::{CACHE_CONTROL, HeaderValue, LOCATION};
use http::{Response, StatusCode};
use openapi_dropshot_runtime::header_value;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::app::App;
use crate::domain::Error;
use crate::domain::auth_code::{CodeChallenge, NotAChallenge};
use crate::domain::authorization::redirection;
use crate::domain::id::UserId;
use crate::domain::oauth_client::ClientId;
use crate::http::{Api, get_with_query};

const PATH: &str = "/demo/authorize";

/// Step 1.
#[derive(Deserialize, JsonSchema)]
struct AuthorizationRequest {
    response_type: ResponseType,
    client_id: String,
    redirect_uri: String,
    code_challenge: String,
    code_challenge_method: ChallengeMethod,
    state: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
enum ResponseType {
    #[serde(rename = "code")]
    Code,
}

#[derive(Deserialize, JsonSchema)]
enum ChallengeMethod {
    S256,
}

/// Adds the page, on which `user` of `app` is signed in.
///
/// # Errors
/// When another endpoint has the same path.
pub(super) fn register(
    api: &mut Api,
    app: &Arc<App>,
    user: UserId,
) -> Result<(), ApiDescriptionRegisterError> {
    let app = Arc::clone(app);
    get_with_query(api, PATH, move |request| {
        authorize(Arc::clone(&app), user, request)
    })
}

/// Steps 2 and 3.
async fn authorize(
    app: Arc<App>,
    user: UserId,
    request: AuthorizationRequest,
) -> Result<Response<Body>, HttpError> {
    let AuthorizationRequest {
        response_type: ResponseType::Code,
        client_id,
        redirect_uri,
        code_challenge,
        code_challenge_method: ChallengeMethod::S256,
        state,
    } = request;
    let wrong = |why: String| HttpError::for_bad_request(None, why);
    let challenge: CodeChallenge = code_challenge
        .parse()
        .map_err(|error: NotAChallenge| wrong(error.to_string()))?;
    let client = ClientId::new(client_id);
    let issued = app
        .issue_auth_code(user, &client, &redirect_uri, challenge)
        .await
        .map_err(|error| match error {
            Error::Missing { .. } | Error::Refused(_) => wrong(error.to_string()),
            other => HttpError::for_internal_error(other.to_string()),
        })?;

    let state = state.as_deref().map(|it| ("state", it));
    let answer = [("code", issued.code.reveal())].into_iter().chain(state);
    let location = redirection(&redirect_uri, answer);
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::FOUND;
    let headers = answer.headers_mut();
    headers.insert(LOCATION, header_value(location));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
