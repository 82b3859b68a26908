//! `/account/devices`: where a user is signed in, and how to sign out there.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::{html, see_other};
use super::failure::Failure;
use super::frame::Frame;
use super::pager::Pager;
use super::route::{Answer, NoVariables, Route};
use super::site::Site;
use super::text::{Time, device_name};
use super::visit::Visit;
use crate::domain::browser_session::BrowserSession;
use crate::domain::session::Session;
use crate::http::{Api, Form};

const PATH: &str = "/account/devices";

#[derive(Template)]
#[template(path = "devices.html")]
struct DevicesPage {
    frame: Frame,
    browsers: Vec<DeviceRow>,
    browser_pager: Pager,
    apps: Vec<DeviceRow>,
    app_pager: Pager,
}

impl DevicesPage {
    /// Returns whether there may be something to sign out besides the browser that asks.
    fn has_others(&self) -> bool {
        let is_first = self.browser_pager.is_first && self.app_pager.is_first;
        !is_first || self.browsers.len() + self.apps.len() > 1
    }
}

/// A browser or an app as the list shows it.
struct DeviceRow {
    id: String,
    name: String,
    /// The app; none for a browser.
    app: Option<String>,
    /// Whether it is the browser that asks.
    is_own: bool,
    created_at: Time,
    last_used_at: Time,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, PATH)
        .shows("show_devices", show_devices)?
        .and_no_more();
    Route::new(api, site, "/account/devices/end-browser-session")
        .takes("end_browser_session", end_browser_session)?
        .and_no_more();
    Route::new(api, site, "/account/devices/end-session")
        .takes("end_session", end_session)?
        .and_no_more();
    Route::new(api, site, "/account/devices/end-app-sessions")
        .takes("end_app_sessions", end_app_sessions)?
        .and_no_more();
    Route::new(api, site, "/account/devices/end-other-sessions")
        .takes("end_other_sessions", end_other_sessions)?
        .and_no_more();
    Ok(())
}

async fn show_devices(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let in_browser = visit.signed_in()?;
    let path = || PATH.to_owned();
    let (mut browser_pager, browsers) = Pager::named(&visit, path(), "browsers-after")?;
    let (mut app_pager, apps) = Pager::named(&visit, path(), "apps-after")?;
    visit.own_page_turn().await?;
    let listed = visit.app().list_devices(in_browser.user.id, browsers, apps);
    let (browsers, apps) = listed.await?;
    let browsers = browser_pager.page(browsers, |it| it.id);
    let apps = app_pager.page(apps, |it| it.id);
    let browser = |it: BrowserSession| DeviceRow {
        id: it.id.to_string(),
        name: device_name(it.user_agent.as_deref()),
        app: None,
        is_own: it.id == in_browser.session.id,
        created_at: Time(it.created_at),
        last_used_at: Time(it.last_used_at),
    };
    let app = |it: Session| DeviceRow {
        id: it.id.to_string(),
        name: device_name(it.user_agent.as_deref()),
        app: Some(it.client_id.to_string()),
        is_own: false,
        created_at: Time(it.created_at),
        last_used_at: Time(it.last_used_at),
    };
    let page = DevicesPage {
        frame: Frame::of(&visit),
        browsers: browsers.into_iter().map(browser).collect(),
        browser_pager,
        apps: apps.into_iter().map(app).collect(),
        app_pager,
    };
    Ok(html(StatusCode::OK, &page)?)
}

async fn end_browser_session(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let person = visit.person()?;
    let [id] = form.fields(["id"])?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    visit.app().end_browser_session(person, id).await?;
    Ok(see_other(PATH))
}

async fn end_session(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let person = visit.person()?;
    let [id] = form.fields(["id"])?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    visit.app().end_session(person, id).await?;
    Ok(see_other(PATH))
}

async fn end_app_sessions(visit: Arc<Visit>, _: NoVariables, _: Form) -> Answer {
    visit.app().end_app_sessions(visit.person()?).await?;
    Ok(see_other(PATH))
}

async fn end_other_sessions(visit: Arc<Visit>, _: NoVariables, _: Form) -> Answer {
    visit.app().end_other_sessions(visit.person()?).await?;
    Ok(see_other(PATH))
}
