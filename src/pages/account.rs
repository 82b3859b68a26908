//! `/account`: what users see and change of themselves (docs/decisions.md, W12 and V5).
//!
//! A password is changed in one form with the current one, which is the proof of who one is: no secret waits in a hidden
//! field of another page meanwhile.

use std::sync::Arc;

use askama::Template;
use codegen_runtime::Rejection;
use dropshot::ApiDescriptionRegisterError;
use http::header::SET_COOKIE;
use http::{StatusCode, header};

use super::answer::{html, see_other};
use super::confirm::confirmed;
use super::cookies::Cookie;
use super::export::export;
use super::failure::Failure;
use super::frame::Frame;
use super::route::{Answer, NoVariables, Route};
use super::site::{Site, Work};
use super::text::{Time, device_name};
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::audit::AuditEvent;
use crate::domain::error::Complaint;
use crate::domain::list::Part;
use crate::domain::member::ListedMember;
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::secret::Secret;
use crate::http::Error::Overloaded;
use crate::http::{Api, Form};

const PATH: &str = "/account";

/// As many teams are listed.
const TEAMS: u32 = 500;

#[derive(Template)]
#[template(path = "account.html")]
struct AccountPage {
    frame: Frame,
    email: String,
    name: String,
    /// Whether a new email can be asked for here, and what was typed, or asked for before.
    sends_mail: bool,
    new_email: String,
    pending: Option<String>,
    teams: Vec<ListedMember>,
    sign_ins: Vec<SignInRow>,
    refused_sign_ins: Vec<RefusedRow>,
    complaint: Option<Complaint>,
    /// What was done, or cannot be done, that no field is to blame for.
    done: Option<&'static str>,
    refused: Option<String>,
}

/// A sign-in as the list shows it.
struct SignInRow {
    at: Time,
    device: String,
    address: String,
}

impl From<AuditEvent> for SignInRow {
    fn from(event: AuditEvent) -> SignInRow {
        SignInRow {
            at: Time(event.created_at),
            device: device_name(event.user_agent.as_deref()),
            address: event.client_address.unwrap_or_default(),
        }
    }
}

/// Sign-ins that were refused, as the list shows them.
struct RefusedRow {
    count: i64,
    at: Time,
    /// None for all other addresses of the day.
    address: Option<String>,
}

impl From<RefusedSignIn> for RefusedRow {
    fn from(refused: RefusedSignIn) -> RefusedRow {
        let address = refused.client_address;
        RefusedRow {
            count: refused.count,
            at: Time(refused.minute),
            address: (!address.is_empty()).then_some(address),
        }
    }
}

#[derive(Template)]
#[template(path = "delete_account.html")]
struct DeletePage {
    frame: Frame,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has a path of theirs.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, PATH)
        .shows("show_account", show_account)?
        .and_no_more::<NoVariables>()?;
    Route::new(api, site, "/account/name")
        .takes("change_name", change_name)?
        .and_no_more::<NoVariables>()?;
    Route::new(api, site, "/account/password")
        .takes("change_password", change_password)?
        .and_no_more::<NoVariables>()?;
    Route::new(api, site, "/account/leave")
        .takes("leave_team", leave_team)?
        .and_no_more::<NoVariables>()?;
    Route::new(api, site, "/account/export")
        .shows("export_account", export_account)?
        .and_no_more::<NoVariables>()?;
    Route::new(api, site, "/account/delete")
        .shows("show_delete_account", show_delete_account)?
        .takes("delete_account", delete_account)?
        .and_no_more::<NoVariables>()
}

async fn show_account(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let done = match visit.query("done").as_deref() {
        Some("password") => Some(
            "Your password is changed, and other browsers are signed out. Apps are not; Devices has them.",
        ),
        Some("email-asked") => Some(
            "We have sent a link to your new email. Follow it within an hour, in a browser in which you are signed in.",
        ),
        Some("email") => Some("Your email is changed."),
        _ => None,
    };
    let shown = Shown {
        done,
        ..Shown::default()
    };
    page(&visit, shown).await
}

