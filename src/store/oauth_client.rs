//! OAuth clients, and the redirect URIs that each may use. A client stays for ever, so its existence needs no lock.

use super::Batch;
use crate::domain::list::Part;
use crate::domain::oauth_client::{ClientId, OauthClient};
use crate::sql::value::Columns;
use crate::sql::{ScriptError, sql, table, values};

table! {
    /// The rows of clients.
    pub(super) mod row = "oauth_client", key [id];
    (id: Text, name: Text, created_at: Integer)
    ()
}

table! {
    /// The rows of redirect URIs.
    pub(super) mod redirect_uri_row = "oauth_redirect_uri", key [client_id, redirect_uri];
    (client_id: Text, redirect_uri: Text)
    ()
}

/// Adds a client, without its redirect URIs, unless there is one of that id. Says how many were added.
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

/// Whether there is such a client.
pub fn exists(id: &ClientId) -> impl Batch<Out = bool> {
    sql!("SELECT 1 FROM oauth_client WHERE id = $1")
        .with(values![id])
        .exists()
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
    sql!("SELECT id, name, created_at FROM oauth_client WHERE id > $1 ORDER BY id LIMIT $2")
        .with(values![after, part.limit])
        .all(read)
}

/// The client of that id, without its redirect URIs.
pub fn find(id: &ClientId) -> impl Batch<Out = Option<OauthClient>> {
    sql!("SELECT id, name, created_at FROM oauth_client WHERE id = $1")
        .with(values![id])
        .first(read)
}

/// The redirect URIs of a client, in the order of their characters.
pub fn list_redirect_uris(id: &ClientId) -> impl Batch<Out = Vec<String>> {
    sql!("SELECT redirect_uri FROM oauth_redirect_uri WHERE client_id = $1 ORDER BY redirect_uri")
        .with(values![id])
        .all(|row| Ok(row.take()?))
}
