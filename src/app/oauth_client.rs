//! OAuth clients.

use super::App;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::oauth_client::{
    ClientId, OauthClient, is_registered, parse_id, parse_redirect_uris,
};
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, oauth_client};

impl App {
    /// Registers an app.
    ///
    /// # Errors
    /// [`Error::Refused`] for an id that is taken or malformed, and for a redirect URI that is not
    /// absolute or has a fragment (RFC 6749, 3.1.2).
    pub async fn create_oauth_client(
        &self,
        id: &str,
        name: &str,
        redirect_uris: &[String],
    ) -> Result<OauthClient, Error> {
        let client = OauthClient {
            id: parse_id(id)?,
            name: typed_text("client's name", name)?,
            redirect_uris: parse_redirect_uris(redirect_uris)?,
            created_at: self.now(),
        };
        self.add_oauth_client(client).await
    }

    /// Clients, in the order of their ids.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn list_oauth_clients(
        &self,
        part: Part<ClientId>,
    ) -> Result<Vec<OauthClient>, Error> {
        self.store
            .read(Holder::Service, async move |sql| {
                let mut clients = sql.run(oauth_client::list(&part)).await?;
                for client in &mut clients {
                    add_redirect_uris(sql, client).await?;
                }
                Ok(clients)
            })
            .await
    }

    /// The client of that id.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; what the store answers.
    pub async fn get_oauth_client(&self, id: ClientId) -> Result<OauthClient, Error> {
        self.store
            .read(Holder::Service, async move |sql| {
                let found = sql.run(oauth_client::find(&id)).await?;
                let mut client = found.ok_or_else(|| OauthClient::missing(&id))?;
                add_redirect_uris(sql, &mut client).await?;
                Ok(client)
            })
            .await
    }

    /// Adds a client with its redirect URIs.
    pub(super) async fn add_oauth_client(&self, client: OauthClient) -> Result<OauthClient, Error> {
        self.store
            .write(Holder::Service, async move |sql| {
                let insert = oauth_client::insert(&client).rule(|added| match added {
                    0 => Err(OauthClient::exists(&client.id)),
                    _ => Ok(()),
                });
                sql.run(insert).await?;
                for uri in &client.redirect_uris {
                    sql.run(oauth_client::insert_redirect_uri(&client.id, uri))
                        .await?;
                }
                Ok(client.clone())
            })
            .await
    }
}

/// There are few clients, so each may ask for its own.
async fn add_redirect_uris(sql: Sql<'_>, client: &mut OauthClient) -> Result<(), ScriptError> {
    client.redirect_uris = sql
        .run(oauth_client::list_redirect_uris(&client.id))
        .await?;
    Ok(())
}

/// Refuses a client that does not exist, or a redirect URI that is not the client's.
pub(super) fn require_redirect_uri<'a>(
    id: &'a ClientId,
    uri: &'a str,
) -> impl Batch<Out = ((), ())> {
    let client = oauth_client::exists(id).rule(move |exists| match exists {
        true => Ok(()),
        false => Err(OauthClient::missing(id)),
    });
    let registered =
        oauth_client::list_redirect_uris(id).rule(move |registered| {
            match is_registered(&registered, uri) {
                true => Ok(()),
                false => Err(OauthClient::foreign_redirect_uri(id, uri)),
            }
        });
    (client, registered)
}
