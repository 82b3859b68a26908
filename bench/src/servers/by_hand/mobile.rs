//! The mobile API, written by hand: refreshes and share links.
//!
//! A refresh does what most servers do and no more: the token is spent, a new pair is stored, and a
//! token that is spent twice ends its session. A lost answer signs the device out; the service has
//! a grace for that, which costs it two writes and an encryption.

use aws_lc_rs::rand;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::database::{Database, Digest, digest, internal, now};
use super::product::{Data, Page, time};
use super::{ApiError, bearer};
use crate::dataset::PUBLIC_URL;

const HOUR: i64 = 60 * 60 * 1000;
const MONTH: i64 = 30 * 24 * HOUR;

#[derive(Deserialize)]
pub struct TokenRequest {
    grant_type: String,
    refresh_token: String,
    client_id: String,
    install_id: Option<String>,
    user_agent: Option<String>,
}

#[derive(Serialize)]
struct TokenSet {
    access_token: String,
    refresh_token: String,
    token_type: &'static str,
    expires_in: i64,
    user_id: Uuid,
}

pub async fn exchange_token(
    State(database): State<Database>,
    Json(request): Json<TokenRequest>,
) -> Result<Response, ApiError> {
    if request.grant_type != "refresh_token" {
        return Err(ApiError::InvalidBody("grant_type is refresh_token"));
    }
    let (access_token, refresh_token) = (random_token()?, random_token()?);
    let pair = (
        digest([access_token.as_bytes()]),
        digest([refresh_token.as_bytes()]),
    );
    let user_id = database
        .write(move |connection| refresh(connection, &request, pair))
        .await?;
    let tokens = TokenSet {
        access_token,
        refresh_token,
        token_type: "Bearer",
        expires_in: HOUR / 1000,
        user_id: user_id.ok_or(ApiError::InvalidToken)?,
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(tokens)).into_response())
}

/// Spends a token for the next pair. Nobody comes back when there is none to give.
fn refresh(
    connection: &Connection,
    request: &TokenRequest,
    (access, refresh): (Digest, Digest),
) -> Result<Option<Uuid>, ApiError> {
    let token = digest([request.refresh_token.as_bytes()]);
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
        .execute(params![access, session, now + HOUR])?;
    connection
        .prepare_cached("INSERT INTO refresh_token VALUES (?1, ?2, NULL)")?
        .execute(params![refresh, session])?;
    connection
        .prepare_cached(
            "UPDATE session SET expires_at = ?2, last_used_at = ?3,
                 user_agent = coalesce(?4, user_agent) WHERE id = ?1",
        )?
        .execute(params![session, now + MONTH, now, request.user_agent])?;
    Ok(Some(Uuid::from_bytes(user)))
}

fn random_token() -> Result<String, ApiError> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes).map_err(internal)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShareLink {
    id: Uuid,
    url: String,
    name: Option<String>,
    item_type: &'static str,
    item_id: Uuid,
    audience: String,
    permissions: Permissions,
    password_protected: bool,
    expires_at: Option<String>,
    status: &'static str,
    view_count: i64,
    download_count: i64,
    last_viewed_at: Option<String>,
    created_by: Creator,
    created_at: String,
    updated_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Permissions {
    can_view: bool,
    can_download: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Creator {
    id: Uuid,
    display_name: String,
}

pub async fn list_links(
    State(database): State<Database>,
    Path(file): Path<Uuid>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = bearer(&headers)?;
    let team: Uuid = headers
        .get("x-team-id")
        .and_then(|team| team.to_str().ok()?.parse().ok())
        .ok_or(ApiError::InvalidQuery("X-Team-Id is missing"))?;
    let data = database
        .read(move |connection| {
            find_member(connection, token, team)?;
            find_file(connection, team, file)?;
            find_links(connection, team, file)
        })
        .await?;
    let page = Page {
        data,
        has_more: false,
        next_cursor: None,
    };
    Ok(Json(Data { data: page }).into_response())
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
