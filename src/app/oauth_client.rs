//! OAuth clients.

use super::App;
use crate::domain::Error;
use crate::domain::oauth_client::{OauthClient, parse_id, parse_redirect_uris};
use crate::domain::text::command_text;

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
            name: command_text("client's name", name)?,
            redirect_uris: parse_redirect_uris(redirect_uris)?,
            created_at: self.now(),
        };
        self.store.create_oauth_client(client.clone()).await?;
        Ok(client)
    }
}
