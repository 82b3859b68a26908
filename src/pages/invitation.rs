//! `/invitation/{token}`: a person who was invited becomes a member (docs/decisions.md, P8).
//!
//! A person who is not a user yet makes an account here, for the email that was invited and no other. A user signs in first,
//! comes back, and confirms.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, see_other};
use super::failure::Failure;
use super::frame::Frame;
use super::provider;
use super::route::{Answer, Route, TokenPath};
use super::sign_in::signed_in;
use super::site::Site;
use super::text::encoded;
use super::visit::Visit;
use crate::app::invitation::JoinAsNew;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::domain::member::Role;
use crate::domain::secret::Secret;
use crate::http::{Api, Form};

#[derive(Template)]
#[template(path = "invitation.html")]
struct InvitationPage {
    frame: Frame,
    team: String,
    email: String,
    role: Role,
    way: Way,
    /// What was typed.
    name: String,
    complaint: Option<Complaint>,
    /// Whether passwords are switched on.
    password: bool,
    /// What people call the OpenID provider, if there is one.
    provider: Option<String>,
    /// Whether to sign in again there.
    anew: bool,
    /// The path of the page.
    path: String,
}

/// How the person with the link goes on.
enum Way {
    /// By making an account.
    AsNew,
    /// By signing in, and coming back to this path, encoded for a query.
    SignIn(String),
    /// By confirming.
    Confirm,
    /// Not as this user.
    AsAnother,
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/invitation/{token}")
        .shows("show_invitation", show_invitation)?
        .takes("accept_invitation", accept_invitation)?
        .and_no_more();
    Ok(())
}

async fn show_invitation(visit: Arc<Visit>, path: TokenPath) -> Answer {
    let link = Secret::from_text(path.token);
    page(&visit, &link, String::new(), None).await
}

async fn accept_invitation(visit: Arc<Visit>, path: TokenPath, form: Form) -> Answer {
    let link = Secret::from_text(path.token);
    if visit.in_browser.is_some() {
        let joined = visit.app().join_as_user(visit.person()?, &link).await;
        return match joined {
            Ok(_) => Ok(see_other("/")),
            // It is another user's, or is gone: the page tells which.
            Err(Error::LinkNotValid) => page(&visit, &link, String::new(), None).await,
            Err(error) => Err(error.into()),
        };
    }
    let [name, password] = form.fields(["name", "password"])?;
    let join = JoinAsNew {
        link: link.clone(),
        name: name.clone(),
        password: Secret::from_text(password),
        browser: visit.browser(),
    };
    match visit.app().join_as_new(join).await {
        Ok((_, cookies)) => Ok(signed_in(&visit, &cookies, "/")),
        Err(Error::Invalid(complaint)) => page(&visit, &link, name, Some(complaint)).await,
        // A user has the email by now, or the link is gone.
        Err(Error::LinkNotValid) => page(&visit, &link, name, None).await,
        Err(Error::Refused(_)) => Err(Failure::JoinTooSoon),
        Err(error) => Err(error.into()),
    }
}

async fn page(visit: &Visit, link: &Secret, name: String, complaint: Option<Complaint>) -> Answer {
    let found = visit.app().get_invitation(link).await?;
    let way = match &visit.in_browser {
        Some(it) if found.invitation.is_to(&it.user) => Way::Confirm,
        Some(_) => Way::AsAnother,
        None if found.has_user => Way::SignIn(encoded(visit.context.request.uri().path())),
        None => Way::AsNew,
    };
    let status = match (complaint.is_some(), &way) {
        (true, _) => StatusCode::UNPROCESSABLE_ENTITY,
        (false, Way::AsAnother) => StatusCode::FORBIDDEN,
        (false, _) => StatusCode::OK,
    };
    let page = InvitationPage {
        frame: Frame::of(visit),
        password: visit.app().switched_on().password,
        provider: provider::name(visit),
        anew: visit.query("anew").is_some(),
        path: visit.context.request.uri().path().to_owned(),
        team: found.team_name,
        email: found.invitation.email,
        role: found.invitation.role,
        way,
        name,
        complaint,
    };
    Ok(html(status, &page)?)
}
