//! The way to the OpenID provider and back: `/sign-in/provider`, `/account/link`, `/confirm/provider` and
//! `/invitation/{token}/provider` lead there, `/sign-in/callback` leads back (docs/decisions.md, P28, P29 and V10).
//!
//! 1. Users go there by a link: browsers apply `form-action` to each redirect after a form. The way there changes nothing;
//!    what comes back with the browser is in a cookie of its own ([`crate::domain::authentication_request`]).
//! 2. Another site's link may lead to signing in, if no user is signed in. Only a link of ours leads to linking, confirming
//!    or joining: otherwise attackers could have their own identity linked to the account of a user who follows their link.
//!    A form leads to none of these: no way back is one ([`way_back`]).
//! 3. The way back is the only GET that changes something. It is a navigation from another site, which brings our cookies as
//!    they are `SameSite=Lax`; the state, which the cookie has, too, shows that it belongs to this browser. HEAD does
//!    nothing.
//! 4. A user who links or confirms has to be in the session in which they left. One who links has proven who they are before
//!    that.
//! 5. A user who has confirmed is redirected to the page of the form, and submits it again: nothing has waited.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::header::SET_COOKIE;
use http::{Method, StatusCode};
use slog::warn;

use super::answer::{html, refused_as, see_other};
use super::cookies::Cookie;
use super::error;
use super::failure::Failure;
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route, TokenPath};
use super::site::Site;
use super::text::{DEACTIVATED, encoded};
use super::visit::{Visit, way_back};
use crate::domain::Error;
use crate::domain::authentication_request::{AuthenticationRequest, Purpose};
use crate::domain::browser_session::InBrowser;
use crate::domain::id::BrowserSessionId;
use crate::domain::secret::Secret;
use crate::http::Api;
use crate::log::ErrorCode;
use crate::oidc::{self, Provider, Turn};

/// The longest code that is passed on.
const CODE_LENGTH: usize = 4_096;

#[derive(Template)]
#[template(path = "provider.html")]
struct ProviderPage {
    frame: Frame,
    title: String,
    message: String,
    /// Where to go on.
    to: String,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/sign-in/provider")
        .shows("go_to_sign_in", go_to_sign_in)?
        .and_no_more();
    Route::new(api, site, "/account/link")
        .shows("go_to_link", go_to_link)?
        .and_no_more();
    Route::new(api, site, "/confirm/provider")
        .shows("go_to_confirm", go_to_confirm)?
        .and_no_more();
    Route::new(api, site, "/invitation/{token}/provider")
        .shows("go_to_join", go_to_join)?
        .and_no_more();
    Route::new(api, site, oidc::CALLBACK)
        .shows("come_back", come_back)?
        .and_no_more();
    Ok(())
}

/// Returns the provider's name, for pages that lead to it.
pub(super) fn name(visit: &Visit) -> Option<String> {
    let provider = visit.context.context().provider.as_ref();
    provider.map(|it| it.name().to_owned())
}

fn provider(visit: &Visit) -> Result<&Provider, Failure> {
    let provider = visit.context.context().provider.as_deref();
    provider.ok_or(Failure::NotFound)
}

async fn go_to_sign_in(visit: Arc<Visit>, _: NoVariables) -> Answer {
    provider(&visit)?;
    let next = next(&visit);
    // No other site may get a user signed in as another.
    if visit.in_browser.is_some() && visit.require_own_link().is_err() {
        return Ok(see_other(&next));
    }
    go(&visit, Purpose::SignIn, &next).await
}

async fn go_to_link(visit: Arc<Visit>, _: NoVariables) -> Answer {
    provider(&visit)?;
    let session = &visit.signed_in()?.session;
    visit.require_own_link()?;
    match session.is_fresh(visit.app().now()) {
        true => go(&visit, Purpose::Link(session.id), "/account?done=linked").await,
        // A form, and the way from there to the provider is a link again.
        false => Ok(see_other("/confirm?next=%2Faccount")),
    }
}

async fn go_to_confirm(visit: Arc<Visit>, _: NoVariables) -> Answer {
    provider(&visit)?;
    let session = visit.signed_in()?.session.id;
    visit.require_own_link()?;
    go(&visit, Purpose::Confirm(session), &next(&visit)).await
}

async fn go_to_join(visit: Arc<Visit>, path: TokenPath) -> Answer {
    provider(&visit)?;
    visit.require_own_link()?;
    let link = Secret::from_text(path.token);
    if visit.in_browser.is_some() {
        return Ok(see_other(&invitation(&link)));
    }
    // Only a valid link is taken there.
    visit.app().get_invitation(&link).await?;
    go(&visit, Purpose::Join(link), "/").await
}

