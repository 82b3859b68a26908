//! OAuth clients in SQLite.

use async_trait::async_trait;
use rusqlite::params;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::Sqlite;
use super::sql::Sql;
use crate::domain::Error;
use crate::domain::oauth_client::{ClientId, OauthClient};
use crate::store::OauthClientStore;

#[async_trait]
impl OauthClientStore for Sqlite {
    async fn create_oauth_client(&self, client: OauthClient) -> Result<(), Error> {
        let insert = "INSERT INTO oauth_client (id, name, created_at) VALUES (?1, ?2, ?3)";
        let insert_uri = "INSERT INTO oauth_redirect_uri (client_id, redirect_uri) VALUES (?1, ?2)";
        self.write(move |sql| {
            if client_exists(sql, &client.id)? {
                return Err(OauthClient::exists(&client.id));
            }
            sql.execute(insert, params![client.id, client.name, client.created_at])?;
            for uri in &client.redirect_uris {
                sql.execute(insert_uri, params![client.id, uri])?;
            }
            Ok(())
        })
        .await
    }
}

/// Whether there is such a client. For use inside a transaction.
pub(super) fn client_exists(sql: Sql<'_>, id: &ClientId) -> Result<bool, Error> {
    let select = "SELECT 1 FROM oauth_client WHERE id = ?1";
    Ok(sql.optional(select, [id], |_| Ok(()))?.is_some())
}

/// Refuses a client that does not exist, or a redirect URI that is not the client's.
pub(super) fn require_redirect_uri(sql: Sql<'_>, id: &ClientId, uri: &str) -> Result<(), Error> {
    if !client_exists(sql, id)? {
        return Err(OauthClient::missing(id));
    }
    let select = "SELECT 1 FROM oauth_redirect_uri WHERE client_id = ?1 AND redirect_uri = ?2";
    sql.optional(select, params![id, uri], |_| Ok(()))?
        .ok_or_else(|| OauthClient::foreign_redirect_uri(id, uri))
}

impl ToSql for ClientId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.as_str()))
    }
}

impl FromSql for ClientId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str().map(ClientId::new)
    }
}
