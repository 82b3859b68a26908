//! The mobile API: refreshes, as `by_hand` does them, and share links.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use deadpool_postgres::GenericClient;
use tokio_postgres::Row;
use uuid::Uuid;

use super::database::{Database, execute, query, query_opt};
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
    let mut connection = database.connection().await?;
    let transaction = connection.transaction().await?;
    let user = refresh(&transaction, &request, &pair.digests()).await?;
    // Even if there is no next pair: the session may have been ended.
    transaction.commit().await?;
    Ok(pair.into_response(user.ok_or(ApiError::InvalidToken)?))
}

/// Spends a token for the next pair. Returns the user, or `None` if the token is refused.
async fn refresh(
    transaction: &impl GenericClient,
    request: &TokenRequest,
    next: &Digests,
) -> Result<Option<Uuid>, ApiError> {
    let token = request.digest();
    let token = token.as_slice();
    let now = now();
    // Both rows are locked: a concurrent use of the token must see that it is spent.
    let found = query_opt(
        transaction,
        "SELECT session_id, user_id, spent_at FROM refresh_token
         JOIN session ON session.id = refresh_token.session_id
         WHERE digest = $1 AND client_id = $2 AND install_id IS NOT DISTINCT FROM $3
             AND ended_at IS NULL AND expires_at > $4
         FOR UPDATE",
        &[&token, &request.client_id, &request.install_id, &now],
    )
    .await?;
    let Some(found) = found else {
        return Ok(None);
    };
    let session: Uuid = found.try_get(0)?;
    if found.try_get::<_, Option<i64>>(2)?.is_some() {
        let end = "UPDATE session SET ended_at = $2 WHERE id = $1";
        execute(transaction, end, &[&session, &now]).await?;
        return Ok(None);
    }
    let spend = "UPDATE refresh_token SET spent_at = $2 WHERE digest = $1";
    execute(transaction, spend, &[&token, &now]).await?;
    let add = "INSERT INTO access_token VALUES ($1, $2, $3)";
    let access = next.access.as_slice();
    execute(transaction, add, &[&access, &session, &(now + HOUR)]).await?;
    let add = "INSERT INTO refresh_token VALUES ($1, $2, NULL)";
    execute(transaction, add, &[&next.refresh.as_slice(), &session]).await?;
    execute(
        transaction,
        "UPDATE session SET expires_at = $2, last_used_at = $3,
             user_agent = coalesce($4, user_agent) WHERE id = $1",
        &[&session, &(now + MONTH), &now, &request.user_agent],
    )
    .await?;
    Ok(Some(found.try_get(1)?))
}

pub async fn list_links(
    State(database): State<Database>,
    Path(file): Path<Uuid>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let token = bearer(&headers)?;
    let team = team(&headers)?;
    let connection = database.connection().await?;
    find_member(&connection, token, team).await?;
    find_file(&connection, team, file).await?;
    let links = find_links(&connection, team, file).await?;
    Ok(links_response(links))
}

async fn find_member(
    client: &impl GenericClient,
    token: Digest,
    team: Uuid,
) -> Result<(), ApiError> {
    let session = query_opt(
        client,
        "SELECT user_id FROM access_token JOIN session ON session.id = access_token.session_id
         WHERE digest = $1 AND access_token.expires_at > $2 AND ended_at IS NULL",
        &[&token.as_slice(), &now()],
    )
    .await?
    .ok_or(ApiError::InvalidToken)?;
    let user: Uuid = session.try_get(0)?;
    let member = "SELECT 1 FROM member WHERE team_id = $1 AND user_id = $2";
    query_opt(client, member, &[&team, &user])
        .await?
        .map(drop)
        .ok_or(ApiError::NotAMember)
}

async fn find_file(client: &impl GenericClient, team: Uuid, file: Uuid) -> Result<(), ApiError> {
    let select = "SELECT 1 FROM file WHERE team_id = $1 AND id = $2";
    query_opt(client, select, &[&team, &file])
        .await?
        .map(drop)
        .ok_or(ApiError::ItemNotFound)
}

async fn find_links(
    client: &impl GenericClient,
    team: Uuid,
    file: Uuid,
) -> Result<Vec<ShareLink>, ApiError> {
    let rows = query(
        client,
        "SELECT link.*, member.name AS display_name FROM share_link AS link
         JOIN member ON member.team_id = link.team_id AND member.user_id = link.created_by
         WHERE link.team_id = $1 AND file_id = $2 AND revoked_at IS NULL ORDER BY link.id DESC",
        &[&team, &file],
    )
    .await?;
    let now = now();
    Ok(rows
        .iter()
        .map(|row| read_link(row, now))
        .collect::<Result<_, _>>()?)
}

fn read_link(row: &Row, now: i64) -> Result<ShareLink, tokio_postgres::Error> {
    let expires_at: Option<i64> = row.try_get("expires_at")?;
    Ok(ShareLink {
        id: row.try_get("id")?,
        url: format!("{PUBLIC_URL}/s/{}", row.try_get::<_, &str>("secret")?),
        name: row.try_get("name")?,
        item_type: "file",
        item_id: row.try_get("file_id")?,
        audience: row.try_get("audience")?,
        permissions: Permissions {
            can_view: row.try_get("can_view")?,
            can_download: row.try_get("can_download")?,
        },
        password_protected: row.try_get::<_, Option<&str>>("password")?.is_some(),
        expires_at: expires_at.map(time),
        status: match expires_at {
            Some(end) if end <= now => "expired",
            _ => "active",
        },
        view_count: row.try_get("view_count")?,
        download_count: row.try_get("download_count")?,
        last_viewed_at: row.try_get::<_, Option<i64>>("last_viewed_at")?.map(time),
        created_by: Creator {
            id: row.try_get("created_by")?,
            display_name: row.try_get("display_name")?,
        },
        created_at: time(row.try_get("created_at")?),
        updated_at: time(row.try_get("updated_at")?),
    })
}
