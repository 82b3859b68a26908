//! Invitations to teams.

use uuid::Uuid;

use super::Batch;
use crate::domain::id::{InvitationId, TeamId, UserId};
use crate::domain::invitation::{Invitation, ListedInvitation};
use crate::domain::list::Part;
use crate::domain::secret::Digest;
use crate::domain::time::Timestamp;
use crate::sql::{sql, table, values};

table! {
    /// The rows of invitations.
    pub(super) mod row = "invitation", key [team_id, id];
    (digest: Bytes)
    Invitation {
        id: Uuid, team_id: Uuid, email: Text, role: Text, invited_by: Uuid, created_at: Integer, expires_at: Integer,
    }
    ()
}

/// Adds an invitation, storing only the digest of its secret.
pub fn insert<'a>(invitation: &'a Invitation, digest: &'a Digest) -> impl Batch {
    sql!(row::INSERT).with(row::values(digest, invitation))
}

/// The invitations of a team, valid or not, oldest first, with their inviters' current roles: none for an inviter who is
/// deactivated.
pub fn list(team_id: TeamId) -> impl Batch<Out = Vec<ListedInvitation>> {
    sql!(
        "SELECT invitation.id, invitation.team_id, invitation.email, invitation.role, invited_by, \
             invitation.created_at, expires_at, CASE WHEN maker.deactivated_at IS NULL THEN member.role END, maker.name \
         FROM invitation \
         LEFT JOIN member ON member.team_id = invitation.team_id AND member.user_id = invited_by \
         LEFT JOIN \"user\" AS maker ON maker.id = invited_by \
         WHERE invitation.team_id = $1 ORDER BY invitation.id"
    )
    .with(values![team_id])
    .all(|row| {
        Ok(ListedInvitation {
            invitation: row::read(row)?,
            inviter_role: row.take()?,
            inviter_name: row.take()?,
        })
    })
}

/// The invitation with that digest, unless it has expired.
pub fn find(digest: Digest, now: Timestamp) -> impl Batch<Out = Option<Invitation>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM invitation WHERE digest = $1 AND expires_at > $2"
    )
    .with(values![digest, now])
    .first(row::read)
}

/// The team's invitation with that id.
pub fn find_id(team_id: TeamId, id: InvitationId) -> impl Batch<Out = Option<Invitation>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM invitation WHERE team_id = $1 AND id = $2"
    )
    .with(values![team_id, id])
    .first(row::read)
}

/// The invitation of an email to a team, ignoring case.
pub fn find_email(team_id: TeamId, email: &str) -> impl Batch<Out = Option<Invitation>> {
    sql!(
        sqlite: [
            "SELECT ",
            row::COLUMNS,
            " FROM invitation WHERE team_id = $1 AND lower(email) = lower($2)",
        ],
        postgres: [
            "SELECT ",
            row::COLUMNS,
            " FROM invitation WHERE team_id = $1 AND lower(email COLLATE \"C\") = lower($2 COLLATE \"C\")",
        ],
    )
    .with(values![team_id, email])
    .first(row::read)
}

/// The invitations of an email to all teams, ignoring case, at most `limit`.
pub fn list_of(email: &str, limit: u32) -> impl Batch<Out = Vec<Invitation>> {
    sql!(
        sqlite: [
            "SELECT ",
            row::COLUMNS,
            " FROM invitation WHERE lower(email) = lower($1) ORDER BY id LIMIT $2",
        ],
        postgres: [
            "SELECT ",
            row::COLUMNS,
            " FROM invitation WHERE lower(email COLLATE \"C\") = lower($1 COLLATE \"C\") ORDER BY id LIMIT $2",
        ],
    )
    .with(values![email, limit])
    .all(row::read)
}

/// How many invitations to a team there are, recently expired ones included, but none of a deactivated user: nobody could
/// withdraw them.
pub fn count(team_id: TeamId) -> impl Batch<Out = Option<i64>> {
    sql!(
        "SELECT count(*) FROM invitation WHERE team_id = $1 AND NOT EXISTS ( \
             SELECT 1 FROM \"user\" WHERE \"user\".id = invited_by AND deactivated_at IS NOT NULL)"
    )
    .with(values![team_id])
    .first(|row| Ok(row.take()?))
}

/// The invitations to all teams that a user has sent, expired ones too, oldest first.
pub fn list_sent_by(
    user_id: UserId,
    part: Part<InvitationId>,
) -> impl Batch<Out = Vec<Invitation>> {
    let after = part.after.unwrap_or(InvitationId(Uuid::nil()));
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM invitation WHERE invited_by = $1 AND id > $2 ORDER BY id LIMIT $3"
    )
    .with(values![user_id, after, part.limit])
    .all(row::read)
}

/// The invitations to a team that a user has made.
pub fn list_made_by(team_id: TeamId, user_id: UserId) -> impl Batch<Out = Vec<Invitation>> {
    sql!(
        "SELECT ",
        row::COLUMNS,
        " FROM invitation WHERE team_id = $1 AND invited_by = $2"
    )
    .with(values![team_id, user_id])
    .all(row::read)
}

/// Deletes an invitation. Returns how many there were.
pub fn delete(team_id: TeamId, id: InvitationId) -> impl Batch<Out = u64> {
    sql!("DELETE FROM invitation WHERE team_id = $1 AND id = $2").with(values![team_id, id])
}

/// Deletes all invitations to a team.
pub fn delete_all(team_id: TeamId) -> impl Batch {
    sql!("DELETE FROM invitation WHERE team_id = $1").with(values![team_id])
}

/// Deletes the invitations of an email to all teams, ignoring case.
pub fn delete_all_of(email: &str) -> impl Batch {
    sql!(
        sqlite: ["DELETE FROM invitation WHERE lower(email) = lower($1)"],
        postgres: ["DELETE FROM invitation WHERE lower(email COLLATE \"C\") = lower($1 COLLATE \"C\")"],
    )
    .with(values![email])
}

/// Deletes the invitations of an email to the teams that a user is in, ignoring case.
pub fn delete_of_member(user_id: UserId, email: &str) -> impl Batch {
    sql!(
        sqlite: [
            "DELETE FROM invitation WHERE lower(email) = lower($2) \
             AND team_id IN (SELECT team_id FROM member WHERE user_id = $1)",
        ],
        postgres: [
            "DELETE FROM invitation WHERE lower(email COLLATE \"C\") = lower($2 COLLATE \"C\") \
             AND team_id IN (SELECT team_id FROM member WHERE user_id = $1)",
        ],
    )
    .with(values![user_id, email])
}

/// Deletes at most `limit` invitations that have expired; returns how many.
pub fn delete_expired(now: Timestamp, limit: u32) -> impl Batch<Out = u64> {
    sql!(
        "DELETE FROM invitation WHERE (team_id, id) IN ( \
             SELECT team_id, id FROM invitation WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)"
    )
    .with(values![now, limit])
}
