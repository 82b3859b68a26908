//! `/`: where signed-in users start: with the products of their only team, or with a choice of several teams.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, see_other};
use super::frame::Frame;
use super::pager::Pager;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::visit::Visit;
use crate::domain::member::ListedMember;
use crate::http::Api;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    teams: Vec<ListedMember>,
    pager: Pager,
}

/// Adds the page.
///
/// # Errors
/// When another endpoint has its path.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/")
        .shows("show_home", show_home)?
        .and_no_more();
    Ok(())
}

async fn show_home(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let Some(in_browser) = &visit.in_browser else {
        return Ok(see_other("/sign-in"));
    };
    let (mut pager, part) = Pager::new(&visit, "/".to_owned())?;
    let teams = visit.app().list_memberships(in_browser.user.id, part);
    let teams = pager.page(teams.await?, |it| it.member.team_id);
    if let ([only], true) = (&teams[..], pager.is_first) {
        return Ok(see_other(&format!(
            "/teams/{}/products",
            only.member.team_id
        )));
    }
    let page = HomePage {
        frame: Frame::of(&visit),
        teams,
        pager,
    };
    Ok(html(StatusCode::OK, &page)?)
}