async fn change_name(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let person = visit.person()?;
    let [name] = form.fields(["name"])?;
    match visit.app().change_name(person, &name).await {
        Ok(()) => Ok(see_other(PATH)),
        Err(Error::Invalid(complaint)) => {
            let shown = Shown {
                name: Some(name),
                ..Shown::complaint(complaint)
            };
            page(&visit, shown).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn change_password(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let in_browser = visit.signed_in()?;
    let [current, new] = form.fields(["current_password", "password"])?;
    let (current, new) = (Secret::from_text(current), Secret::from_text(new));
    let proven = visit
        .app()
        .confirm_by_password(in_browser, current, visit.browser());
    match proven.await {
        Ok(cookie) => visit.renew(&cookie),
        Err(error) => {
            let complaint = Complaint {
                field: "current_password",
                message: wrong_current(error)?,
            };
            return page(&visit, Shown::complaint(complaint)).await;
        }
    }
    let changed = visit
        .app()
        .change_password(visit.person()?, in_browser, new);
    match changed.await {
        Ok(device) => {
            let mut answer = see_other("/account?done=password");
            let device = Cookie::Device.set(&visit.site, device.reveal());
            answer.headers_mut().append(SET_COOKIE, device);
            Ok(answer)
        }
        Err(Error::Invalid(complaint)) => page(&visit, Shown::complaint(complaint)).await,
        Err(error) => Err(error.into()),
    }
}

/// What is said of a current password that is none.
fn wrong_current(error: Error) -> Result<String, Failure> {
    match error {
        Error::WrongPassword => Ok("is wrong".to_owned()),
        Error::TooManyWrongPasswords(until) => Ok(format!(
            "was wrong too often; try again after {}",
            Time(until)
        )),
        error => Err(error.into()),
    }
}

async fn leave_team(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let user_id = visit.user_id()?;
    let [id] = form.fields(["id"])?;
    confirmed(&visit, &form, &[("id", id.as_str())]).await?;
    let team_id = id.parse().map_err(|_| Failure::NotFound)?;
    visit.app().membership(team_id, user_id).await?;
    let actor = visit.actor()?;
    let left = visit
        .app()
        .remove_member(&actor, team_id, user_id, false)
        .await;
    match left {
        Ok(()) => Ok(see_other(PATH)),
        Err(Error::Refused(why)) => page(&visit, Shown::refused(why)).await,
        Err(error) => Err(error.into()),
    }
}

async fn export_account(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let turn = visit.site.turn(visit.user_id()?, Work::InMemory);
    let turn = turn.ok_or(Rejection::Error(Overloaded))?;
    let text = export(&visit).await?;
    let mut answer = http::Response::new(text.into());
    let headers = answer.headers_mut();
    let json = header::HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let file = header::HeaderValue::from_static("attachment; filename=\"account.json\"");
    headers.insert(header::CONTENT_DISPOSITION, file);
    turn.until_sent(&mut answer);
    Ok(answer)
}

async fn show_delete_account(visit: Arc<Visit>, _: NoVariables) -> Answer {
    visit.signed_in()?;
    let page = DeletePage {
        frame: Frame::of(&visit),
    };
    Ok(html(StatusCode::OK, &page)?)
}

async fn delete_account(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    confirmed(&visit, &form, &[]).await?;
    match visit.app().delete_account(visit.person()?).await {
        Ok(()) => {
            let mut answer = see_other("/sign-in");
            for cookie in [Cookie::Session, Cookie::Device] {
                let cleared = cookie.clear(&visit.site);
                answer.headers_mut().append(SET_COOKIE, cleared);
            }
            Ok(answer)
        }
        Err(Error::Refused(why)) => page(&visit, Shown::refused(why)).await,
        Err(error) => Err(error.into()),
    }
}

/// What the page shows beside what is stored.
#[derive(Default)]
struct Shown {
    name: Option<String>,
    new_email: Option<String>,
    complaint: Option<Complaint>,
    done: Option<&'static str>,
    refused: Option<String>,
}

/// The page, with an email that was refused.
pub(super) async fn with_email(visit: &Visit, email: String, complaint: Complaint) -> Answer {
    let shown = Shown {
        new_email: Some(email),
        ..Shown::complaint(complaint)
    };
    page(visit, shown).await
}

impl Shown {
    fn complaint(complaint: Complaint) -> Shown {
        Shown {
            complaint: Some(complaint),
            ..Shown::default()
        }
    }

    fn refused(why: String) -> Shown {
        Shown {
            refused: Some(why),
            ..Shown::default()
        }
    }
}

async fn page(visit: &Visit, shown: Shown) -> Answer {
    let user = &visit.signed_in()?.user;
    let teams = visit.app().list_memberships(user.id, Part::first(TEAMS));
    let teams = teams.await?;
    let sign_ins = visit.app().list_sign_ins(user.id).await?;
    let refused_sign_ins = visit.app().list_refused_sign_ins(user.id).await?;
    let refused_sign_ins = refused_sign_ins.into_iter().map(RefusedRow::from);
    let pending = visit.app().find_email_change(user.id).await?;
    let status = match shown.complaint.is_some() || shown.refused.is_some() {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    };
    let page = AccountPage {
        frame: Frame::of(visit),
        email: user.email.clone(),
        name: shown.name.unwrap_or_else(|| user.name.clone()),
        sends_mail: visit.app().sends_mail(),
        new_email: shown.new_email.unwrap_or_default(),
        pending: pending.map(|it| it.email),
        teams,
        sign_ins: sign_ins.into_iter().map(SignInRow::from).collect(),
        refused_sign_ins: refused_sign_ins.collect(),
        complaint: shown.complaint,
        done: shown.done,
        refused: shown.refused,
    };
    Ok(html(status, &page)?)
}
