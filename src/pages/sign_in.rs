//! `/sign-in` and `/sign-out`.

use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::header::SET_COOKIE;
use http::{Response, StatusCode};

use super::answer::{html, see_other};
use super::cookies::Cookie;
use super::failure::Failure;
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::text::Time;
use super::visit::{Visit, way_back};
use crate::app::sign_in::{Cookies, SignIn};
use crate::domain::Error;
use crate::domain::secret::Secret;
use crate::http::{Api, Form};

/// As much of a hint is shown as the field takes.
const EMAIL_LENGTH: usize = 254;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    /// Where to go afterwards.
    next: String,
    email: String,
    complaint: Option<String>,
    sends_mail: bool,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has a path of theirs.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/sign-in")
        .shows("show_sign_in", show_sign_in)?
        .takes("sign_in", sign_in)?
        .and_no_more::<NoVariables>()?;
    Route::new(api, site, "/sign-out")
        .takes("sign_out", sign_out)?
        .and_no_more::<NoVariables>()
}

async fn show_sign_in(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let next = visit.query("next").unwrap_or_default();
    let next = way_back(&next).unwrap_or("/").to_owned();
    // Who is signed in already may want to be somebody else, or has to sign in anew; the next session takes the place of this.
    if visit.in_browser.is_some() && visit.query("anew").is_none() {
        return Ok(see_other(&next));
    }
    let email = visit.query("email").unwrap_or_default();
    let email = email.chars().take(EMAIL_LENGTH).collect();
    page(&visit, StatusCode::OK, next, email, None)
}

async fn sign_in(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [email, password, next] = form.fields(["email", "password", "next"])?;
    let next = way_back(&next).unwrap_or("/").to_owned();
    let attempt = SignIn {
        email: email.clone(),
        password: Secret::from_text(password),
        browser: visit.browser(),
    };
    let complaint = match visit.app().sign_in(attempt).await {
        Ok(cookies) => return Ok(signed_in(&visit, &cookies, &next)),
        Err(error) => wrong_password(error)?,
    };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    page(&visit, status, next, email, Some(complaint))
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

fn page(
    visit: &Visit,
    status: StatusCode,
    next: String,
    email: String,
    complaint: Option<String>,
) -> Answer {
    let page = SignInPage {
        frame: Frame::of(visit),
        next,
        email,
        complaint,
        sends_mail: visit.app().sends_mail(),
    };
    Ok(html(status, &page)?)
}

/// What is said of a password that does not let its user in.
///
/// # Errors
/// What else went wrong.
pub(super) fn wrong_password(error: Error) -> Result<String, Failure> {
    match error {
        Error::WrongPassword => Ok("The email or the password is wrong.".to_owned()),
        Error::TooManyWrongPasswords(until) => Ok(format!(
            "There were too many wrong passwords. Try again after {}.",
            Time(until)
        )),
        error => Err(error.into()),
    }
}

/// Leads a browser on in which somebody has just signed in.
pub(super) fn signed_in(visit: &Visit, cookies: &Cookies, next: &str) -> Response<Bytes> {
    visit.renew(&cookies.session);
    let mut answer = see_other(next);
    let device = Cookie::Device.set(&visit.site, cookies.device.reveal());
    answer.headers_mut().append(SET_COOKIE, device);
    answer
}
