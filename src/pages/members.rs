//! `/teams/{team}/settings/members`: who is in a team, who is invited, and in which role (docs/decisions.md, W15 and W22).
//!
//! Actions that are not allowed are not offered, and the service refuses them all the same. The link of an invitation is
//! mailed or, if no mail is sent, shown once, as a key is (`api_keys`).

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;
use http::header::SET_COOKIE;

use super::answer::{html, see_other};
use super::confirm::confirmed;
use super::cookies::Cookie;
use super::failure::Failure;
use super::frame::{Frame, FramedTeam};
use super::pager::Pager;
use super::route::{Answer, Route, TeamPath};
use super::site::Site;
use super::text::Time;
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::error::Complaint;
use crate::domain::id::UserId;
use crate::domain::invitation::{self, ListedInvitation};
use crate::domain::member::{ListedMember, Role};
use crate::domain::secret::Secret;
use crate::domain::user::parse_email;
use crate::http::{Api, Form};

#[derive(Template)]
#[template(path = "members.html")]
struct MembersPage {
    frame: Frame,
    path: String,
    members: Vec<MemberRow>,
    pager: Pager,
    invitations: Vec<InvitationRow>,
    /// The roles that the signed-in user may give.
    roles: Vec<Role>,
    /// The link of the invitation that was just made.
    made: Option<String>,
    /// Whether one was just mailed.
    is_mailed: bool,
    sends_mail: bool,
    typed: Typed,
    complaint: Option<Complaint>,
    /// Why something cannot be done, if no field is to blame.
    refused: Option<String>,
}

/// A member as the list shows it.
struct MemberRow {
    id: UserId,
    name: String,
    email: String,
    role: Role,
    since: Time,
    is_self: bool,
    /// Whether the signed-in user may change and remove them.
    is_in_reach: bool,
}

/// An invitation as the list shows it.
struct InvitationRow {
    id: String,
    email: String,
    role: Role,
    by: String,
    expires_at: Time,
    is_in_reach: bool,
}

/// What was typed into the form that invites.
#[derive(Default)]
struct Typed {
    email: String,
    role: String,
}

#[derive(Template)]
#[template(path = "remove_member.html")]
struct RemovePage {
    frame: Frame,
    path: String,
    id: UserId,
    name: String,
    email: String,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/settings/members")
        .shows("show_members", show_members)?
        .takes("invite", invite)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/settings/members/role")
        .takes("set_role", set_role)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/settings/members/remove")
        .shows("show_remove_member", show_remove_member)?
        .takes("remove_member", remove_member)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/settings/members/uninvite")
        .takes("uninvite", uninvite)?
        .and_no_more();
    Ok(())
}

fn path(team: &FramedTeam) -> String {
    format!("/teams/{}/settings/members", team.id)
}

async fn show_members(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let made = visit.shown_once(team.id);
    let made = made.filter(|text| Secret::is_base64url(text));
    let made = made.map(|text| {
        let secret = Secret::from_text(text);
        let url = invitation::url(visit.site.origin.as_str(), &secret);
        url.reveal().to_owned()
    });
    let was_made = made.is_some();
    let shown = Shown {
        made,
        ..Shown::default()
    };
    let mut answer = page(&visit, team, shown).await?;
    if was_made {
        let cleared = Cookie::Once.clear(&visit.site);
        answer.headers_mut().append(SET_COOKIE, cleared);
    }
    Ok(answer)
}

