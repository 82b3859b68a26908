//! Proving again who one is, before what asks for that is done (docs/decisions.md, V9 and V10).
//!
//! 1. Whoever has signed in, or proven who they are, within the last quarter of an hour is not asked.
//! 2. Everybody else gets a page with the same form, its fields hidden, and one more: the password. So nothing has to be kept
//!    meanwhile, and what waits is done by the POST of that page, or never.
//! 3. If it is the right one, the session gets another cookie, and what was asked for is done.

use askama::Template;
use http::StatusCode;

use super::answer::html;
use super::failure::Failure;
use super::frame::Frame;
use super::sign_in::wrong_password;
use super::visit::Visit;
use crate::domain::secret::Secret;
use crate::http::Form;

/// The field that the page adds.
const PASSWORD: &str = "confirm_password";

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage<'a> {
    frame: Frame,
    action: &'a str,
    fields: &'a [(&'a str, &'a str)],
    complaint: Option<String>,
}

/// Goes on if whoever is signed in has lately proven who they are; `fields` are those of the form, none of them secret.
///
/// # Errors
/// [`Failure::Answered`] with the page of step 2.
pub(super) async fn confirmed(
    visit: &Visit,
    form: &Form,
    fields: &[(&str, &str)],
) -> Result<(), Failure> {
    let in_browser = visit.signed_in()?;
    if in_browser.session.is_fresh(visit.app().now()) {
        return Ok(());
    }
    let [password] = form.fields([PASSWORD])?;
    if password.is_empty() {
        return Err(ask(visit, fields, None)?);
    }
    let password = Secret::from_text(password);
    let browser = visit.browser();
    let proven = visit
        .app()
        .confirm_by_password(in_browser, password, browser);
    match proven.await {
        Ok(cookie) => {
            visit.renew(&cookie);
            Ok(())
        }
        Err(error) => Err(ask(visit, fields, Some(wrong_password(error)?))?),
    }
}

fn ask(
    visit: &Visit,
    fields: &[(&str, &str)],
    complaint: Option<String>,
) -> Result<Failure, Failure> {
    let page = ConfirmPage {
        frame: Frame::of(visit),
        action: visit.context.request.uri().path(),
        fields,
        complaint,
    };
    let page = html(StatusCode::FORBIDDEN, &page)?;
    Ok(Failure::Answered(Box::new(page)))
}
