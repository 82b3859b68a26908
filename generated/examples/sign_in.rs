//! Signs a user in with PKCE, keeps the session in a file, and lists the share links of an item.
//!
//! In one terminal, a service to try it with:
//!
//! ```sh
//! cargo run -- demo --fixed
//! ```
//!
//! In another:
//!
//! ```sh
//! cargo run -p invoicing-client --example sign_in -- session.json
//! ```
//!
//! The demo has a sign-in page that asks nothing, so that this program can be browser and app in one: an app opens
//! the page in the system's browser, and is called back by the system. When the file has a session already, nobody
//! has to sign in.

use std::error::Error;
use std::path::PathBuf;

use invoicing_client::{Client, Pkce, Session, SessionStore};
use reqwest::Url;
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use tokio::fs;

const CLIENT_ID: &str = "demo-app";
const REDIRECT_URI: &str = "com.example.demo:/signed-in";
const INSTALL_ID: &str = "example-laptop";
const TEAM: &str = "01900000-0000-7000-8000-000000000001";
const FILE: &str = "01900000-0000-7000-8000-000000000003";

/// Where the session is kept. An app has a better place: the keychain of its system.
#[derive(Clone)]
struct Kept(PathBuf);

impl SessionStore for Kept {
    type Error = std::io::Error;

    /// Replaces the file at once, so that no crash leaves half a session.
    async fn save(&self, session: &Session) -> std::io::Result<()> {
        let new = self.0.with_extension("new");
        fs::write(&new, serde_json::to_vec(session)?).await?;
        fs::File::open(&new).await?.sync_all().await?;
        fs::rename(&new, &self.0).await
    }

    async fn forget(&self) -> std::io::Result<()> {
        fs::remove_file(&self.0).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Kept(std::env::args_os().nth(1).ok_or("name a file")?.into());
    let url = std::env::var("INVOICING_BASE_URL").unwrap_or("http://127.0.0.1:8080".to_owned());
    let client = Client::builder(&url).build()?;
    let session = match fs::read(&store.0).await {
        Ok(kept) => serde_json::from_slice(&kept)?,
        Err(_) => sign_in(&client, &url, &store).await?,
    };

    // From here on the session renews itself, and each new pair of tokens is kept before it is used.
    let client = client.with_session(session, store);
    let links = client.links().list(TEAM, "file", FILE).send().await?;
    for link in links.data {
        let name = link.name.as_deref().unwrap_or("(no name)");
        println!("{name}: {}", link.url);
    }
    Ok(())
}

async fn sign_in(client: &Client, url: &str, store: &Kept) -> Result<Session, Box<dyn Error>> {
    let pkce = Pkce::generate();
    let code = authorize(url, &pkce).await?;
    let session = client
        .sessions()
        .exchange_code(code, pkce.verifier(), REDIRECT_URI, CLIENT_ID)
        .install_id(INSTALL_ID)
        .send()
        .await?;
    store.save(&session).await?;
    println!("signed in as {}", session.user_id);
    Ok(session)
}

/// Goes where the browser would, and takes the code off the address that it would be sent to.
async fn authorize(url: &str, pkce: &Pkce) -> Result<String, Box<dyn Error>> {
    let page = Url::parse_with_params(
        &format!("{url}/demo/authorize"),
        [
            ("response_type", "code"),
            ("client_id", CLIENT_ID),
            ("redirect_uri", REDIRECT_URI),
            ("code_challenge", &pkce.challenge()),
            ("code_challenge_method", "S256"),
        ],
    )?;
    let browser = reqwest::Client::builder()
        .redirect(Policy::none())
        .build()?;
    let answer = browser.get(page).send().await?;
    let Some(sent_to) = answer.headers().get(LOCATION) else {
        return Err(answer.text().await?.into());
    };
    let sent_to = Url::parse(sent_to.to_str()?)?;
    let code = sent_to.query_pairs().find(|(name, _)| name == "code");
    let (_, code) = code.ok_or("there is no code in the address")?;
    Ok(code.into_owned())
}
