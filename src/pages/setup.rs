//! `/setup/{token}`: creating the first owner.

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
use crate::app::set_up::SetUp;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::domain::secret::Secret;
use crate::http::{Api, Form};

#[derive(Template)]
#[template(path = "setup.html")]
struct SetupPage {
    frame: Frame,
    makes_team: bool,
    team: String,
    name: String,
    email: String,
    complaint: Option<Complaint>,
    /// Whether passwords are switched on.
    password: bool,
    /// Whether there is an OpenID provider.
    provider: bool,
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/setup/{token}")
        .shows("show_setup", show_setup)?
        .takes("set_up", set_up)?
        .and_no_more();
    Ok(())
}

async fn show_setup(visit: Arc<Visit>, path: TokenPath) -> Answer {
    let link = Secret::from_text(path.token);
    let makes_team = visit.app().get_set_up_link(&link).await?;
    let page = SetupPage {
        frame: Frame::of(&visit),
        password: visit.app().switched_on().password,
        provider: visit.app().switched_on().issuer.is_some(),
        makes_team,
        team: String::new(),
        name: String::new(),
        email: String::new(),
        complaint: None,
    };
    Ok(html(StatusCode::OK, &page)?)
}

async fn set_up(visit: Arc<Visit>, path: TokenPath, form: Form) -> Answer {
    let [team, name, email, password] = form.fields(["team", "name", "email", "password"])?;
    let set_up = SetUp {
        link: Secret::from_text(path.token),
        name: name.clone(),
        email: email.clone(),
        password: Secret::from_text(password),
        team: team.clone(),
        browser: visit.browser(),
    };
    let link = set_up.link.clone();
    let complaint = match visit.app().set_up(set_up).await {
        Ok(cookies) => return Ok(signed_in(&visit, &cookies, "/")),
        Err(Error::Invalid(complaint)) => complaint,
        Err(error) => return Err(error.into()),
    };
    let page = SetupPage {
        frame: Frame::of(&visit),
        password: visit.app().switched_on().password,
        provider: visit.app().switched_on().issuer.is_some(),
        makes_team: visit.app().get_set_up_link(&link).await?,
        team,
        name,
        email,
        complaint: Some(complaint),
    };
    Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
}
