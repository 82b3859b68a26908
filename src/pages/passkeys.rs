//! `/account/passkeys`: adding a passkey, and removing one (docs/decisions.md, P20, P30 and V9).
//!
//! 1. The page asks for a passkey only if the sign-in is fresh and there may be one more, so that no device makes one that
//!    is refused for that. If the sign-in is older, the page has a button that leads there by way of the confirmation.
//! 2. The form with what the device has made carries the sealed challenge, so GET stores nothing.
//! 3. The sign-in may have aged while the page was open; then the whole form waits in the confirmation, as any does.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::account::refuse;
use super::answer::{html, refused_as, see_other};
use super::confirm::confirmed;
use super::failure::Failure;
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route};
use super::sign_in::{code, not_proven};
use super::site::Site;
use super::text::not_possible;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::domain::passkey::ceremony::{self, Asked};
use crate::http::{Api, Form};

const PATH: &str = "/account/passkeys";

#[derive(Template)]
#[template(path = "passkeys.html")]
struct AddPage {
    frame: Frame,
    name: String,
    complaint: Option<Complaint>,
    refused: Option<String>,
    /// Whether the sign-in is fresh.
    is_fresh: bool,
    /// What a device is asked for, if it is and there may be one more.
    asked: Option<Asked>,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, PATH)
        .shows("show_add_passkey", show_add_passkey)?
        .takes("add_passkey", add_passkey)?
        .and_no_more();
    Route::new(api, site, "/account/remove-passkey")
        .takes("remove_passkey", remove_passkey)?
        .and_no_more();
    Ok(())
}

async fn show_add_passkey(visit: Arc<Visit>, _: NoVariables) -> Answer {
    visit.signed_in()?;
    page(&visit, String::new(), None).await
}

async fn add_passkey(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let fields = ["name", "challenge", "passkey"];
    let [name, challenge, credential] = form.fields(fields)?;
    let values = [&name, &challenge, &credential].map(String::as_str);
    let waiting = fields.into_iter().zip(values);
    let waiting: Vec<_> = waiting.filter(|(_, value)| !value.is_empty()).collect();
    confirmed(&visit, &form, &waiting).await?;
    match (name.is_empty(), credential.is_empty()) {
        (true, true) => return Ok(see_other(PATH)),
        // The page was open for too long to ask the device.
        (false, true) => {
            let why = "the page was open for too long; press the button again";
            return page(&visit, name, Some(Error::Refused(why.to_owned()))).await;
        }
        (_, false) => {}
    }
    let answer = ceremony::Answer {
        challenge,
        credential,
    };
    match visit
        .app()
        .add_passkey(visit.person()?, &name, &answer)
        .await
    {
        Ok(()) => Ok(see_other("/account?done=passkey-added")),
        Err(error) => page(&visit, name, Some(error)).await,
    }
}

async fn remove_passkey(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [id] = form.fields(["id"])?;
    confirmed(&visit, &form, &[("id", id.as_str())]).await?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    match visit.app().remove_passkey(visit.person()?, id).await {
        Ok(()) => Ok(see_other("/account?done=passkey-removed")),
        Err(Error::Refused(why)) => refuse(&visit, why).await,
        Err(error) => Err(error.into()),
    }
}

async fn page(visit: &Visit, name: String, error: Option<Error>) -> Answer {
    let in_browser = visit.signed_in()?;
    if visit.app().relying_party().is_none() {
        return Err(Failure::NotFound);
    }
    let status = match error {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let code = error.as_ref().and_then(code);
    let (complaint, mut refused) = match error {
        None => (None, None),
        Some(Error::Invalid(complaint)) => (Some(complaint), None),
        Some(Error::Refused(why)) => (None, Some(not_possible(&why))),
        Some(error) => (None, Some(not_proven(error)?)),
    };
    // A sign-in that was proven by this request is fresh, too.
    let is_fresh = in_browser.session.is_fresh(visit.app().now()) || visit.renewed().is_some();
    let asked = match is_fresh {
        true => visit.app().ask_to_add(in_browser).await,
        false => Ok(None),
    };
    let asked = match asked {
        Err(Error::Refused(why)) => {
            refused = Some(not_possible(&why));
            None
        }
        asked => asked?,
    };
    let page = AddPage {
        frame: Frame::of(visit),
        name,
        complaint,
        refused,
        is_fresh,
        asked,
    };
    Ok(refused_as(html(status, &page)?, code))
}
