//! `/account/email`: changing one's email (docs/decisions.md, P17). A form of the account asks for it, and it counts once
//! the same user, signed in, follows the link that is mailed to it, and confirms.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::account;
use super::answer::{html, see_other};
use super::confirm::confirmed;
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route, TokenPath};
use super::site::Site;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::secret::Secret;
use crate::http::{Api, Form};

#[derive(Template)]
#[template(path = "email.html")]
struct EmailPage {
    frame: Frame,
    before: String,
    email: String,
    refused: Option<String>,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/account/email")
        .takes("ask_for_email_change", ask_for_email_change)?
        .and_no_more();
    Route::new(api, site, "/account/email/{token}")
        .shows("show_email_change", show_email_change)?
        .takes("change_email", change_email)?
        .and_no_more();
    Ok(())
}

async fn ask_for_email_change(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [email] = form.fields(["email"])?;
    confirmed(&visit, &form, &[("email", email.as_str())]).await?;
    let asked = visit.app().ask_for_email_change(visit.person()?, &email);
    match asked.await {
        Ok(()) => Ok(see_other("/account?done=email-asked")),
        Err(Error::Invalid(complaint)) => account::with_email(&visit, email, complaint).await,
        Err(error) => Err(error.into()),
    }
}

async fn show_email_change(visit: Arc<Visit>, path: TokenPath) -> Answer {
    page(&visit, &Secret::from_text(path.token), None).await
}

async fn change_email(visit: Arc<Visit>, path: TokenPath, _: Form) -> Answer {
    let link = Secret::from_text(path.token);
    match visit.app().change_email(visit.person()?, &link).await {
        Ok(()) => Ok(see_other("/account?done=email")),
        Err(Error::Refused(why)) => page(&visit, &link, Some(why)).await,
        Err(error) => Err(error.into()),
    }
}

async fn page(visit: &Visit, link: &Secret, refused: Option<String>) -> Answer {
    let user = &visit.signed_in()?.user;
    let change = visit.app().get_email_change(user.id, link).await?;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let page = EmailPage {
        frame: Frame::of(visit),
        before: user.email.clone(),
        email: change.email,
        refused,
    };
    Ok(html(status, &page)?)
}
