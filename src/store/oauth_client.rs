//! OAuth clients, and the redirect URIs that each may use. A deleted client counts as gone at once; its row is deleted last,
//! when nothing refers to it any more.

use super::{Batch, fair};
use crate::domain::list::Part;
use crate::domain::oauth_client::{ClientId, OauthClient};
use crate::domain::time::Timestamp;
use crate::sql::value::Columns;
use crate::sql::{ScriptError, lock, sql, table, values};

table! {
    /// The rows of clients.
    pub(super) mod row = "oauth_client", key [id];
    (id: Text, name: Text, created_at: Integer)
    (deleted_at: Integer)
}

table! {
    /// The rows of redirect URIs.
    pub(super) mod redirect_uri_row = "oauth_redirect_uri", key [client_id, redirect_uri];
    (client_id: Text, redirect_uri: Text)
    ()
}

/// Adds a client, without its redirect URIs, unless one with that id exists. Returns how many were added.
pub fn insert(client: &OauthClient) -> impl Batch<Out = u64> {
    sql!(row::INSERT, " ON CONFLICT (id) DO NOTHING").with(values![
        &client.id,
        &client.name,
        client.created_at
    ])
}

/// Adds a redirect URI of a client.
pub fn insert_redirect_uri<'a>(id: &'a ClientId, uri: &'a str) -> impl Batch {
    sql!(redirect_uri_row::INSERT).with(values![id, uri])
}

/// Whether the client exists.
pub fn exists(id: &ClientId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM oauth_client WHERE id = $1 AND deleted_at IS NULL")
        .with(values![id])
        .exists()
}

/// As [`exists`]; no other transaction [locks](lock) it before the end of this one. Not by the row: anybody may bring codes for
/// an app, and PostgreSQL writes down who shares a row, each time one more does.
pub fn hold(id: &ClientId) -> impl Batch<Out = bool> {
    (fair::share(fair::Lock::OauthClient(id)), exists(id)).rule(|(_, exists)| Ok(exists))
}

/// Waits until no other transaction holds the client, and lets none hold it before the end of this one.
pub fn lock(id: &ClientId) -> impl Batch {
    let lock = lock!("SELECT 1 FROM oauth_client WHERE id = $1 FOR UPDATE").with(values![id]);
    (fair::alone(fair::Lock::OauthClient(id)), lock)
}

/// A client without its redirect URIs.
fn read(row: &mut Columns<'_>) -> Result<OauthClient, ScriptError> {
    Ok(OauthClient {
        id: ClientId::new(row.take::<String>()?),
        name: row.take()?,
        created_at: row.take()?,
        redirect_uris: Vec::new(),
    })
}

/// Clients without their redirect URIs, in the order of their ids.
pub fn list<'a>(part: &'a Part<ClientId>) -> impl Batch<Out = Vec<OauthClient>> + 'a {
    let after = part.after.as_ref().map_or("", ClientId::as_str);
    sql!(
        "SELECT id, name, created_at FROM oauth_client WHERE id > $1 AND deleted_at IS NULL \
         ORDER BY id LIMIT $2"
    )
    .with(values![after, part.limit])
    .all(read)
}

/// The client with that id, without its redirect URIs.
pub fn find(id: ClientId) -> impl Batch<Out = Option<OauthClient>> {
    sql!("SELECT id, name, created_at FROM oauth_client WHERE id = $1 AND deleted_at IS NULL")
        .with(values![id])
        .first(read)
}

/// As [`find`], including a deleted client whose row still exists.
pub fn find_row(id: &ClientId) -> impl Batch<Out = Option<OauthClient>> {
    sql!("SELECT id, name, created_at FROM oauth_client WHERE id = $1")
        .with(values![id])
        .first(read)
}

/// The clients that were deleted by `first` or, by a clock that was ahead, after `last`, and whose rows still exist.
pub fn list_deleted(first: Timestamp, last: Timestamp) -> impl Batch<Out = Vec<ClientId>> {
    sql!("SELECT id FROM oauth_client WHERE deleted_at <= $1 OR deleted_at > $2")
        .with(values![first, last])
        .all(|row| Ok(ClientId::new(row.take::<String>()?)))
}

/// Gives a client another name.
pub fn set_name<'a>(id: &'a ClientId, name: &'a str) -> impl Batch {
    sql!("UPDATE oauth_client SET name = $2 WHERE id = $1").with(values![id, name])
}

/// Marks a client as deleted; returns how many were not deleted before.
pub fn mark_deleted(id: &ClientId, now: Timestamp) -> impl Batch<Out = u64> {
    sql!("UPDATE oauth_client SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL")
        .with(values![id, now])
}

/// Deletes the row of a client, and its redirect URIs. Nothing else may belong to it.
pub fn delete(id: &ClientId) -> impl Batch {
    (
        sql!("DELETE FROM oauth_redirect_uri WHERE client_id = $1").with(values![id]),
        sql!("DELETE FROM oauth_client WHERE id = $1").with(values![id]),
    )
}

/// Removes a redirect URI from a client.
pub fn delete_redirect_uri<'a>(id: &'a ClientId, uri: &'a str) -> impl Batch {
    sql!("DELETE FROM oauth_redirect_uri WHERE client_id = $1 AND redirect_uri = $2")
        .with(values![id, uri])
}

/// The redirect URIs of a client, in the order of their characters.
pub fn list_redirect_uris(id: ClientId) -> impl Batch<Out = Vec<String>> {
    sql!("SELECT redirect_uri FROM oauth_redirect_uri WHERE client_id = $1 ORDER BY redirect_uri")
        .with(values![id])
        .all(|row| Ok(row.take()?))
}
