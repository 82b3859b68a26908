//! `/teams/{team}/settings/integrations/api-keys`: the keys of a team.
//!
//! A key is shown once: the browser is redirected to the page with the key in a cookie that lasts one minute, and the page
//! that shows it clears the cookie.

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
use crate::domain::api_key::{ListedApiKey, Scope, ShownApiKey};
use crate::domain::catalog::Mode;
use crate::domain::error::Complaint;
use crate::domain::id::{ApiKeyId, TeamId};
use crate::domain::secret::Secret;
use crate::domain::time::Timestamp;
use crate::http::{Api, Form};
use crate::settings::Span;

#[derive(Template)]
#[template(path = "api_keys.html")]
struct ApiKeysPage {
    frame: Frame,
    path: String,
    keys: Vec<KeyRow>,
    pager: Pager,
    /// The key that was just made.
    made: Option<String>,
    typed: Typed,
    complaint: Option<Complaint>,
    /// Why something cannot be done, if no field is to blame.
    refused: Option<String>,
}

/// A key as the table shows it.
struct KeyRow {
    id: ApiKeyId,
    name: String,
    mode: Mode,
    scope: &'static str,
    created_by: String,
    created_at: Time,
    last_used_at: Option<Time>,
    last_used_from: Option<String>,
    expires_at: Option<Time>,
    is_revoked: bool,
    may_rotate: bool,
    state: &'static str,
}

impl KeyRow {
    fn new(ListedApiKey { shown, maker, .. }: ListedApiKey, now: Timestamp) -> KeyRow {
        let ShownApiKey {
            key,
            last_used_from,
        } = shown;
        let nobody = match key.created_by {
            None => "The operator",
            Some(_) => "A former member",
        };
        let state = match (key.revoked_at, key.expires_at) {
            (Some(_), _) => "Revoked",
            (None, Some(end)) if end <= now => "Expired",
            _ if key.replaced_by.is_some() => "Replaced, valid until it expires",
            _ => "Valid",
        };
        let may_rotate = key.require_valid(now).is_ok() && key.replaced_by.is_none();
        let scope = match key.scope {
            Scope::ReadOnly => "may read",
            Scope::ReadWrite => "may read and write",
        };
        KeyRow {
            id: key.id,
            name: key.name.unwrap_or_else(|| "No name".to_owned()),
            mode: key.mode,
            scope,
            created_by: maker.unwrap_or_else(|| nobody.to_owned()),
            created_at: Time(key.created_at),
            last_used_at: key.last_used_at.map(Time),
            last_used_from,
            expires_at: key.expires_at.map(Time),
            is_revoked: key.revoked_at.is_some(),
            may_rotate,
            state,
        }
    }
}

/// What was typed into the form for a new key.
#[derive(Default)]
struct Typed {
    name: String,
    mode: String,
    scope: String,
    expires_in: String,
}

/// What the page shows besides the keys.
#[derive(Default)]
struct Said {
    made: Option<String>,
    typed: Typed,
    complaint: Option<Complaint>,
    refused: Option<String>,
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/settings/integrations/api-keys")
        .shows("show_api_keys", show_api_keys)?
        .takes("create_api_key", create_api_key)?
        .and_no_more();
    Route::new(
        api,
        site,
        "/teams/{team}/settings/integrations/api-keys/rotate",
    )
    .takes("rotate_api_key", rotate_api_key)?
    .and_no_more();
    Route::new(
        api,
        site,
        "/teams/{team}/settings/integrations/api-keys/revoke",
    )
    .takes("revoke_api_key", revoke_api_key)?
    .and_no_more();
    Ok(())
}

fn path(team_id: TeamId) -> String {
    format!("/teams/{team_id}/settings/integrations/api-keys")
}

async fn show_api_keys(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let made = visit.shown_once(team.id);
    let made = made.filter(|text| visit.app().presented_api_key(text).is_ok());
    let said = Said {
        made: made.map(str::to_owned),
        ..Said::default()
    };
    page(&visit, team, said).await
}

