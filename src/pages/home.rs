//! `/`: where somebody who is signed in begins: with the products of the one team, or with a choice of several.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, see_other};
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::visit::Visit;
use crate::domain::list::Part;
use crate::domain::member::ListedMember;
use crate::http::Api;

/// As many teams are listed.
const TEAMS: u32 = 200;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    teams: Vec<ListedMember>,
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/")
        .shows("show_home", show_home)?
        .and_no_more::<NoVariables>()
}

async fn show_home(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let Some(in_browser) = &visit.in_browser else {
        return Ok(see_other("/sign-in"));
    };
    let teams = visit
        .app()
        .list_memberships(in_browser.user.id, Part::first(TEAMS));
    let teams = teams.await?;
    if let [only] = &teams[..] {
        return Ok(see_other(&format!(
            "/teams/{}/products",
            only.member.team_id
        )));
    }
    let page = HomePage {
        frame: Frame::of(&visit),
        teams,
    };
    Ok(html(StatusCode::OK, &page)?)
}
