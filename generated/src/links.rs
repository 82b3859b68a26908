//! Share links of files and folders.

use std::fmt::Display;

use crate::client::Client;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::response::Response;
use crate::settings::call_settings;
use crate::types::{ItemId, ShareLinkPage, TargetType, TeamId};

/// Calls for share links of files and folders, as seen by the user whose access token the client
/// has.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).access_token("...").build()?;
/// # let team = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
/// # let file = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
/// for link in client.links().list(team, "file", file).send().await?.data {
///     println!("{} seen {} times", link.url.as_str(), link.view_count);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    pub(crate) client: &'a Client,
}

impl Links<'_> {
    /// Starts a listing of an item's links that are not revoked, newest first, acting for a team.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::types::TargetType;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).access_token("...").build()?;
    /// # let team = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
    /// # let folder = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
    /// let links = client.links().list(team, TargetType::Folder, folder).send().await?;
    /// assert_eq!(links.data.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn list<M, T, I>(self, team_id: M, target_type: T, id: I) -> ListLinks
    where
        M: TryInto<TeamId, Error: Display>,
        T: TryInto<TargetType, Error: Display>,
        I: TryInto<ItemId, Error: Display>,
    {
        let mut inputs = Inputs::default();
        let team_id = inputs.take("team_id", team_id);
        let item = inputs
            .take("target_type", target_type)
            .zip(inputs.take("id", id));
        ListLinks {
            client: self.client.clone(),
            target: team_id.zip(item),
            inputs,
        }
    }
}

/// A listing of share links.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).access_token("...").build()?;
/// # let team = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
/// # let file = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
/// let call = client.links().list(team, "file", file);
/// let links = call.send().await?;
/// # assert_eq!(stub.requests()[0].header("x-team-id"), Some(team));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct ListLinks {
    client: Client,
    inputs: Inputs,
    target: Option<(TeamId, (TargetType, ItemId))>,
}

impl ListLinks {
    call_settings!("links().list(uuid::Uuid::nil(), \"file\", uuid::Uuid::nil())");

    /// Lists the links. There is only ever one page.
    ///
    /// # Errors
    /// [`Code::NotAMember`](crate::Code::NotAMember) if the user is not a member of the team,
    /// [`Code::ItemNotFound`](crate::Code::ItemNotFound) if the team has no such item,
    /// [`Error::SignedOut`] if the session is over, and any other [`Error`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).access_token("...").build()?;
    /// # let team = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
    /// # let file = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
    /// let links = client.links().list(team, "file", file).send().await?;
    /// assert!(links.data[0].permissions.can_view);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<ShareLinkPage, Error> {
        Ok(self.send_for_response().await?.value)
    }

    /// Lists the links, and also returns the headers.
    ///
    /// # Errors
    /// As for [`send`](ListLinks::send).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).access_token("...").build()?;
    /// # let team = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
    /// # let file = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
    /// let response = client.links().list(team, "file", file).send_for_response().await?;
    /// assert_eq!(response.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_for_response(self) -> Result<Response<ShareLinkPage>, Error> {
        let (team_id, (target_type, id)) = self.inputs.check(self.target)?;
        let send = |mobile: crate::openapi::mobile::Client| async move {
            let call = mobile
                .list_links()
                .x_team_id(team_id)
                .target_type(target_type)
                .id(id);
            call.send().await
        };
        Ok(self
            .client
            .call_mobile(send)
            .await?
            .map(|answer| answer.data))
    }
}