async fn create_api_key(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [name, mode, scope, expires_in] = form.fields(["name", "mode", "scope", "expires_in"])?;
    let typed = Typed {
        name,
        mode,
        scope,
        expires_in,
    };
    let (mode, scope) = match typed.parsed() {
        Ok(parsed) => parsed,
        Err(complaint) => return page(&visit, team, Said::complaint(typed, complaint)).await,
    };
    let expires_in = typed
        .expires_in
        .parse::<Span>()
        .ok()
        .map(|it| it.duration());
    let fields = [
        ("name", typed.name.as_str()),
        ("mode", &typed.mode),
        ("scope", &typed.scope),
        ("expires_in", &typed.expires_in),
    ];
    if mode == Mode::Live {
        confirmed(&visit, &form, &fields).await?;
    }
    let (actor, name) = (visit.actor()?, Some(typed.name.as_str()));
    let created = visit
        .app()
        .create_api_key(&actor, team.id, mode, scope, name, expires_in);
    let (_, secret) = match created.await {
        Ok(created) => created,
        Err(Error::Invalid(complaint)) => {
            return page(&visit, team, Said::complaint(typed, complaint)).await;
        }
        Err(Error::Refused(message)) => {
            let field = "name";
            let complaint = Complaint { field, message };
            return page(&visit, team, Said::complaint(typed, complaint)).await;
        }
        Err(error) => return Err(error.into()),
    };
    show_once(&visit, team.id, &secret)
}

/// Rotating a key always takes a recent proof of identity: it ends another key.
async fn rotate_api_key(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [id, overlap] = form.fields(["id", "overlap"])?;
    let fields = [("id", id.as_str()), ("overlap", overlap.as_str())];
    confirmed(&visit, &form, &fields).await?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    let overlap = match overlap.as_str() {
        "" => None,
        // The page's own form sends nothing else.
        text => Some(text.parse::<Span>().map_err(|_| Failure::NotFound)?),
    };
    let actor = visit.actor()?;
    let rotated = visit
        .app()
        .rotate_api_key(&actor, id, overlap.map(Span::duration));
    match rotated.await {
        // The path may name another team of the user than the key's.
        Ok(rotated) => show_once(&visit, rotated.new.team_id, &rotated.secret),
        Err(Error::Refused(why)) => {
            let refused = Some(why);
            let said = Said {
                refused,
                ..Said::default()
            };
            page(&visit, team, said).await
        }
        Err(error) => Err(error.into()),
    }
}

/// Redirects to the page of the key's team, which shows the key this once.
fn show_once(visit: &Visit, team_id: TeamId, secret: &Secret) -> Answer {
    let mut answer = see_other(&path(team_id));
    let once = visit.once(team_id, secret)?;
    answer.headers_mut().append(SET_COOKIE, once);
    Ok(answer)
}

async fn revoke_api_key(visit: Arc<Visit>, path: TeamPath, form: Form) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let [id] = form.fields(["id"])?;
    let fields = [("id", id.as_str())];
    confirmed(&visit, &form, &fields).await?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    visit.app().revoke_api_key(&visit.actor()?, id).await?;
    Ok(see_other(&self::path(team.id)))
}

async fn page(visit: &Visit, team: FramedTeam, said: Said) -> Answer {
    let Said {
        made,
        typed,
        complaint,
        refused,
    } = said;
    let (user_id, now) = (visit.user_id()?, visit.app().now());
    let (mut pager, part) = Pager::new(visit, path(team.id))?;
    visit.list_turn(team.id, user_id).await?;
    let keys = visit.app().list_newest_api_keys(user_id, team.id, part);
    let keys = pager.page(keys.await?, |it| it.place);
    let row = |key| KeyRow::new(key, now);
    let was_made = made.is_some();
    let status = match complaint.is_some() || refused.is_some() {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    };
    let page = ApiKeysPage {
        path: path(team.id),
        keys: keys.into_iter().map(row).collect(),
        pager,
        frame: Frame::of_team(visit, team),
        made,
        typed,
        complaint,
        refused,
    };
    let mut answer = html(status, &page)?;
    if was_made {
        let cleared = Cookie::Once.clear(&visit.site);
        answer.headers_mut().append(SET_COOKIE, cleared);
    }
    Ok(answer)
}

impl Said {
    fn complaint(typed: Typed, complaint: Complaint) -> Said {
        Said {
            typed,
            complaint: Some(complaint),
            ..Said::default()
        }
    }
}

impl Typed {
    /// Parses which catalog and what scope the key is for; the page's own form sends nothing that is wrong here.
    fn parsed(&self) -> Result<(Mode, Scope), Complaint> {
        let wrong = |field| Complaint {
            field,
            message: "is none of those that the page offers".to_owned(),
        };
        if !self.expires_in.is_empty() && self.expires_in.parse::<Span>().is_err() {
            return Err(wrong("expires_in"));
        }
        let mode = self.mode.parse().map_err(|_| wrong("mode"))?;
        let scope = self.scope.parse().map_err(|_| wrong("scope"))?;
        Ok((mode, scope))
    }
}
