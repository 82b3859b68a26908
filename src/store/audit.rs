//! Audit events: what was done, and by whom.

use uuid::Uuid;

use super::Batch;
use crate::domain::audit::{Action, AuditEvent, ListedAuditEvent};
use crate::domain::id::{AuditEventId, TeamId, UserId, first_at};
use crate::domain::list::Part;
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, text, values};

table! {
    /// The rows of events.
    pub(super) mod row = "audit_event", key [id];
    ()
    AuditEvent {
        id: Uuid, team_id: Uuid, actor: Uuid, action: Text, subject: Uuid, detail: Text, client_address: Text,
        user_agent: Text, created_at: Integer,
    }
    ()
}

/// Adds an event.
pub fn insert(event: &AuditEvent) -> impl Batch {
    sql!(row::INSERT).with(row::values(event))
}

// In the lists below, the ranges and the order leave PostgreSQL only the index of the team or user. For `team_id = $1`, while
// one team has most of all events, it may read all of them in the order of their ids instead, past those of the others.

/// The events of a team, newest first.
pub fn list(team_id: TeamId, part: Part<AuditEventId>) -> impl Batch<Out = Vec<AuditEvent>> {
    let after = part.after.unwrap_or(AuditEventId(Uuid::max()));
    sql!(
        sqlite: ["SELECT ", row::COLUMNS, OF_TEAM],
        postgres: ["SELECT ", row::COLUMNS, OF_TEAM_IN_POSTGRES],
    )
    .with(values![team_id, after, part.limit])
    .all(row::read)
}

const OF_TEAM: &str = " FROM audit_event WHERE team_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";

const OF_TEAM_IN_POSTGRES: &str = " FROM audit_event WHERE (team_id, id) < ($1, $2) AND team_id >= $1 \
     ORDER BY team_id DESC, id DESC LIMIT $3";

/// An event of the team `$1`, with the names of its actor and subject.
const NAMED: &str = text!(
    "SELECT ",
    row::COLUMNS,
    ", (SELECT name FROM \"user\" WHERE \"user\".id = actor AND removed_at IS NULL), \
     coalesce( \
         (SELECT name FROM \"user\" WHERE \"user\".id = subject AND removed_at IS NULL), \
         (SELECT name FROM api_key WHERE api_key.team_id = $1 AND api_key.id = subject), \
         (SELECT name FROM share_link WHERE share_link.team_id = $1 AND share_link.id = subject), \
         (SELECT name FROM folder WHERE folder.team_id = $1 AND folder.id = subject), \
         (SELECT name FROM file WHERE file.team_id = $1 AND file.id = subject))"
);

/// As [`list`], each with the names of its actor and subject. A deleted user has no name, and from where they did something is
/// not told either: it is erased only some time after the deletion.
pub fn list_named(
    team_id: TeamId,
    part: Part<AuditEventId>,
) -> impl Batch<Out = Vec<ListedAuditEvent>> {
    let after = part.after.unwrap_or(AuditEventId(Uuid::max()));
    sql!(
        sqlite: [NAMED, OF_TEAM],
        postgres: [NAMED, OF_TEAM_IN_POSTGRES],
    )
    .with(values![team_id, after, part.limit])
    .all(|row| {
        let mut event = row::read(row)?;
        let actor: Option<String> = row.take()?;
        if actor.is_none() {
            (event.client_address, event.user_agent) = (None, None);
        }
        Ok(ListedAuditEvent {
            event,
            actor,
            subject: row.take()?,
        })
    })
}

/// All events except sign-ins, which are shown only to their user, newest first.
pub fn list_all(part: Part<AuditEventId>) -> impl Batch<Out = Vec<AuditEvent>> {
    let after = part.after.unwrap_or(AuditEventId(Uuid::max()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM audit_event WHERE id < $1 AND action <> 'sign-in' ORDER BY id DESC LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(row::read)
}

/// What a user has done, newest first.
pub fn list_of(actor: UserId, part: Part<AuditEventId>) -> impl Batch<Out = Vec<AuditEvent>> {
    let after = part.after.unwrap_or(AuditEventId(Uuid::max()));
    sql!(
        sqlite: [
            "SELECT ", row::COLUMNS,
            " FROM audit_event WHERE actor = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ],
        postgres: [
            "SELECT ", row::COLUMNS,
            " FROM audit_event WHERE (actor, id) < ($1, $2) AND actor >= $1 ORDER BY actor DESC, id DESC LIMIT $3"
        ],
    )
    .with(values![actor, after, part.limit])
    .all(row::read)
}

/// What others have done to a user, newest first. It has an index of its own (`audit_event_by_others`), as a user may have
/// done any number of things to themselves.
pub fn list_about(user_id: UserId, part: Part<AuditEventId>) -> impl Batch<Out = Vec<AuditEvent>> {
    let after = part.after.unwrap_or(AuditEventId(Uuid::max()));
    sql!(
        sqlite: [
            "SELECT ", row::COLUMNS,
            " FROM audit_event WHERE subject = $1 AND id < $2 AND (actor IS NULL OR actor <> subject) \
             ORDER BY id DESC LIMIT $3"
        ],
        postgres: [
            "SELECT ", row::COLUMNS,
            " FROM audit_event WHERE (subject, id) < ($1, $2) AND subject >= $1 AND (actor IS NULL OR actor <> subject) \
             ORDER BY subject DESC, id DESC LIMIT $3"
        ],
    )
    .with(values![user_id, after, part.limit])
    .all(row::read)
}

/// A user's events of one kind since `time`, newest first. The kind must be one covered by an index of its own
/// (`audit_event_shown`), as a user may have done any number of other things; no event before `time` is read.
pub fn list_done(
    actor: UserId,
    action: Action,
    time: Timestamp,
    limit: u32,
) -> impl Batch<Out = Vec<AuditEvent>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM audit_event WHERE actor = $1 AND action = $2 AND action IN ('sign-in', 'refuse-passkey') \
         AND created_at > $3 AND id > $4 ORDER BY id DESC LIMIT $5"
    )
    .with(values![
        actor,
        action,
        time,
        first_at::<AuditEventId>(time),
        limit
    ])
    .all(row::read)
}

/// The last of the first `limit` events of a user behind `after`, oldest first; `None` at the end.
pub fn find_last_of(
    actor: UserId,
    after: AuditEventId,
    limit: u32,
) -> impl Batch<Out = Option<AuditEventId>> {
    sql!(
        "SELECT id FROM (SELECT id FROM audit_event WHERE actor = $1 AND id > $2 ORDER BY id LIMIT $3) AS part \
         ORDER BY id DESC LIMIT 1"
    )
    .with(values![actor, after, limit])
    .first(|row| Ok(row.take()?))
}

/// Erases the client address and browser from a user's events behind `after` up to `last`. Of several replicas that do so,
/// each row is written by one.
pub fn forget_visitor(actor: UserId, after: AuditEventId, last: AuditEventId) -> impl Batch {
    sql!(
        "UPDATE audit_event SET client_address = NULL, user_agent = NULL \
         WHERE actor = $1 AND id > $2 AND id <= $3 AND (client_address IS NOT NULL OR user_agent IS NOT NULL)"
    )
    .with(values![actor, after, last])
}

/// Deletes at most `limit` events from before `time`; returns how many.
pub fn delete_before(time: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM audit_event WHERE id IN ( \
             SELECT id FROM audit_event WHERE created_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![time, limit])
}