fn next(visit: &Visit) -> String {
    let next = visit.query("next").unwrap_or_default();
    way_back(&next).unwrap_or("/").to_owned()
}

/// Step 1.
async fn go(visit: &Visit, purpose: Purpose, next: &str) -> Answer {
    let provider = provider(visit)?;
    let (request, cookie) = visit.app().begin_authentication(purpose, next).await?;
    // A signed-in user who signs in wants to be another, and so does one who comes from where it did not work.
    let again = visit.in_browser.is_some() && request.purpose == Purpose::SignIn;
    let anew = again || visit.query("anew").is_some();
    let address = visit.browser().visitor.address;
    let url = match provider.authorization_url(&request, anew, address).await {
        Ok(url) => url,
        Err(error) => return not_proven(visit, provider, &request, &error),
    };
    let mut answer = see_other(&url);
    let cookie = Cookie::Provider.set(&visit.site, cookie.reveal());
    answer.headers_mut().append(SET_COOKIE, cookie);
    Ok(answer)
}

/// Step 3.
async fn come_back(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let provider = provider(&visit)?;
    let cookie = visit.cookie(Cookie::Provider).unwrap_or_default();
    let request = match visit.context.request.method() == Method::GET {
        true => visit.app().find_authentication(cookie).await?,
        false => None,
    };
    let state = Secret::from_text(visit.query("state").unwrap_or_default());
    let Some(request) = request.filter(|it| it.state == state) else {
        return stray(&visit);
    };
    // A user who is told that it is too busy still has everything to come back with.
    let returning = visit.cookie(Cookie::Returning).unwrap_or_default();
    let returning = visit.app().find_returning_browser(returning).await?;
    let address = visit.browser().visitor.address;
    let turn = match provider.turn_with_code(address, returning) {
        Ok(turn) => turn,
        Err(error) => return not_proven(&visit, provider, &request, &error),
    };
    let answered = taken_up(&visit, provider, turn, request).await;
    let mut answer = answered.unwrap_or_else(|failure| error::answer(&visit, failure));
    // Whatever became of it, it is used up.
    let cleared = Cookie::Provider.clear(&visit.site);
    answer.headers_mut().append(SET_COOKIE, cleared);
    Ok(answer)
}

async fn taken_up(
    visit: &Visit,
    provider: &Provider,
    mut turn: Turn<'_>,
    request: AuthenticationRequest,
) -> Answer {
    let code = visit.query("code");
    let code = code.filter(|it| is_code(it));
    let (Some(code), None) = (code, visit.query("error")) else {
        let message = "You went back, or it does not let you in here. Nothing was changed.";
        return refused(visit, "You did not sign in there", message, &request);
    };
    // A user who has signed in meanwhile is asked there, and not made another user.
    if let (Purpose::Join(link), Some(_)) = (&request.purpose, &visit.in_browser) {
        return Ok(see_other(&invitation(link)));
    }
    let iss = visit.query("iss");
    let claims = provider.claims(&mut turn, &request, code, iss.as_deref());
    let claims = match claims.await {
        Ok(claims) => claims,
        Err(error) => return not_proven(visit, provider, &request, &error),
    };
    // Others wait for it, and the user may have to wait for locks of their own from here on.
    drop(turn);
    let app = visit.app();
    let done = match &request.purpose {
        Purpose::SignIn => app
            .sign_in_by_provider(claims, visit.browser())
            .await
            .map(|(user_id, cookie)| (user_id, Some(cookie))),
        Purpose::Join(link) => app
            .join_by_provider(link, claims, visit.browser())
            .await
            .map(|(user_id, cookie)| (user_id, Some(cookie))),
        Purpose::Link(session) => match in_session(visit, *session) {
            Some(it) => app
                .link_identity(visit.person()?, claims)
                .await
                .map(|()| (it.user.id, None)),
            None => return stray(visit),
        },
        Purpose::Confirm(session) => match in_session(visit, *session) {
            Some(it) => app
                .confirm_by_provider(it, claims)
                .await
                .map(|cookie| (it.user.id, Some(cookie))),
            None => return stray(visit),
        },
    };
    match done {
        Ok((user_id, cookie)) => {
            if let Some(cookie) = cookie {
                visit.renew(&cookie);
            }
            let mut answer = see_other(&request.next);
            let returning = app.returning_browser(user_id).await?;
            let returning = Cookie::Returning.set(&visit.site, returning.reveal());
            answer.headers_mut().append(SET_COOKIE, returning);
            Ok(answer)
        }
        Err(error) => of_nobody(visit, provider, &request, error),
    }
}

/// Whether it can be a code at all (RFC 6749, A.11).
fn is_code(text: &str) -> bool {
    (1..=CODE_LENGTH).contains(&text.len()) && text.bytes().all(|it| (b' '..=b'~').contains(&it))
}

