//! The mobile API, written by hand: refreshes and share links.
//!
//! A refresh does what most servers do and no more: the token is spent, a new pair is stored, and a
//! token that is spent twice ends its session. A lost answer signs the device out; the service has
//! a grace for that, which costs it two writes and an encryption.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use uuid::Uuid;

use super::database::Database;
use crate::dataset::PUBLIC_URL;
use crate::servers::by_hand_api::mobile::{
    Creator, Digests, HOUR, MONTH, Pair, Permissions, ShareLink, TokenRequest, links_response, team,
};
use crate::servers::by_hand_api::product::time;
use crate::servers::by_hand_api::{ApiError, Digest, bearer, now};

pub async fn exchange_token(
    State(database): State<Database>,
    Json(request): Json<TokenRequest>,
) -> Result<Response, ApiError> {
    request.check()?;
    let pair = Pair::random()?;
    let next = pair.digests();
    let user = database
        .write(move |connection| refresh(connection, &request, &next))
        .await?;
    Ok(pair.into_response(user.ok_or(ApiError::InvalidToken)?))
}

/// Spends a token for the next pair. Returns the user, or `None` if the token is refused.
fn refresh(
    connection: &Connection,
    request: &TokenRequest,
    next: &Digests,
) -> Result<Option<Uuid>, ApiError> {
    let token = request.digest();
    let now = now();
    let found = connection
        .prepare_cached(
            "SELECT session_id, user_id, spent_at FROM refresh_token
             JOIN session ON session.id = refresh_token.session_id
             WHERE digest = ?1 AND client_id = ?2 AND install_id IS ?3
                 AND ended_at IS NULL AND expires_at > ?4",
        )?
        .query_row(
            params![token, request.client_id, request.install_id, now],
            |row| {
                let spent: Option<i64> = row.get(2)?;
                Ok((row.get::<_, [u8; 16]>(0)?, row.get(1)?, spent.is_some()))
            },
        )
        .optional()?;
    let Some((session, user, spent)) = found else {
        return Ok(None);
    };
    if spent {
        connection
            .prepare_cached("UPDATE session SET ended_at = ?2 WHERE id = ?1")?
            .execute(params![session, now])?;
        return Ok(None);
    }
    connection
        .prepare_cached("UPDATE refresh_token SET spent_at = ?2 WHERE digest = ?1")?
        .execute(params![token, now])?;
    connection
        .prepare_cached("INSERT INTO access_token VALUES (?1, ?2, ?3)")?
        .execute(params![next.access, session, now + HOUR])?;
    connection
        .prepare_cached("INSERT INTO refresh_token VALUES (?1, ?2, NULL)")?
        .execute(params![next.refresh, session])?;
    connection
        .prepare_cached(
            "UPDATE session SET expires_at = ?2, last_used_at = ?3,
                 user_agent = coalesce(?4, user_agent) WHERE id = ?1",
        )?
        .execute(params![session, now + MONTH, now, request.user_agent])?;
    Ok(Some(Uuid::from_bytes(user)))
}

pub async fn list_links(
    State(database): State<Database>,
    Path(file): Path<Uuid>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = bearer(&headers)?;
    let team = team(&headers)?;
    let data = database
        .read(move |connection| {
            find_member(connection, token, team)?;
            find_file(connection, team, file)?;
            find_links(connection, team, file)
        })
        .await?;
    Ok(links_response(data))
}

fn find_member(connection: &Connection, token: Digest, team: Uuid) -> Result<(), ApiError> {
    let user: [u8; 16] = connection
        .prepare_cached(
            "SELECT user_id FROM access_token JOIN session ON session.id = access_token.session_id
             WHERE digest = ?1 AND access_token.expires_at > ?2 AND ended_at IS NULL",
        )?
        .query_row(params![token, now()], |row| row.get(0))
        .optional()?
        .ok_or(ApiError::InvalidToken)?;
    connection
        .prepare_cached("SELECT 1 FROM member WHERE team_id = ?1 AND user_id = ?2")?
        .query_row(params![team.as_bytes(), user], |_| Ok(()))
        .optional()?
        .ok_or(ApiError::NotAMember)
}

fn find_file(connection: &Connection, team: Uuid, file: Uuid) -> Result<(), ApiError> {
    connection
        .prepare_cached("SELECT 1 FROM file WHERE team_id = ?1 AND id = ?2")?
        .query_row(params![team.as_bytes(), file.as_bytes()], |_| Ok(()))
        .optional()?
        .ok_or(ApiError::ItemNotFound)
}

fn find_links(connection: &Connection, team: Uuid, file: Uuid) -> Result<Vec<ShareLink>, ApiError> {
    let mut select = connection.prepare_cached(
        "SELECT link.*, member.name AS display_name FROM share_link AS link
         JOIN member ON member.team_id = link.team_id AND member.user_id = link.created_by
         WHERE link.team_id = ?1 AND file_id = ?2 AND revoked_at IS NULL ORDER BY link.id DESC",
    )?;
    let now = now();
    let links = select.query_map(params![team.as_bytes(), file.as_bytes()], |row| {
        read_link(row, now)
    })?;
    Ok(links.collect::<rusqlite::Result<_>>()?)
}

fn read_link(row: &Row<'_>, now: i64) -> rusqlite::Result<ShareLink> {
    let uuid = |name: &str| row.get(name).map(Uuid::from_bytes);
    let expires_at: Option<i64> = row.get("expires_at")?;
    Ok(ShareLink {
        id: uuid("id")?,
        url: format!("{PUBLIC_URL}/s/{}", row.get::<_, String>("secret")?),
        name: row.get("name")?,
        item_type: "file",
        item_id: uuid("file_id")?,
        audience: row.get("audience")?,
        permissions: Permissions {
            can_view: row.get("can_view")?,
            can_download: row.get("can_download")?,
        },
        password_protected: row.get::<_, Option<String>>("password")?.is_some(),
        expires_at: expires_at.map(time),
        status: match expires_at {
            Some(end) if end <= now => "expired",
            _ => "active",
        },
        view_count: row.get("view_count")?,
        download_count: row.get("download_count")?,
        last_viewed_at: row.get::<_, Option<i64>>("last_viewed_at")?.map(time),
        created_by: Creator {
            id: uuid("created_by")?,
            display_name: row.get("display_name")?,
        },
        created_at: time(row.get("created_at")?),
        updated_at: time(row.get("updated_at")?),
    })
}
