//! `/account`: users see and change their own account (docs/decisions.md, W12 and V5).
//!
//! The form that changes a password takes the current one, too, as the proof of identity: so no secret waits in a hidden
//! field of another page meanwhile.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;
use http::header::SET_COOKIE;

use super::answer::{html, refused_as, see_other};
use super::confirm::confirmed;
use super::cookies::Cookie;
use super::failure::Failure;
use super::frame::Frame;
use super::pager::Pager;
use super::provider;
use super::route::{Answer, NoVariables, Route};
use super::sign_in::code as code_of;
use super::site::Site;
use super::text::{Time, device_name};
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::audit::AuditEvent;
use crate::domain::error::Complaint;
use crate::domain::id::IdentityId;
use crate::domain::identity::Identity;
use crate::domain::list::Part;
use crate::domain::member::ListedMember;
use crate::domain::passkey::{Passkey, RelyingParty};
use crate::domain::refused_sign_in::RefusedSignIn;
use crate::domain::secret::Secret;
use crate::domain::ways_to_sign_in::{SwitchedOn, WaysToSignIn};
use crate::http::{Api, Form};

const PATH: &str = "/account";

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
    team_pager: Pager,
    sign_ins: Vec<SignInRow>,
    refused_sign_ins: Vec<RefusedRow>,
    /// The sign-ins and confirmations by passkeys that seem to have been copied (docs/decisions.md, P24).
    copied_passkeys: Vec<SignInRow>,
    passkeys: Vec<PasskeyRow>,
    offers_passkeys: bool,
    /// Whether to offer to sign out the apps, too (docs/decisions.md, V5).
    offers_apps: bool,
    ways: WaysToSignIn,
    identities: Vec<IdentityRow>,
    /// What people call the OpenID provider, if there is one.
    provider: Option<String>,
    complaint: Option<Complaint>,
    /// What was done, or cannot be done, if no field is to blame.
    done: Option<&'static str>,
    refused: Option<String>,
}

/// A sign-in as the list shows it.
struct SignInRow {
    at: Time,
    device: String,
    address: String,
    /// How the user signed in, if known.
    way: Option<String>,
}

/// An identity as the list shows it.
struct IdentityRow {
    id: IdentityId,
    label: String,
    /// The provider, unless it is the one by which people sign in now.
    elsewhere: Option<String>,
    at: Time,
}

impl IdentityRow {
    fn new(identity: Identity, on: &SwitchedOn) -> IdentityRow {
        let counts = on.issuer.as_ref() == Some(&identity.issuer);
        IdentityRow {
            id: identity.id,
            label: identity.email.unwrap_or(identity.subject),
            elsewhere: (!counts).then_some(identity.issuer),
            at: Time(identity.created_at),
        }
    }
}

impl From<AuditEvent> for SignInRow {
    fn from(event: AuditEvent) -> SignInRow {
        SignInRow {
            at: Time(event.created_at),
            device: device_name(event.user_agent.as_deref()),
            address: event.client_address.unwrap_or_default(),
            way: event.detail,
        }
    }
}

/// A passkey as the list of the account shows it.
struct PasskeyRow {
    id: String,
    name: String,
    created_at: Time,
    last_used_at: Option<Time>,
    /// The host that it is valid for, if that is another one.
    elsewhere: Option<String>,
}

impl PasskeyRow {
    fn new(passkey: Passkey, party: Option<&RelyingParty>) -> PasskeyRow {
        let is_here = party.is_some_and(|it| it.id() == passkey.rp_id);
        PasskeyRow {
            id: passkey.id.to_string(),
            name: passkey.name,
            created_at: Time(passkey.created_at),
            last_used_at: passkey.last_used_at.map(Time),
            elsewhere: (!is_here).then_some(passkey.rp_id),
        }
    }
}

/// Sign-ins that were refused, as the list shows them.
struct RefusedRow {
    count: i64,
    at: Time,
    /// `None` for all other addresses of the day.
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
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, PATH)
        .shows("show_account", show_account)?
        .and_no_more();
    Route::new(api, site, "/account/name")
        .takes("change_name", change_name)?
        .and_no_more();
    Route::new(api, site, "/account/password")
        .takes("change_password", change_password)?
        .and_no_more();
    Route::new(api, site, "/account/leave")
        .takes("leave_team", leave_team)?
        .and_no_more();
    Route::new(api, site, "/account/unlink")
        .takes("unlink_identity", unlink_identity)?
        .and_no_more();
    Route::new(api, site, "/account/delete")
        .shows("show_delete_account", show_delete_account)?
        .takes("delete_account", delete_account)?
        .and_no_more();
    Ok(())
}

