//! Sessions: docs/decisions.md, "Codes and sessions". The doc comment of a test begins with the decisions that it
//! proves.

mod access_token;
mod cleanup;
mod client;
mod code;
mod counts;
mod end;
mod grace;
mod list;
mod model;
mod operator;
mod refresh;
mod revocation;
mod secrecy;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use invoicing::domain::auth_code::{CodeChallenge, IssuedAuthCode};
use invoicing::domain::id::UserId;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::secret::{Digest, Secret};
use invoicing::domain::session::{Device, SignedIn, TokenRequest, TokenSet};
use invoicing::domain::user::User;
use invoicing::app::App;
use invoicing::domain::Error;

use super::support::Service;

const REDIRECT_URI: &str = "com.example.app:/signed-in";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// A service with two clients, `app` and `other`, and a user.
pub struct Mobile {
    pub service: Service,
    pub user: User,
}

impl std::ops::Deref for Mobile {
    type Target = App;

    fn deref(&self) -> &App {
        &self.service.app
    }
}

impl Mobile {
    pub async fn new() -> Mobile {
        Mobile::on(Service::new().await).await
    }

    /// The same, on this service.
    pub async fn on(service: Service) -> Mobile {
        for client in ["app", "other"] {
            let uris = [REDIRECT_URI.to_owned(), "https://example.com/cb".to_owned()];
            let made = service.app.create_oauth_client(client, "An app", &uris);
            made.await.unwrap();
        }
        let user = service.app.create_user("ada@example.com", "Ada");
        let user = user.await.unwrap();
        Mobile { service, user }
    }

    pub fn pass(&self, seconds: u64) {
        self.service.clock.advance(Duration::from_secs(seconds));
    }

    /// A code for the client `app`, whose verifier is [`VERIFIER`].
    pub async fn code(&self) -> Secret {
        self.issue().await.unwrap().code
    }

    pub async fn issue(&self) -> Result<IssuedAuthCode, Error> {
        let app = ClientId::new("app");
        self.issue_auth_code(self.user.id, &app, REDIRECT_URI, challenge(VERIFIER))
            .await
    }

    /// Exchanges a [`code`](Mobile::code), with everything right.
    pub async fn exchange(&self, code: &Secret) -> Result<TokenSet, Error> {
        self.exchange_token(Exchange::of(code).into()).await
    }

    /// A session of any user.
    pub async fn sign_in_as(&self, user_id: UserId) -> TokenSet {
        let (app, challenge) = (ClientId::new("app"), challenge(VERIFIER));
        let issued = self.issue_auth_code(user_id, &app, REDIRECT_URI, challenge);
        self.exchange(&issued.await.unwrap().code).await.unwrap()
    }

    /// A session that was started on the installation `phone`.
    pub async fn sign_in(&self) -> TokenSet {
        let request = Exchange::of(&self.code().await).install(Some("phone"));
        self.exchange_token(request.into()).await.unwrap()
    }

    /// Refreshes as the app on `phone` does.
    pub async fn refresh(&self, token: &Secret) -> Result<TokenSet, Error> {
        self.exchange_token(refresh(token, "app", Some("phone")))
            .await
    }

    /// Whether the access token still works.
    async fn is_alive(&self, tokens: &TokenSet) -> bool {
        match self.authenticate_access_token(&tokens.access_token).await {
            Ok(SignedIn { user_id, .. }) => user_id == self.user.id,
            Err(Error::InvalidToken) => false,
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn challenge(verifier: &str) -> CodeChallenge {
    let digest = Digest::of(verifier.as_bytes());
    URL_SAFE_NO_PAD.encode(digest.as_bytes()).parse().unwrap()
}

/// The exchange of a code with everything right, until a test makes something wrong.
#[derive(Clone)]
struct Exchange {
    code: Secret,
    code_verifier: &'static str,
    redirect_uri: &'static str,
    client_id: &'static str,
    device: Device,
}

impl Exchange {
    fn of(code: &Secret) -> Exchange {
        Exchange {
            code: code.clone(),
            code_verifier: VERIFIER,
            redirect_uri: REDIRECT_URI,
            client_id: "app",
            device: Device::default(),
        }
    }

    fn install(mut self, install_id: Option<&str>) -> Exchange {
        self.device.install_id = install_id.map(str::to_owned);
        self
    }
}

impl From<Exchange> for TokenRequest {
    fn from(exchange: Exchange) -> TokenRequest {
        TokenRequest::AuthorizationCode {
            code: exchange.code,
            code_verifier: Secret::from_text(exchange.code_verifier),
            redirect_uri: exchange.redirect_uri.into(),
            client_id: ClientId::new(exchange.client_id),
            device: exchange.device,
        }
    }
}

fn refresh(token: &Secret, client_id: &str, install_id: Option<&str>) -> TokenRequest {
    TokenRequest::RefreshToken {
        refresh_token: token.clone(),
        client_id: ClientId::new(client_id),
        device: Device {
            install_id: install_id.map(str::to_owned),
            user_agent: None,
            client_address: None,
        },
    }
}

#[track_caller]
fn assert_invalid_grant(result: Result<TokenSet, Error>) {
    assert!(matches!(result, Err(Error::InvalidGrant)), "{result:?}");
}

/// Asserts `invalid_grant` with the session ended.
#[track_caller]
pub fn assert_reused(result: Result<TokenSet, Error>) {
    assert!(matches!(result, Err(Error::GrantReused(_))), "{result:?}");
}

#[track_caller]
fn assert_invalid_client(result: Result<TokenSet, Error>) {
    assert!(matches!(result, Err(Error::InvalidClient)), "{result:?}");
}

/// Both tokens of a pair, for comparison.
pub fn pair(tokens: &TokenSet) -> (&str, &str) {
    (tokens.access_token.reveal(), tokens.refresh_token.reveal())
}
