//! OAuth clients.

use super::App;
use crate::domain::Error;
use crate::domain::audit::{Action, Actor, AuditEvent};
use crate::domain::holder::Holder;
use crate::domain::input::typed_text;
use crate::domain::list::Part;
use crate::domain::oauth_client::{
    ClientId, OauthClient, is_registered, parse_id, parse_redirect_uris,
};
use crate::sql::ScriptError;
use crate::store::{Batch, Sql, audit, auth_code, oauth_client};

use super::steps::STEP;

impl App {
    /// Registers an app.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is no plain text; [`Error::Refused`] for an id that is taken or malformed, and for a
    /// redirect URI that is not absolute or has a fragment (RFC 6749, 3.1.2); any store error.
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
        let event = self.event(&Actor::Operator, Action::CreateOauthClient);
        let event = event.of_client(&client.id);
        self.store
            .write(Holder::Service, async move |sql| {
                add_oauth_client(sql, &client).await?;
                sql.run(audit::insert(&event)).await?;
                Ok(client.clone())
            })
            .await
    }

    /// Changes an app's name, replaces all its redirect URIs, or both. Returns the app as it was before and as it is now. If
    /// it loses a redirect URI, its unused codes are invalid from then on.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is no such app; as for [`create_oauth_client`](App::create_oauth_client).
    pub async fn update_oauth_client(
        &self,
        id: &ClientId,
        name: Option<&str>,
        redirect_uris: Option<&[String]>,
    ) -> Result<(OauthClient, OauthClient), Error> {
        let name = name.map(|name| typed_text("client's name", name));
        let change = Change {
            id: id.clone(),
            name: name.transpose()?,
            redirect_uris: redirect_uris.map(parse_redirect_uris).transpose()?,
            event: self
                .event(&Actor::Operator, Action::UpdateOauthClient)
                .of_client(id),
        };
        loop {
            let change = change.clone();
            let step = async move |sql: Sql<'_>| change.carry_out(sql).await;
            if let Some(changed) = self.store.write(Holder::Service, step).await? {
                return Ok(changed);
            }
        }
    }

    /// Deletes the unused codes of an app, step by step. Waits for an exchange that is under way.
    pub(super) async fn delete_unused_codes(&self, id: &ClientId) -> Result<(), Error> {
        let id = id.clone();
        let delete = async move |sql: Sql<'_>, rows| {
            sql.run(auth_code::delete_unused_of_client(&id, rows)).await
        };
        self.take_steps((STEP, 1), delete).await
    }

    /// Clients, ordered by id.
    ///
    /// # Errors
    /// Any store error.
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

    /// The client with this id.
    ///
    /// # Errors
    /// [`Error::Missing`] when there is none; any store error.
    pub async fn get_oauth_client(&self, id: ClientId) -> Result<OauthClient, Error> {
        self.store
            .read(Holder::Service, async move |sql| {
                let found = sql.run(oauth_client::find(id.clone())).await?;
                let mut client = found.ok_or_else(|| OauthClient::missing(&id))?;
                add_redirect_uris(sql, &mut client).await?;
                Ok(client)
            })
            .await
    }
}

/// A change to an app.
#[derive(Clone)]
struct Change {
    id: ClientId,
    name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    event: AuditEvent,
}

impl Change {
    /// The app is locked first, so that no code is issued meanwhile for a redirect URI that it loses. If it loses one,
    /// unused codes go before anything changes: if the deletion reached its limit, so that more may be left, returns `None`
    /// and changes nothing yet. A change that leaves everything as it was leaves no event.
    async fn carry_out(
        &self,
        sql: Sql<'_>,
    ) -> Result<Option<(OauthClient, OauthClient)>, ScriptError> {
        let id = &self.id;
        let (_, found) = sql
            .run((oauth_client::lock(id), oauth_client::find(id.clone())))
            .await?;
        let mut old = found.ok_or_else(|| OauthClient::missing(id))?;
        add_redirect_uris(sql, &mut old).await?;
        if self.takes_away_from(&old) {
            let deleted = sql
                .run(auth_code::delete_unused_of_client(id, STEP))
                .await?;
            if deleted == u64::from(STEP) {
                return Ok(None);
            }
        }
        let mut new = old.clone();
        if let Some(name) = &self.name {
            sql.run(oauth_client::set_name(id, name)).await?;
            new.name.clone_from(name);
        }
        if let Some(uris) = &self.redirect_uris {
            for uri in old.redirect_uris.iter().filter(|it| !uris.contains(it)) {
                sql.run(oauth_client::delete_redirect_uri(id, uri)).await?;
            }
            for uri in uris.iter().filter(|it| !old.redirect_uris.contains(it)) {
                sql.run(oauth_client::insert_redirect_uri(id, uri)).await?;
            }
            add_redirect_uris(sql, &mut new).await?;
        }
        if new != old {
            sql.run(audit::insert(&self.event)).await?;
        }
        Ok(Some((old, new)))
    }

    /// Whether the change takes a redirect URI from the app.
    fn takes_away_from(&self, old: &OauthClient) -> bool {
        let new = self.redirect_uris.as_ref();
        new.is_some_and(|new| old.redirect_uris.iter().any(|it| !new.contains(it)))
    }
}

/// Adds a client with its redirect URIs.
async fn add_oauth_client(sql: Sql<'_>, client: &OauthClient) -> Result<(), ScriptError> {
    if sql.run(oauth_client::insert(client)).await? == 0 {
        let exists = sql.run(oauth_client::exists(&client.id)).await?;
        return Err(match exists {
            true => OauthClient::exists(&client.id),
            false => OauthClient::being_deleted(&client.id),
        }
        .into());
    }
    for uri in &client.redirect_uris {
        sql.run(oauth_client::insert_redirect_uri(&client.id, uri))
            .await?;
    }
    Ok(())
}

/// Adds a client's redirect URIs. There are few clients, so one query each is fine.
async fn add_redirect_uris(sql: Sql<'_>, client: &mut OauthClient) -> Result<(), ScriptError> {
    client.redirect_uris = sql
        .run(oauth_client::list_redirect_uris(client.id.clone()))
        .await?;
    Ok(())
}

/// Refuses a client that does not exist, or a redirect URI that is not the client's; neither changes before the end of the
/// transaction.
pub(super) fn require_redirect_uri<'a>(
    id: &'a ClientId,
    uri: &'a str,
) -> impl Batch<Out = ((), ())> {
    let client = oauth_client::hold(id).rule(move |exists| match exists {
        true => Ok(()),
        false => Err(OauthClient::missing(id)),
    });
    let registered = oauth_client::list_redirect_uris(id.clone()).rule(move |registered| {
        match is_registered(&registered, uri) {
            true => Ok(()),
            false => Err(OauthClient::foreign_redirect_uri(id, uri)),
        }
    });
    (client, registered)
}
