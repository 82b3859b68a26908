//! `/reset`: users who have forgotten their password ask for a link to set a new one (docs/decisions.md, P13).
//!
//! The answer does not depend on who asks, or for which email. If no mail is sent, the page says who can make a link (P14).

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, see_other};
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::http::{Api, Form, address};

#[derive(Template)]
#[template(path = "forgotten.html")]
struct ForgottenPage {
    frame: Frame,
    /// Whether passwords are switched on.
    password: bool,
    sends_mail: bool,
    /// Whether a link has just been asked for.
    is_done: bool,
    email: String,
    complaint: Option<Complaint>,
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/reset")
        .shows("show_forgotten", show_forgotten)?
        .takes("ask_for_reset", ask_for_reset)?
        .and_no_more();
    Ok(())
}

async fn show_forgotten(visit: Arc<Visit>, _: NoVariables) -> Answer {
    page(&visit, String::new(), None)
}

async fn ask_for_reset(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [email] = form.fields(["email"])?;
    match visit.app().ask_for_reset(&email, address(&visit.context)) {
        Ok(()) => Ok(see_other("/reset?done=asked")),
        Err(Error::Invalid(complaint)) => {
            if visit.signed_in().is_ok() {
                visit.own_page_turn().await?;
            }
            page(&visit, email, Some(complaint))
        }
        Err(error) => Err(error.into()),
    }
}

fn page(visit: &Visit, email: String, complaint: Option<Complaint>) -> Answer {
    let status = match complaint {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let page = ForgottenPage {
        frame: Frame::of(visit),
        password: visit.app().switched_on().password,
        sends_mail: visit.app().sends_mail(),
        is_done: visit.query("done").as_deref() == Some("asked"),
        email,
        complaint,
    };
    Ok(html(status, &page)?)
}
