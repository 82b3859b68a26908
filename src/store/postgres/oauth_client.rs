//! OAuth clients in PostgreSQL. One stays for ever, so that its existence needs no lock.

use async_trait::async_trait;

use super::Postgres;
use super::sql::{Failure, Sql};
use super::values::params;
use crate::domain::Error;
use crate::domain::oauth_client::{ClientId, OauthClient};
use crate::store::OauthClientStore;

#[async_trait]
impl OauthClientStore for Postgres {
    async fn create_oauth_client(&self, client: OauthClient) -> Result<(), Error> {
        let insert = "INSERT INTO oauth_client (id, name, created_at) VALUES ($1, $2, $3) \
             ON CONFLICT (id) DO NOTHING";
        let insert_uri = "INSERT INTO oauth_redirect_uri (client_id, redirect_uri) VALUES ($1, $2)";
        let client = &client;
        self.write(|sql| async move {
            let values = params![client.id, client.name, client.created_at];
            if sql.execute(insert, values).await? == 0 {
                return Err(OauthClient::exists(&client.id).into());
            }
            for uri in &client.redirect_uris {
                sql.execute(insert_uri, params![client.id, uri]).await?;
            }
            Ok(())
        })
        .await
    }
}

/// Whether there is such a client.
pub(super) async fn client_exists(sql: &Sql, id: &ClientId) -> Result<bool, Failure> {
    let select = "SELECT 1 FROM oauth_client WHERE id = $1";
    sql.exists(select, params![id]).await
}

/// Refuses a client that does not exist, or a redirect URI that is not the client's.
pub(super) async fn require_redirect_uri(
    sql: &Sql,
    id: &ClientId,
    uri: &str,
) -> Result<(), Failure> {
    if !client_exists(sql, id).await? {
        return Err(OauthClient::missing(id).into());
    }
    let select = "SELECT 1 FROM oauth_redirect_uri WHERE client_id = $1 AND redirect_uri = $2";
    match sql.exists(select, params![id, uri]).await? {
        true => Ok(()),
        false => Err(OauthClient::foreign_redirect_uri(id, uri).into()),
    }
}
