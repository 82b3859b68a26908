//! The pages: HTML for people, made on the server, over the same methods of [`App`](crate::app::App) as the API and the
//! command line. No document has them (docs/decisions.md, "People").
//!
//! One file per page, with its template beside it, which the compiler checks. The steps of a request, in this order, are
//! written once, in `route`, so that no page can forget one:
//!
//! 1. Its path is written as the page's is (404).
//! 2. The user is found by the cookie, and may call as often as a session may; a caller without one, as often as one client
//!    address may (429).
//! 3. What changes something is a POST from a page of ours, or it is 403 (`visit`).
//! 4. The form is read (413, 415, 408).
//! 5. The page calls the service, and shows the result. A form that is refused comes back with what was typed, secrets left
//!    out, and the complaint beside its field. A success is answered with 303, so that reloading the page does nothing
//!    twice.
//! 6. A person who is not signed in is redirected to the sign-in page and back; one who has not recently proven who they are
//!    is asked to, if the page requires it (`confirm`).
//! 7. Every answer says that it must not be stored, and which scripts and styles may run: those of this server (`answer`).

mod account;
mod account_export;
mod answer;
mod api_keys;
mod assets;
mod audit;
mod authorize;
mod confirm;
mod cookies;
mod devices;
mod download;
mod email;
mod error;
mod failure;
mod forgotten;
mod frame;
mod home;
mod invitation;
mod links;
mod members;
mod pager;
mod passkeys;
mod products;
mod provider;
mod reset;
mod route;
mod setup;
mod sign_in;
mod site;
mod text;
mod visit;

use std::sync::Arc;

use dropshot::ApiDescriptionRegisterError;

use crate::http::{self, Api};
use crate::settings::Origin;
use site::Site;

/// Returns every endpoint of a server: the published interfaces, their documentation, and, if people reach it at an origin
/// at which they may sign in, the pages.
///
/// # Errors
/// When two endpoints conflict, which a test shows.
pub fn api(origin: Option<Origin>) -> Result<Api, ApiDescriptionRegisterError> {
    let mut api = http::api()?;
    match origin.filter(Origin::may_sign_in) {
        Some(origin) => register(&mut api, origin)?,
        None => http::register_at_root(&mut api)?,
    }
    Ok(api)
}

fn register(api: &mut Api, origin: Origin) -> Result<(), ApiDescriptionRegisterError> {
    let site = Arc::new(Site::new(origin));
    assets::register(api)?;
    home::register(api, &site)?;
    setup::register(api, &site)?;
    sign_in::register(api, &site)?;
    provider::register(api, &site)?;
    confirm::register(api, &site)?;
    reset::register(api, &site)?;
    forgotten::register(api, &site)?;
    devices::register(api, &site)?;
    authorize::register(api, &site)?;
    account::register(api, &site)?;
    account_export::register(api, &site)?;
    email::register(api, &site)?;
    passkeys::register(api, &site)?;
    invitation::register(api, &site)?;
    members::register(api, &site)?;
    products::register(api, &site)?;
    links::register(api, &site)?;
    audit::register(api, &site)?;
    api_keys::register(api, &site)
}
