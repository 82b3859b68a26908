//! Asks users to prove again who they are, before an action that requires it (docs/decisions.md, V9 and V10).
//!
//! 1. A user who has signed in, or proven who they are, within the last quarter of an hour is not asked.
//! 2. All others get a page with the same form, its fields hidden, and one more: the password, or what a passkey has signed.
//!    So nothing has to be stored meanwhile, and the POST of that page does the action, or nothing does.
//! 3. If it is right, the session gets another cookie, and the action is done.
//! 4. A user who signs in by the OpenID provider goes there by a link instead (`provider`), comes back to the page of the
//!    form, and submits it again.
//! 5. `/confirm` has such a form for actions that have none: it only leads on.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, refused_as, see_other};
use super::failure::Failure;
use super::frame::Frame;
use super::provider;
use super::route::{Answer, NoVariables, Route};
use super::sign_in::{code, is_of_password, not_proven};
use super::site::Site;
use super::text::encoded;
use super::visit::{Visit, way_back};
use crate::domain::Error;
use crate::domain::passkey::ceremony::{self as passkey, Asked};
use crate::domain::secret::Secret;
use crate::domain::ways_to_sign_in::WaysToSignIn;
use crate::http::{Api, Form};

const PATH: &str = "/confirm";

/// The fields that the page adds.
const FIELDS: [&str; 3] = ["confirm_password", "confirm_passkey", "confirm_challenge"];

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage<'a> {
    frame: Frame,
    email: &'a str,
    action: &'a str,
    fields: &'a [(&'a str, &'a str)],
    ways: WaysToSignIn,
    /// What people call the provider.
    provider: String,
    /// The page of the form, encoded for a query.
    back: String,
    complaint: Option<String>,
    /// Whether the complaint is about the password.
    wrong_password: bool,
    /// What a passkey is asked for, if the user has one.
    asked: Option<Asked>,
}

/// Adds the page of step 5.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, PATH)
        .shows("show_confirm", show_confirm)?
        .takes("confirm", confirm)?
        .and_no_more();
    Ok(())
}

async fn show_confirm(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let session = &visit.signed_in()?.session;
    let next = visit.query("next").unwrap_or_default();
    let next = way_back(&next).unwrap_or("/");
    if session.is_fresh(visit.app().now()) {
        return Ok(see_other(next));
    }
    ask(&visit, &[("next", next)], next, None).await
}

async fn confirm(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [next] = form.fields(["next"])?;
    let next = way_back(&next).unwrap_or("/");
    confirmed_on(&visit, &form, &[("next", next)], next).await?;
    Ok(see_other(next))
}

/// Goes on if the signed-in user has recently proven who they are; `fields` are those of the form, none of them secret.
///
/// # Errors
/// [`Failure::Answered`] with the page of step 2.
pub(super) async fn confirmed(
    visit: &Visit,
    form: &Form,
    fields: &[(&str, &str)],
) -> Result<(), Failure> {
    confirmed_on(visit, form, fields, &visit.page()).await
}

/// The same, for a form on the page `back`.
async fn confirmed_on(
    visit: &Visit,
    form: &Form,
    fields: &[(&str, &str)],
    back: &str,
) -> Result<(), Failure> {
    let in_browser = visit.signed_in()?;
    if in_browser.session.is_fresh(visit.app().now()) {
        return Ok(());
    }
    let [password, credential, challenge] = form.fields(FIELDS)?;
    let (app, browser) = (visit.app(), visit.browser());
    let proven = match (password.is_empty(), credential.is_empty()) {
        (true, true) => return Err(asked(ask(visit, fields, back, None).await?)),
        (true, false) => {
            let answer = passkey::Answer {
                challenge,
                credential,
            };
            app.confirm_by_passkey(in_browser, &answer, browser).await
        }
        (false, _) => {
            let password = Secret::from_text(password);
            app.confirm_by_password(in_browser, password, browser).await
        }
    };
    match proven {
        Ok(cookie) => {
            visit.renew(&cookie);
            Ok(())
        }
        Err(error) => Err(asked(ask(visit, fields, back, Some(error)).await?)),
    }
}

fn asked(page: http::Response<bytes::Bytes>) -> Failure {
    Failure::Answered(Box::new(page))
}

async fn ask(visit: &Visit, fields: &[(&str, &str)], back: &str, error: Option<Error>) -> Answer {
    let in_browser = visit.signed_in()?;
    visit.own_page_turn().await?;
    let wrong_password = is_of_password(error.as_ref());
    let code = error.as_ref().and_then(code);
    let ways = visit.app().ways_to_sign_in(in_browser.user.id).await?;
    let asked = match ways.passkey {
        true => visit.app().ask_to_confirm(in_browser).await?,
        false => None,
    };
    let page = ConfirmPage {
        frame: Frame::of(visit),
        email: &in_browser.user.email,
        action: visit.context.request.uri().path(),
        fields,
        ways,
        provider: provider::name(visit).unwrap_or_default(),
        back: encoded(back),
        complaint: error.map(not_proven).transpose()?,
        wrong_password,
        asked,
    };
    Ok(refused_as(html(StatusCode::FORBIDDEN, &page)?, code))
}
