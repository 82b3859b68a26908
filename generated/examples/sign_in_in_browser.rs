//! Signs a user in as a desktop program does: in the system's browser, which is redirected to a port of 127.0.0.1 (RFC
//! 8252, section 7.3).
//!
//! In one terminal, a service to try it with, which prints an email and a password:
//!
//! ```sh
//! cargo run -- demo --fixed
//! ```
//!
//! In another, with the service's own address (its setting `origin`):
//!
//! ```sh
//! INVOICING_ORIGIN=http://localhost:8080 cargo run -p invoicing-client --example sign_in_in_browser
//! ```
//!
//! Open the address that it prints.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use invoicing_client::{Authorization, AuthorizationError, Client, Pkce};

const CLIENT_ID: &str = "demo-app";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("INVOICING_BASE_URL").unwrap_or("http://127.0.0.1:8080".to_owned());
    let origin = std::env::var("INVOICING_ORIGIN").unwrap_or(url.clone());
    let client = Client::builder(&url).build()?;
    // Any port: http://127.0.0.1/signed-in is registered.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let redirect_uri = format!("http://{}/signed-in", listener.local_addr()?);
    let pkce = Pkce::generate();
    let page = client
        .sessions()
        .authorization_url(&pkce, &redirect_uri[..], CLIENT_ID)
        .origin(&origin)
        .build()?;
    println!("Sign in at {}", page.url());

    let code = code(&listener, &page)?;
    let session = client
        .sessions()
        .exchange_code(code, pkce.verifier(), redirect_uri, CLIENT_ID)
        .user_agent("sign_in_in_browser example")
        .send()
        .await?;
    println!("signed in as {}", session.user_id);
    client
        .sessions()
        .revoke(&session.refresh_token, CLIENT_ID)
        .send()
        .await?;
    println!("signed out");
    Ok(())
}

/// Waits for the browser. Other programs may call the port too: anything that does not belong to this sign-in is ignored.
fn code(listener: &TcpListener, page: &Authorization) -> Result<String, AuthorizationError> {
    loop {
        let Ok((mut stream, _)) = listener.accept() else {
            continue;
        };
        let code = match target(&stream) {
            Ok(target) => page.code(&format!("http://127.0.0.1{target}")),
            Err(_) => continue,
        };
        let text = match &code {
            Ok(_) => "You are signed in. You can close this page.",
            Err(AuthorizationError::Foreign) => "There is nothing here.",
            Err(_) => "You are not signed in.",
        };
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        // The code counts even if the browser does not wait for the response.
        let _ = stream.write_all(answer.as_bytes());
        if code != Err(AuthorizationError::Foreign) {
            return code;
        }
    }
}

/// The target of a request: the second word of its first line.
fn target(stream: &TcpStream) -> std::io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut line = String::new();
    BufReader::new(stream.take(8_192)).read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default();
    Ok(target.to_owned())
}