async fn show_account(visit: Arc<Visit>, _: NoVariables) -> Answer {
    let (done, offers_apps) = match visit.query("done").as_deref() {
        Some("password") => (
            "Your password is changed, and other browsers are signed out. Apps are not.",
            true,
        ),
        Some("reset") => (
            "Your password is set, and everything else is signed out, apps too. What else lets somebody in as you is below: \
             remove what you do not know.",
            false,
        ),
        Some("passkey-added") => ("You can sign in by the new passkey.", false),
        Some("passkey-removed") => (
            "The passkey is removed, and other browsers are signed out. Apps are not. Delete it on your device, too.",
            true,
        ),
        Some("linked") => ("You can sign in by it from now on.", false),
        Some("unlinked") => (
            "Nobody signs in to your account by it any more, and other browsers are signed out. Apps are not.",
            true,
        ),
        Some("email-asked") => (
            "We have sent a link to your new email. Follow it within an hour, in a browser in which you are signed in.",
            false,
        ),
        Some("email") => ("Your email is changed.", false),
        _ => return page(&visit, Shown::default()).await,
    };
    let shown = Shown {
        done: Some(done),
        offers_apps,
        ..Shown::default()
    };
    page(&visit, shown).await
}

/// Shows this page with the reason why a request was refused.
pub(super) async fn refuse(visit: &Visit, why: String) -> Answer {
    page(visit, Shown::refused(why)).await
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
            let code = code_of(&error);
            let complaint = Complaint {
                field: "current_password",
                message: wrong_current(error)?,
            };
            let page = page(&visit, Shown::complaint(complaint)).await?;
            return Ok(refused_as(page, code));
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

/// Returns the complaint about a current password that is not accepted.
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

async fn unlink_identity(visit: Arc<Visit>, _: NoVariables, form: Form) -> Answer {
    let [id] = form.fields(["id"])?;
    confirmed(&visit, &form, &[("id", id.as_str())]).await?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    match visit.app().unlink_identity(visit.person()?, id).await {
        Ok(()) => Ok(see_other("/account?done=unlinked")),
        Err(Error::Refused(why)) => page(&visit, Shown::refused(why)).await,
        Err(error) => Err(error.into()),
    }
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
            for cookie in [Cookie::Session, Cookie::Device, Cookie::Returning] {
                let cleared = cookie.clear(&visit.site);
                answer.headers_mut().append(SET_COOKIE, cleared);
            }
            Ok(answer)
        }
        Err(Error::Refused(why)) => page(&visit, Shown::refused(why)).await,
        Err(error) => Err(error.into()),
    }
}

/// What the page shows besides what is stored.
#[derive(Default)]
struct Shown {
    name: Option<String>,
    new_email: Option<String>,
    complaint: Option<Complaint>,
    done: Option<&'static str>,
    offers_apps: bool,
    refused: Option<String>,
}

/// Shows the page with an email that was refused.
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
    let app = visit.app();
    let (mut team_pager, part) = Pager::named(visit, PATH.to_owned(), "teams-after")?;
    visit.own_page_turn().await?;
    // One after another, they would take a round trip each.
    let (teams, sign_ins, copied, refused_sign_ins, pending, passkeys, identities, ways) = tokio::try_join!(
        app.list_memberships(user.id, part),
        app.list_sign_ins(user.id),
        app.list_refused_passkeys(user.id),
        app.list_refused_sign_ins(user.id),
        app.find_email_change(user.id),
        app.list_passkeys(user.id),
        app.list_identities(user.id),
        app.ways_to_sign_in(user.id),
    )?;
    let refused_sign_ins = refused_sign_ins.into_iter().map(RefusedRow::from);
    let devices = app.list_devices(user.id, Part::one(), Part::one());
    let offers_apps = shown.offers_apps && !devices.await?.1.is_empty();
    let party = visit.app().relying_party();
    let on = visit.app().switched_on();
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
        teams: team_pager.page(teams, |it| it.member.team_id),
        team_pager,
        sign_ins: sign_ins.into_iter().map(SignInRow::from).collect(),
        refused_sign_ins: refused_sign_ins.collect(),
        copied_passkeys: copied.into_iter().map(SignInRow::from).collect(),
        passkeys: passkeys
            .into_iter()
            .map(|it| PasskeyRow::new(it, party))
            .collect(),
        offers_passkeys: party.is_some(),
        offers_apps,
        ways,
        identities: identities
            .into_iter()
            .map(|it| IdentityRow::new(it, on))
            .collect(),
        provider: provider::name(visit),
        complaint: shown.complaint,
        done: shown.done,
        refused: shown.refused,
    };
    Ok(html(status, &page)?)
}
