//! Signed-in devices, and files with share links.

use futures::{StreamExt, TryStreamExt, stream};
use invoicing::app::App;
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::id::{TeamId, UserId};
use invoicing::domain::item::ItemId;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::OauthClient;
use invoicing::domain::secret::Secret;
use invoicing::domain::session::{self, TokenRequest};
use invoicing::domain::share_link::{Audience, CreateLink, ShareLink};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{BoxError, IN_FLIGHT, PUBLIC_URL, patiently, time};

/// The app that all devices are signed in with.
pub const CLIENT: &str = "bench";

const REDIRECT_URI: &str = "com.example.bench:/signed-in";

/// Files, and links of each: few enough to be read with one or two pages of the database.
const FILES: usize = 16;
const LINKS: usize = 5;

/// The data for the mobile API.
#[derive(Debug)]
pub struct Mobile {
    /// The user who is signed in on all devices.
    pub user: Uuid,
    /// One for each connection, since the refreshes of one session take turns.
    pub devices: Vec<Device>,
    /// The files, each with its links in the order of answers: newest first.
    pub files: Vec<(Uuid, Vec<ShareLink>)>,
}

/// A signed-in device.
#[derive(Debug)]
pub struct Device {
    /// Valid for an hour, which bounds the time that a run may take.
    pub access_token: String,
    /// The first one that it presents.
    pub refresh_token: String,
}

impl Mobile {
    /// Creates the data.
    ///
    /// # Errors
    /// Any error of the store.
    pub(super) async fn make(app: &App, team: TeamId, devices: usize) -> Result<Self, BoxError> {
        let user = app.create_user("bench@example.com", "Bench").await?.id;
        app.add_member(team, user, Role::Member).await?;
        let client = app
            .create_oauth_client(CLIENT, "Bench", &[REDIRECT_URI.to_owned()])
            .await?;
        let devices = stream::iter(0..devices).map(|_| sign_in(app, user, &client));
        let mut files = Vec::new();
        for number in 0..FILES {
            files.push(add_file(app, team, user, number).await?);
        }
        Ok(Self {
            user: user.0,
            devices: devices.buffered(IN_FLIGHT).try_collect().await?,
            files,
        })
    }

    /// The links of a file as the document describes them.
    pub fn published(&self, file: Uuid) -> Value {
        let links = self.files.iter().find(|(id, _)| *id == file);
        let links = links.map_or(&[][..], |(_, links)| links);
        links.iter().map(published).collect()
    }
}

async fn sign_in(app: &App, user: UserId, client: &OauthClient) -> Result<Device, BoxError> {
    let code_verifier = Secret::base64url();
    let challenge = CodeChallenge::of(&code_verifier);
    let issue = || app.issue_auth_code(user, &client.id, REDIRECT_URI, challenge);
    let code = patiently(issue).await?.code;
    let exchange = || {
        app.exchange_token(TokenRequest::AuthorizationCode {
            code: code.clone(),
            code_verifier: code_verifier.clone(),
            redirect_uri: REDIRECT_URI.to_owned(),
            client_id: client.id.clone(),
            device: session::Device::default(),
        })
    };
    let tokens = patiently(exchange).await?;
    Ok(Device {
        access_token: tokens.access_token.reveal().to_owned(),
        refresh_token: tokens.refresh_token.reveal().to_owned(),
    })
}

async fn add_file(
    app: &App,
    team: TeamId,
    user: UserId,
    number: usize,
) -> Result<(Uuid, Vec<ShareLink>), BoxError> {
    let file = app
        .create_file(team, &format!("Offer {number}.pdf"), None)
        .await?;
    let item_id = ItemId::File(file.id);
    for link in 0..LINKS {
        app.create_link(CreateLink {
            item_id,
            user_id: user,
            name: Some(format!("For customer {link}")),
            audience: Audience::Public,
            can_download: true,
            password: None,
            expires_in: None,
        })
        .await?;
    }
    Ok((file.id.0, app.list_links(user, team, item_id).await?))
}

/// A link as the document describes it.
fn published(link: &ShareLink) -> Value {
    json!({
        "id": link.id.0,
        "url": format!("{PUBLIC_URL}/s/{}", link.secret.reveal()),
        "name": link.name,
        "itemType": "file",
        "itemId": link.item_id.uuid(),
        "audience": link.audience.as_str(),
        "permissions": { "canView": true, "canDownload": true },
        "passwordProtected": false,
        "expiresAt": null,
        "status": "active",
        "viewCount": 0,
        "downloadCount": 0,
        "lastViewedAt": null,
        "createdBy": { "id": link.created_by.id.0, "displayName": link.created_by.display_name },
        "createdAt": time(link.created_at),
        "updatedAt": time(link.updated_at),
    })
}
