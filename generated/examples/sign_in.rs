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
//! The sign-in page of the demo asks nothing, so this program can be browser and app in one: an app opens the page
//! in the system's browser, and is called back by the system. If the file already has a session, there is no
//! sign-in.

use std::error::Error;

use invoicing_client::{Client, Pkce, Session, SessionFile, SessionStore};
use reqwest::Url;
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;

const CLIENT_ID: &str = "demo-app";
const REDIRECT_URI: &str = "com.example.demo:/signed-in";
const INSTALL_ID: &str = "example-laptop";
const TEAM: &str = "01900000-0000-7000-8000-000000000001";
const FILE: &str = "01900000-0000-7000-8000-000000000003";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a file")?;
    // An app may have a better place: the system's keychain, through a `SessionStore` of its own.
    let store = SessionFile::new(path);
    let url = std::env::var("INVOICING_BASE_URL").unwrap_or("http://127.0.0.1:8080".to_owned());
    let client = Client::builder(&url).build()?;
    // From here on the session renews itself, and each new pair of tokens is saved before it is used. Two such
    // programs that share a file do not end each other's session.
    let client = match client.with_kept_session(store.clone()).await? {
        Some(client) => client,
        None => client.with_session(sign_in(&client, &url, &store).await?, store),
    };
    let links = client.links().list(TEAM, "file", FILE).send().await?;
    for link in links.data {
        let name = link.name.as_deref().unwrap_or("(no name)");
        println!("{name}: {}", link.url.as_str());
    }
    Ok(())
}

async fn sign_in(
    client: &Client,
    url: &str,
    store: &SessionFile,
) -> Result<Session, Box<dyn Error>> {
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

/// Goes where the browser would, and extracts the code from the address that it would be redirected to.
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
