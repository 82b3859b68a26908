//! `/sign-in` and `/sign-out`.
//!
//! GET of `/sign-in` stores nothing: the challenge for a passkey is in the page, sealed, and valid in the browser that gets
//! a cookie with it.

use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::header::SET_COOKIE;
use http::{Response, StatusCode};

use super::answer::{html, refused_as, see_other};
use super::cookies::Cookie;
use super::failure::Failure;
use super::frame::Frame;
use super::provider;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::text::{DEACTIVATED, Time, encoded, not_possible};
use super::visit::{Visit, way_back};
use crate::app::sign_in::{Cookies, SignIn};
use crate::domain::Error;
use crate::domain::passkey::ceremony::{self as passkey, Asked};
use crate::domain::secret::Secret;
use crate::http::{Api, Form};
use crate::log::ErrorCode;

/// How many characters of a hint are shown: as many as the field takes.
const EMAIL_LENGTH: usize = 254;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    /// Where to go afterwards.
    next: String,
    email: String,
    complaint: Option<String>,
    /// Whether the complaint is about the password.
    wrong_password: bool,
    /// What a passkey is asked for, if they are offered.
    asked: Option<Asked>,
    /// Whether passwords are switched on.
    password: bool,
    sends_mail: bool,
    provider: Option<ProviderLink>,
}

/// The link to the OpenID provider, if there is one.
struct ProviderLink {
    /// What people call it.
    name: String,
    /// Where to go afterwards, encoded for a query.
    next: String,
    /// Whether to sign in again there.
    anew: bool,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/sign-in")
        .shows("show_sign_in", show_sign_in)?
        .takes("sign_in", sign_in)?
        .and_no_more();
    Route::new(api, site, "/sign-in/passkey")
        .takes("sign_in_by_passkey", sign_in_by_passkey)?
        .and_no_more();
    Route::new(api, site, "/sign-out")
        .takes("sign_out", sign_out)?
        .and_no_more();
    Ok(())
}

async fn show_sign_in(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let next = visit.query("next").unwrap_or_default();
    let next = way_back(&next).unwrap_or("/").to_owned();
    // A signed-in user may want to be another, or has to sign in again; the next session replaces this one.
    if visit.in_browser.is_some() && visit.query("anew").is_none() {
        return Ok(see_other(&next));
    }
    let email = visit.query("email").unwrap_or_default();
    let email = email.chars().take(EMAIL_LENGTH).collect();
    page(&visit, next, email, None).await
}

async fn sign_in(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [email, password, next] = form.fields(["email", "password", "next"])?;
    let next = way_back(&next).unwrap_or("/").to_owned();
    let attempt = SignIn {
        email: email.clone(),
        password: Secret::from_text(password),
        browser: visit.browser(),
    };
    match visit.app().sign_in(attempt).await {
        Ok(cookies) => Ok(signed_in(&visit, &cookies, &next)),
        Err(error) => page(&visit, next, email, Some(error)).await,
    }
}

async fn sign_in_by_passkey(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [challenge, credential, next] = form.fields(["challenge", "passkey", "next"])?;
    let next = way_back(&next).unwrap_or("/").to_owned();
    // The script had a page that was too old.
    if credential.is_empty() {
        let anew = format!("/sign-in?anew=1&next={}", encoded(&next));
        return Ok(see_other(&anew));
    }
    let answer = passkey::Answer {
        challenge,
        credential,
    };
    let (secret, browser) = (asking_browser(&visit), visit.browser());
    let app = visit.app();
    match app.sign_in_by_passkey(&answer, &secret, browser).await {
        Ok(cookies) => Ok(signed_in(&visit, &cookies, &next)),
        Err(error) => page(&visit, next, String::new(), Some(error)).await,
    }
}

/// Returns the secret by which a browser without a signed-in user is known: the one that it has, or a new one.
fn asking_browser(visit: &Visit) -> Secret {
    let known = visit.cookie(Cookie::Passkey);
    let known = known.filter(|it| Secret::is_base64url(it));
    known.map_or_else(Secret::base64url, Secret::from_text)
}

async fn sign_out(visit: Arc<Visit>, _: NoVariables, _: Form) -> Answer {
    if visit.in_browser.is_some() {
        visit.app().sign_out(visit.person()?).await?;
    }
    let mut answer = see_other("/sign-in");
    let cleared = Cookie::Session.clear(&visit.site);
    answer.headers_mut().append(SET_COOKIE, cleared);
    Ok(answer)
}

async fn page(visit: &Visit, next: String, email: String, error: Option<Error>) -> Answer {
    let browser = asking_browser(visit);
    let asked = visit.app().ask_to_sign_in(&browser).await?;
    let asks = asked.is_some();
    let status = match error {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let code = error.as_ref().and_then(code);
    let page = SignInPage {
        frame: Frame::of(visit),
        password: visit.app().switched_on().password,
        provider: provider::name(visit).map(|name| ProviderLink {
            name,
            next: encoded(&next),
            anew: visit.query("anew").is_some(),
        }),
        next,
        email,
        wrong_password: is_of_password(error.as_ref()),
        complaint: error.map(not_proven).transpose()?,
        sends_mail: visit.app().sends_mail(),
        asked,
    };
    let mut answer = refused_as(html(status, &page)?, code);
    if asks {
        let cookie = Cookie::Passkey.set(&visit.site, browser.reveal());
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(answer)
}

/// Returns whether it is the field of the password that the complaint is about.
pub(super) fn is_of_password(error: Option<&Error>) -> bool {
    matches!(
        error,
        Some(Error::WrongPassword | Error::TooManyWrongPasswords(_))
    )
}

/// Returns the complaint about a password or passkey that does not let its user in.
///
/// # Errors
/// Anything else that went wrong.
pub(super) fn not_proven(error: Error) -> Result<String, Failure> {
    match error {
        Error::Deactivated => Ok(DEACTIVATED.to_owned()),
        Error::WrongPassword => Ok("The email or the password is wrong.".to_owned()),
        Error::PasskeyRefused => {
            Ok("This passkey is not accepted here, or the page was too old. Try again.".to_owned())
        }
        Error::Refused(why) => Ok(not_possible(&why)),
        Error::TooManyWrongPasswords(until) => Ok(format!(
            "There were too many wrong passwords. Try again after {}.",
            Time(until)
        )),
        error => Err(error.into()),
    }
}

/// Returns the code that is logged for a password or passkey that does not let its user in: `packaging/fail2ban` reads it.
pub(super) fn code(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::WrongPassword => Some(ErrorCode("wrong_password")),
        Error::PasskeyRefused => Some(ErrorCode("passkey_refused")),
        Error::TooManyWrongPasswords(_) => Some(ErrorCode("too_many_wrong_passwords")),
        _ => None,
    }
}

/// Redirects a browser in which a user has just signed in.
pub(super) fn signed_in(visit: &Visit, cookies: &Cookies, next: &str) -> Response<Bytes> {
    visit.renew(&cookies.session);
    let mut answer = see_other(next);
    if let Some(device) = &cookies.device {
        let device = Cookie::Device.set(&visit.site, device.reveal());
        answer.headers_mut().append(SET_COOKIE, device);
    }
    answer
}
