//! `/reset/{token}`: setting a new password. The account then shows which passkeys and identities remain (docs/decisions.md,
//! P15).

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::html;
use super::frame::Frame;
use super::route::{Answer, Route, TokenPath};
use super::sign_in::signed_in;
use super::site::Site;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::domain::secret::Secret;
use crate::http::{Api, Form};

#[derive(Template)]
#[template(path = "reset.html")]
struct ResetPage {
    frame: Frame,
    email: String,
    complaint: Option<Complaint>,
    /// Whether passwords are switched on.
    password: bool,
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/reset/{token}")
        .shows("show_reset", show_reset)?
        .takes("reset_password", reset_password)?
        .and_no_more();
    Ok(())
}

async fn show_reset(visit: Arc<Visit>, path: TokenPath) -> Answer {
    page(&visit, &Secret::from_text(path.token), None).await
}

async fn reset_password(visit: Arc<Visit>, path: TokenPath, form: Form) -> Answer {
    let [password] = form.fields(["password"])?;
    let link = Secret::from_text(path.token);
    let password = Secret::from_text(password);
    let browser = visit.browser();
    match visit.app().reset_password(&link, password, browser).await {
        Ok(cookies) => Ok(signed_in(&visit, &cookies, "/account?done=reset")),
        Err(Error::Invalid(complaint)) => page(&visit, &link, Some(complaint)).await,
        Err(error) => Err(error.into()),
    }
}

async fn page(visit: &Visit, link: &Secret, complaint: Option<Complaint>) -> Answer {
    let user = visit.app().get_reset_link(link).await?;
    let status = match complaint {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let page = ResetPage {
        frame: Frame::of(visit),
        password: visit.app().switched_on().password,
        email: user.email,
        complaint,
    };
    Ok(html(status, &page)?)
}
