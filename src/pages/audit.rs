//! `/teams/{team}/settings/audit`: what was done in a team, by whom, when and from where (docs/decisions.md, W7, W16 and
//! T1 to T5). What somebody is called is looked up when it is shown.
//!
//! As CSV, it has the newest [`EVENTS`] of them, and behind `?after=` with the id of its last line the next ones: a file is in
//! memory until it is sent, and a user has one at a time.

use std::sync::Arc;

use askama::Template;
use codegen_runtime::Rejection;
use dropshot::ApiDescriptionRegisterError;
use http::{HeaderValue, Response, StatusCode, header};

use super::answer::html;
use super::failure::Failure;
use super::frame::{Frame, FramedTeam};
use super::pager::Pager;
use super::route::{Answer, Route, TeamPath};
use super::site::{Site, Work};
use super::text::{Time, device_name};
use super::visit::Visit;
use crate::domain::Error;
use crate::domain::audit::{Action, AuditEvent, ListedAuditEvent};
use crate::domain::list::Part;
use crate::domain::product_csv::guarded;
use crate::http::Api;
use crate::http::Error::Overloaded;

/// As many events are read at once for a file.
const STEP: u32 = 1_000;

/// As many are in one.
const EVENTS: usize = 10_000;

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
    action: String,
    on: String,
    detail: Option<String>,
    address: Option<String>,
    device: Option<String>,
}

impl From<ListedAuditEvent> for EventRow {
    fn from(listed: ListedAuditEvent) -> EventRow {
        let by = by(&listed).to_owned();
        let ListedAuditEvent { event, subject, .. } = listed;
        EventRow {
            at: Time(event.created_at),
            by,
            action: told(event.action),
            on: subject
                .or(event.subject.map(|id| id.to_string()))
                .unwrap_or_default(),
            detail: event.detail,
            // The command line is nowhere.
            device: event
                .client_address
                .as_ref()
                .map(|_| device_name(event.user_agent.as_deref())),
            address: event.client_address,
        }
    }
}

/// What people call whoever did it.
fn by(listed: &ListedAuditEvent) -> &str {
    match (&listed.event.actor, &listed.actor) {
        (None, _) => "The operator",
        (Some(_), None) => "A former user",
        (Some(_), Some(name)) => name,
    }
}

/// What was done, as a sentence has it: `Rotate API key`.
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
/// When another endpoint has a path of theirs.
pub(super) fn register(api: &mut Api, site: &Arc<Site>) -> Result<(), ApiDescriptionRegisterError> {
    Route::new(api, site, "/teams/{team}/settings/audit")
        .shows("show_audit", show_audit)?
        .and_no_more::<TeamPath>()?;
    Route::new(api, site, "/teams/{team}/settings/audit.csv")
        .shows("export_audit", export_audit)?
        .and_no_more::<TeamPath>()
}

fn path(team: &FramedTeam) -> String {
    format!("/teams/{}/settings/audit", team.id)
}

async fn show_audit(visit: Arc<Visit>, path: TeamPath) -> Answer {
    let team = visit.managed_team(&path.team).await?;
    let path = self::path(&team);
    let (mut pager, part) = Pager::new(&visit, path.clone())?;
    let user_id = visit.user_id()?;
    let events = visit.app().list_team_events(user_id, team.id, part).await?;
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
    let user_id = visit.user_id()?;
    let turn = visit.site.turn(user_id, Work::InMemory);
    let turn = turn.ok_or(Rejection::Error(Overloaded))?;
    let after = visit.query("after").map(|text| text.parse());
    let mut part = Part {
        after: after.transpose().map_err(|_| Failure::NotFound)?,
        limit: STEP,
    };
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(COLUMNS).map_err(Error::internal)?;
    let mut written = 0;
    while written < EVENTS {
        let some = visit.app().list_team_events(user_id, team.id, part).await?;
        let Some(last) = some.last() else { break };
        part.after = Some(last.event.id);
        for listed in &some {
            let cells = cells(listed);
            let cells = cells.iter().map(|cell| guarded(cell));
            csv.write_record(cells.map(|cell| cell.into_owned()))
                .map_err(Error::internal)?;
        }
        written += some.len();
    }
    let text = csv
        .into_inner()
        .map_err(|error| Error::internal(error.into_error()))?;
    let mut answer = Response::new(text.into());
    let headers = answer.headers_mut();
    let csv = HeaderValue::from_static("text/csv; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, csv);
    let file = HeaderValue::from_static("attachment; filename=\"audit.csv\"");
    headers.insert(header::CONTENT_DISPOSITION, file);
    turn.until_sent(&mut answer);
    Ok(answer)
}

/// A line, in the order of [`COLUMNS`].
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