/// Step 4.
fn in_session(visit: &Visit, id: BrowserSessionId) -> Option<&InBrowser> {
    visit.in_browser.as_ref().filter(|it| it.session.id == id)
}

/// Answers if the provider has proven an identity that is not accepted here.
fn of_nobody(
    visit: &Visit,
    provider: &Provider,
    request: &AuthenticationRequest,
    error: Error,
) -> Answer {
    let name = provider.name();
    let (title, message) = match (error, &request.purpose) {
        (Error::IdentityUnknown, Purpose::Confirm(_)) => (
            "That is somebody else",
            format!("You signed in at {name} as somebody who is not linked to your account here."),
        ),
        (Error::IdentityUnknown, _) => (
            "This account is not linked to anybody here",
            format!(
                "Nobody here signs in with the {name} account that you used. If you have an account here, sign in to it as \
                 before, and link the other one under Account. If you have none, ask an owner or admin of your team to \
                 invite you."
            ),
        ),
        (Error::IdentityTaken, _) => (
            "Another user has this",
            format!("This {name} account is linked to another user here."),
        ),
        (Error::Deactivated, _) => ("You cannot sign in", DEACTIVATED.to_owned()),
        (Error::Refused(why), _) => ("That is not possible", format!("It did not work: {why}.")),
        (Error::LinkNotValid, Purpose::Join(_)) => (
            "This invitation is over",
            "It was taken up or taken back meanwhile, or there is a user with its email by now."
                .to_owned(),
        ),
        // The session has ended meanwhile.
        (Error::InvalidToken, _) => return stray(visit),
        (error, _) => return Err(error.into()),
    };
    refused(visit, title, &message, request)
}

fn not_proven(
    visit: &Visit,
    provider: &Provider,
    request: &AuthenticationRequest,
    error: &oidc::Error,
) -> Answer {
    let lines = match error {
        oidc::Error::Unavailable(_) => &provider.failures,
        oidc::Error::Busy | oidc::Error::SentAway => &provider.crowds,
        oidc::Error::Unproven(_) => &provider.refusals,
        oidc::Error::InvalidCode(_) => &provider.codes,
    };
    if let Some(count) = lines.again() {
        warn!(visit.context.log, "{error}"; "issuer" => provider.issuer(), "count" => count);
    }
    let name = provider.name();
    let (status, code, title, message) = match error {
        oidc::Error::Unavailable(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode("provider_unavailable"),
            format!("{name} does not answer"),
            "Nobody can sign in with it right now. Try again in a moment, or sign in in another way, if you have one.",
        ),
        oidc::Error::Busy | oidc::Error::SentAway => (
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode("provider_busy"),
            format!("Too many people sign in with {name} just now"),
            match error {
                oidc::Error::Busy => "Nothing was changed. Reload this page in a moment.",
                _ => "Nothing was changed. Try again in a moment.",
            },
        ),
        oidc::Error::Unproven(_) | oidc::Error::InvalidCode(_) => (
            StatusCode::FORBIDDEN,
            ErrorCode("identity_not_proven"),
            format!("{name} has not proven who you are"),
            "Nothing was changed. Try again; if it does not help, tell whoever runs this server: the log says why.",
        ),
    };
    let answer = page(visit, status, title, message, way_on(request))?;
    Ok(refused_as(answer, Some(code)))
}

/// Answers if no sign-in left from this browser, or it was too long ago, or is used up.
fn stray(visit: &Visit) -> Answer {
    let title = "This sign-in is over".to_owned();
    let message = "It began more than ten minutes ago, or in another browser, or was done already. Begin again.";
    page(
        visit,
        StatusCode::BAD_REQUEST,
        title,
        message,
        "/sign-in".to_owned(),
    )
}

fn refused(visit: &Visit, title: &str, message: &str, request: &AuthenticationRequest) -> Answer {
    let status = StatusCode::FORBIDDEN;
    page(visit, status, title.to_owned(), message, way_on(request))
}

/// Returns where to try again.
fn way_on(request: &AuthenticationRequest) -> String {
    match &request.purpose {
        Purpose::SignIn => format!("/sign-in?anew=1&next={}", encoded(&request.next)),
        Purpose::Join(link) => format!("{}?anew=1", invitation(link)),
        Purpose::Link(_) => "/account".to_owned(),
        Purpose::Confirm(_) => request.next.clone(),
    }
}

fn invitation(link: &Secret) -> String {
    format!("/invitation/{}", encoded(link.reveal()))
}

fn page(visit: &Visit, status: StatusCode, title: String, message: &str, to: String) -> Answer {
    let page = ProviderPage {
        frame: Frame::of(visit),
        title,
        message: message.to_owned(),
        to,
    };
    Ok(html(status, &page)?)
}
