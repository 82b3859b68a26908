//! `/teams/{team}/settings/audit`: what was done in a team, by whom, when and from where (docs/decisions.md, W7, W16 and T1
//! to T5). Names are looked up when events are shown. The CSV file has all events.

use std::sync::Arc;

use askama::Template;
use dropshot::ApiDescriptionRegisterError;
use http::StatusCode;

use super::answer::html;
use super::download::{Lines, download};
use super::frame::{Frame, FramedTeam};
use super::pager::Pager;
use super::route::{Answer, Route, TeamPath};
use super::site::Site;
use super::text::{Time, device_name};
use super::visit::Visit;
use crate::app::App;
use crate::domain::Error;
use crate::domain::audit::{Action, AuditEvent, ListedAuditEvent};
use crate::domain::csv_file::Writer;
use crate::domain::holder::Holder;
use crate::domain::id::{AuditEventId, TeamId, UserId};
use crate::domain::list::Part;
use crate::http::Api;

/// How many events are read at once for a file.
const STEP: u32 = 200;

const COLUMNS: [&str; 10] = [
    "id",
    "at",
    "action",
    "byId",
    "by",
    "onId",
    "on",
    "detail",
    "clientAddress",
    "userAgent",
];

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    path: String,
    events: Vec<EventRow>,
    pager: Pager,
}

/// An event as the table shows it.
struct EventRow {
    at: Time,
    by: String,
    /// Otherwise `by` is no name, and is shown differently: a user may have any.
    is_user: bool,
    action: String,
    on: String,
    detail: Option<String>,
    address: Option<String>,
    device: Option<String>,
}

impl From<ListedAuditEvent> for EventRow {
    fn from(listed: ListedAuditEvent) -> EventRow {
        let by = by(&listed).to_owned();
        let ListedAuditEvent {
            event,
            actor,
            subject,
            ..
        } = listed;
        EventRow {
            at: Time(event.created_at),
            by,
            is_user: event.actor.is_some() && actor.is_some(),
            action: told(event.action),
            on: subject
                .or(event.subject.map(|id| id.to_string()))
                .unwrap_or_default(),
            detail: event.detail,
            // The command line has no address, and so no device.
            device: event
                .client_address
                .as_ref()
                .map(|_| device_name(event.user_agent.as_deref())),
            address: event.client_address,
        }
    }
}

/// Returns the name of the actor.
fn by(listed: &ListedAuditEvent) -> &str {
    match (&listed.event.actor, &listed.actor) {
        (None, _) => "The operator",
        (Some(_), None) => "A former user",
        (Some(_), Some(name)) => name,
    }
}

/// Returns what was done, in words: `Rotate API key`.
fn told(action: Action) -> String {
    let text = action
        .as_str()
        .replace('-', " ")
        .replace("api key", "API key");
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

/// Adds the pages.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/settings/audit")
        .shows("show_audit", show_audit)?
        .and_no_more();
    Route::new(api, site, "/teams/{team}/settings/audit.csv")
        .shows("export_audit", export_audit)?
        .and_no_more();
    Ok(())
}

fn path(team: &FramedTeam) -> String {
    format!("/teams/{}/settings/audit", team.id)
}

async fn show_audit(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let path = self::path(&team);
    let (mut pager, part) = Pager::new(&visit, path.clone())?;
    let user_id = visit.user_id()?;
    visit.list_turn(team.id, user_id).await?;
    let events = visit
        .app()
        .list_team_events(user_id, user_id, team.id, part);
    let events = events.await?;
    let events = pager.page(events, |it| it.event.id);
    let page = AuditPage {
        frame: Frame::of_team(&visit, team),
        path,
        events: events.into_iter().map(EventRow::from).collect(),
        pager,
    };
    Ok(html(StatusCode::OK, &page)?)
}

async fn export_audit(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let events = Events {
        app: Arc::clone(visit.app()),
        user_id: visit.user_id()?,
        team_id: team.id,
        part: Part::first(STEP),
    };
    download(
        &visit,
        team.id,
        "attachment; filename=\"audit.csv\"",
        events,
    )
    .await
}

/// The events of a team, newest first.
struct Events {
    app: Arc<App>,
    user_id: UserId,
    team_id: TeamId,
    part: Part<AuditEventId>,
}

impl Lines for Events {
    async fn write_some(&mut self, file: &mut Writer<Vec<u8>>) -> Result<bool, Error> {
        if self.part.after.is_none() {
            file.line(COLUMNS).map_err(Error::internal)?;
        }
        let some = self
            .app
            .list_team_events(Holder::Parts, self.user_id, self.team_id, self.part);
        let some = some.await?;
        for listed in &some {
            file.line(cells(listed)).map_err(Error::internal)?;
        }
        self.part.after = some.last().map(|it| it.event.id);
        Ok(some.len() == STEP as usize)
    }
}

/// Returns the cells of a line, in the order of [`COLUMNS`].
fn cells(listed: &ListedAuditEvent) -> [String; COLUMNS.len()] {
    let ListedAuditEvent { event, subject, .. } = listed;
    let AuditEvent {
        id,
        actor,
        action,
        created_at,
        ..
    } = event;
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    let actor = actor.map(|id| id.to_string());
    let on = event.subject.map(|id| id.to_string());
    [
        id.to_string(),
        created_at.to_string(),
        action.to_string(),
        text(&actor),
        by(listed).to_owned(),
        text(&on),
        text(subject),
        text(&event.detail),
        text(&event.client_address),
        text(&event.user_agent),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told_in_words() {
        assert_eq!(told(Action::RotateApiKey), "Rotate API key");
        assert_eq!(told(Action::Invite), "Invite");
    }
}