async fn invite(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [email, role] = form.fields(["email", "role"])?;
    let typed = Typed { email, role };
    let Ok(role) = typed.role.parse::<Role>() else {
        let wrong = Complaint {
            field: "role",
            message: "is none of those that the page offers".to_owned(),
        };
        return page(&visit, team, Shown::complaint(typed, wrong)).await;
    };
    let fields = [("email", typed.email.as_str()), ("role", &typed.role)];
    // A new invitation withdraws the last one.
    if role.may_manage() || is_invited(&visit, &team, &typed.email).await? {
        confirmed(&visit, &form, &fields).await?;
    }
    // The inviter gets the secret only if it is not mailed.
    let invited = match visit.app().sends_mail() {
        true => {
            let mailed = visit
                .app()
                .invite_by_mail(visit.person()?, team.id, &typed.email, role);
            mailed.await.map(|_| None)
        }
        false => {
            let actor = visit.actor()?;
            let shown = visit.app().invite(&actor, team.id, &typed.email, role);
            shown.await.map(|issued| Some(issued.secret))
        }
    };
    match invited {
        Ok(None) => Ok(see_other(&format!("{}?done=mailed", self::path(&team)))),
        Ok(Some(secret)) => {
            let mut answer = see_other(&self::path(&team));
            let once = visit.once(team.id, &secret)?;
            answer.headers_mut().append(SET_COOKIE, once);
            Ok(answer)
        }
        Err(Error::Invalid(complaint)) => {
            page(&visit, team, Shown::complaint(typed, complaint)).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether there is an invitation for somebody with this email.
async fn is_invited(visit: &Visit, team: &FramedTeam, email: &str) -> Result<bool, Failure> {
    let Ok(email) = parse_email(email) else {
        return Ok(false);
    };
    let invitations = visit.app().list_invitations(team.id).await?;
    let mut invited = invitations.iter().map(|it| &it.invitation.email);
    Ok(invited.any(|it| it.eq_ignore_ascii_case(&email)))
}

async fn set_role(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [id, role] = form.fields(["id", "role"])?;
    let user_id: UserId = id.parse().map_err(|_| Failure::NotFound)?;
    let new: Role = role.parse().map_err(|_| Failure::NotFound)?;
    let fields = [("id", id.as_str()), ("role", &role)];
    // Taking away a role that manages is a kind of removal, and as easily abused as giving one.
    let found = member(&visit, &team, user_id).await?;
    if new.may_manage() || found.member.role.may_manage() {
        confirmed(&visit, &form, &fields).await?;
    }
    let actor = visit.actor()?;
    let set = visit.app().set_role(&actor, team.id, user_id, new).await;
    done(&visit, team, set).await
}

async fn show_remove_member(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let id = visit.query("id").unwrap_or_default();
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    let found = member(&visit, &team, id).await?;
    let page = RemovePage {
        path: self::path(&team),
        frame: Frame::of_team(&visit, team),
        id,
        name: found.user_name,
        email: found.email,
    };
    Ok(html(StatusCode::OK, &page)?)
}

async fn remove_member(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [id, revoke_keys] = form.fields(["id", "revoke_keys"])?;
    let user_id: UserId = id.parse().map_err(|_| Failure::NotFound)?;
    let fields = [("id", id.as_str()), ("revoke_keys", &revoke_keys)];
    confirmed(&visit, &form, &fields).await?;
    member(&visit, &team, user_id).await?;
    let (actor, with_keys) = (visit.actor()?, !revoke_keys.is_empty());
    let removed = visit
        .app()
        .remove_member(&actor, team.id, user_id, with_keys);
    let removed = removed.await;
    let is_gone = removed.is_ok() && visit.user_id()? == user_id;
    if is_gone {
        return Ok(see_other("/"));
    }
    done(&visit, team, removed).await
}

async fn uninvite(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [id] = form.fields(["id"])?;
    let fields = [("id", id.as_str())];
    confirmed(&visit, &form, &fields).await?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    visit.app().uninvite(&visit.actor()?, team.id, id).await?;
    Ok(see_other(&self::path(&team)))
}

/// Returns the member whom a form names; if there is none, there is no such page.
async fn member(visit: &Visit, team: &FramedTeam, id: UserId) -> Result<ListedMember, Failure> {
    Ok(visit.app().get_membership(team.id, id).await?)
}

/// Redirects to the page, or shows it with the reason why not.
async fn done(visit: &Visit, team: FramedTeam, result: Result<(), Error>) -> Answer {
    match result {
        Ok(()) => Ok(see_other(&path(&team))),
        Err(Error::Refused(why)) => {
            let shown = Shown {
                refused: Some(why),
                ..Shown::default()
            };
            page(visit, team, shown).await
        }
        Err(error) => Err(error.into()),
    }
}

/// What the page shows besides its lists.
#[derive(Default)]
struct Shown {
    made: Option<String>,
    typed: Typed,
    complaint: Option<Complaint>,
    refused: Option<String>,
}

impl Shown {
    fn complaint(typed: Typed, complaint: Complaint) -> Shown {
        Shown {
            typed,
            complaint: Some(complaint),
            ..Shown::default()
        }
    }
}

async fn page(visit: &Visit, team: FramedTeam, shown: Shown) -> Answer {
    let (own, user_id) = (team.role, visit.user_id()?);
    let (mut pager, part) = Pager::new(visit, path(&team))?;
    visit.list_turn(team.id, team.id).await?;
    let members = visit.app().list_members(team.id, part).await?;
    let members = pager.page(members, |it| it.member.user_id);
    let member = |it: ListedMember| MemberRow {
        id: it.member.user_id,
        name: it.user_name,
        email: it.email,
        role: it.member.role,
        since: Time(it.member.created_at),
        is_self: it.member.user_id == user_id,
        is_in_reach: own.may_give(it.member.role),
    };
    let invitations = visit.app().list_invitations(team.id).await?;
    let invitation = |it: ListedInvitation| InvitationRow {
        id: it.invitation.id.to_string(),
        email: it.invitation.email,
        role: it.invitation.role,
        by: it.inviter_name.unwrap_or_else(|| "the operator".to_owned()),
        expires_at: Time(it.invitation.expires_at),
        is_in_reach: own.may_give(it.invitation.role),
    };
    let status = match shown.complaint.is_some() || shown.refused.is_some() {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    };
    let roles = Role::ALL.iter().copied();
    let page = MembersPage {
        path: path(&team),
        members: members.into_iter().map(member).collect(),
        pager,
        invitations: invitations.into_iter().map(invitation).collect(),
        roles: roles.filter(|role| own.may_give(*role)).collect(),
        frame: Frame::of_team(visit, team),
        made: shown.made,
        is_mailed: visit.query("done").as_deref() == Some("mailed"),
        sends_mail: visit.app().sends_mail(),
        typed: shown.typed,
        complaint: shown.complaint,
        refused: shown.refused,
    };
    Ok(html(status, &page)?)
}
