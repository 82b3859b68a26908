//! `/api/auth/mobile/authorize`: where an app sends a browser to sign a user in (docs/decisions.md, A1 to A12).
//!
//! 1. The request is checked before the user signs in ([`crate::domain::authorization`]): an error is shown in the browser
//!    if it is not certain where an answer would go, and reported to the app otherwise.
//! 2. A user who is not signed in goes to the sign-in page and comes back; so does one who is, if the app asks for that
//!    (`prompt=login`).
//! 3. A page always asks the user. Its form carries the request, and the user whom it shows. It is the only page sent
//!    without `form-action`, as its answer leads to the app.
//! 4. The form is checked like the request before, in the session that it comes in. If the signed-in user is not the one who
//!    was shown, or there is none, the page is shown again.
//! 5. The app gets a code, or `access_denied`. Cancelling grants nothing, so it does not matter who is signed in.

use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::header::HeaderValue;
use http::{Response, StatusCode};

use super::answer::{html, may_lead_elsewhere, see_other};
use super::failure::Failure;
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::text::encoded;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::authorization::{
    AuthorizationParameters, AuthorizationRequest, Destination, Ruling,
};
use crate::domain::browser_session::{BrowserSession, InBrowser};
use crate::domain::oauth_client::OauthClient;
use crate::http::{Api, File, Form, get};

const PATH: &str = "/api/auth/mobile/authorize";
const METADATA: &str = "/.well-known/oauth-authorization-server";

#[derive(Template)]
#[template(path = "authorize.html")]
struct AuthorizePage<'a> {
    frame: Frame,
    client: &'a OauthClient,
    destination: Destination<'a>,
    in_browser: &'a InBrowser,
    /// The request, as a query.
    request: String,
    /// Where to sign in as another user.
    another: String,
}

/// Adds the page, and the metadata by which apps find it.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, PATH)
        .shows("show_authorization", show_authorization)?
        .takes("authorize", authorize)?
        .and_no_more();
    let json = HeaderValue::from_static("application/json");
    let metadata = File::new(json, metadata(site.origin.as_str()));
    get(api, METADATA, move |context| {
        metadata.answer(context.request.headers())
    })
}

/// Returns the metadata of this and the token endpoint (RFC 8414), at the origin.
fn metadata(origin: &str) -> String {
    let metadata = serde_json::json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}{PATH}"),
        "token_endpoint": format!("{origin}/api/auth/mobile/token"),
        "revocation_endpoint": format!("{origin}/api/auth/mobile/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    });
    format!("{metadata:#}\n")
}

async fn show_authorization(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let query = visit.context.request.uri().query().unwrap_or_default();
    let (request, client) = match judged(&visit, query).await? {
        Judged::Good(request, client) => (request, client),
        Judged::Answered(answer) => return Ok(answer),
    };
    let Some(in_browser) = who(&visit, &request) else {
        return Ok(see_other(&sign_in(&visit, *request)));
    };
    let page = AuthorizePage {
        frame: Frame::of(&visit),
        client: &client,
        destination: request.destination(),
        in_browser,
        request: request.query(),
        another: sign_in(&visit, (*request).clone()),
    };
    Ok(may_lead_elsewhere(html(StatusCode::OK, &page)?))
}

/// Steps 4 and 5.
async fn authorize(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [request, user, answer] = form.fields(["request", "user", "answer"])?;
    let request = match judged(&visit, &request).await? {
        Judged::Good(request, _) => request,
        Judged::Answered(answer) => return Ok(answer),
    };
    let origin = visit.site.origin.as_str();
    let anew = see_other(&format!("{PATH}?{}", request.query()));
    match &answer[..] {
        "cancel" => return Ok(see_other(&request.cancelled().location(origin))),
        "approve" => {}
        _ => return Ok(anew),
    }
    let shown = |it: &&InBrowser| it.user.id.to_string() == user;
    if who(&visit, &request).filter(shown).is_none() {
        return Ok(anew);
    }
    let approved = visit.app().approve_authorization(visit.person()?, &request);
    match approved.await {
        Ok(issued) => {
            let location = request.approved(issued.code.reveal(), origin);
            Ok(see_other(&location))
        }
        // Meanwhile the user has signed out, in this browser or from another, or the app has been changed or deleted.
        Err(Error::InvalidToken | Error::Missing { .. } | Error::Refused(_)) => Ok(anew),
        Err(error) => Err(error.into()),
    }
}

/// A request that may go on, or the answer that it gets instead.
enum Judged {
    Good(Box<AuthorizationRequest>, OauthClient),
    Answered(Response<Bytes>),
}

/// Step 1.
async fn judged(visit: &Visit, query: &str) -> Result<Judged, Failure> {
    let asked = AuthorizationParameters::parse(query);
    let user_id = visit.in_browser.as_ref().map(|it| it.user.id);
    let ruling = visit.app().check_authorization_request(user_id, asked);
    match ruling.await? {
        Ruling::Ask(request, client) => Ok(Judged::Good(request, client)),
        Ruling::Refuse(refusal) => {
            let location = refusal.location(visit.site.origin.as_str());
            Ok(Judged::Answered(see_other(&location)))
        }
        Ruling::Stop(why) => Err(Failure::WrongApp(why)),
    }
}

/// Returns the user, if signed in as the app asks for it.
fn who<'a>(visit: &'a Visit, request: &AuthorizationRequest) -> Option<&'a InBrowser> {
    let in_browser = visit.in_browser.as_ref();
    in_browser.filter(|it| !request.asks_to_sign_in(&it.session))
}

/// Returns the address of the sign-in page, with the way back.
fn sign_in(visit: &Visit, request: AuthorizationRequest) -> String {
    let session: Option<&BrowserSession> = visit.in_browser.as_ref().map(|it| &it.session);
    // A provider asks again as well, if the app wants that.
    let anew = session.is_some() || request.signs_in_anew();
    let anew = if anew { "anew=1&" } else { "" };
    let hint = request.login_hint.as_deref().map(encoded);
    let hint = hint.map_or_else(String::new, |it| format!("email={it}&"));
    let back = format!("{PATH}?{}", request.asked_in(session).query());
    format!("/sign-in?{anew}{hint}next={}", encoded(&back))
}

#[cfg(test)]
mod tests {
    use super::super::visit::way_back;

    #[test]
    fn the_longest_request_finds_its_way_back() {
        let longest = format!("{}?{}", super::PATH, "x".repeat(7_000));
        assert!(way_back(&longest).is_some());
    }
}
