//! Signing in, and renewing a session, at the token endpoint.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use crate::authorization::AuthorizationUrl;
use crate::client::Client;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::openapi::mobile;
use crate::pkce::Pkce;
use crate::response::Response;
pub use crate::revocation::Revocation;
use crate::session::Session;
use crate::settings::call_settings;
use crate::types::{
    AuthorizationCode, AuthorizationCodeGrant, ClientId, CodeVerifier, InstallId, RedirectUri,
    RefreshToken, RefreshTokenGrant, TokenRequest, UserAgent,
};

/// How long a refresh may be repeated. For 30 seconds after its first use, a spent refresh token gets the same pair again;
/// after that, using it ends the session. The margin is for the network.
const REFRESH_WINDOW: Duration = Duration::from_secs(20);

/// How long one attempt of a refresh may take at most, so that three fit into the window.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(7);

/// Calls that exchange codes and refresh tokens for tokens.
///
/// Signing in takes four steps:
///
/// 1. Make a [`Pkce`], and with it the [address](Sessions::authorization_url) of the page on which the user
///    signs in; open it in the system's browser.
/// 2. The browser is redirected to the redirect URI with a code.
/// 3. [`exchange_code`](Sessions::exchange_code) turns the code and the verifier into a [`Session`].
/// 4. [`Client::with_session`] makes calls with the session and renews it.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Client, Pkce};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let base_url = stub.url();
/// let pkce = Pkce::generate();
/// // ... the browser, with pkce.challenge() ...
/// # let code = "code";
/// let client = Client::builder(base_url).build()?;
/// let session = client
///     .sessions()
///     .exchange_code(code, pkce.verifier(), "com.example.app:/signed-in", "mobile-app")
///     .install_id("phone-1")
///     .send()
///     .await?;
/// println!("signed in: {}", session.user_id);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sessions<'a> {
    pub(crate) client: &'a Client,
}

impl Sessions<'_> {
    /// Starts building the address of the page on which a user signs in to an app. The browser is then redirected to the
    /// redirect URI with a code for [`exchange_code`](Sessions::exchange_code).
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// println!("sign in at {}", page.build()?.url());
    /// # Ok::<_, invoicing_client::Error>(())
    /// ```
    pub fn authorization_url<R, C>(
        self,
        pkce: &Pkce,
        redirect_uri: R,
        client_id: C,
    ) -> AuthorizationUrl
    where
        R: TryInto<RedirectUri, Error: Display>,
        C: TryInto<ClientId, Error: Display>,
    {
        AuthorizationUrl::new(self.client, pkce, redirect_uri, client_id)
    }

    /// Starts exchanging a code for a session. It is attempted once, whatever the retry policy: a second use of a code ends
    /// the session that the first use started.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// # let (code, pkce) = ("code", invoicing_client::Pkce::generate());
    /// let redirect_uri = "com.example.app:/signed-in";
    /// let call = client.sessions().exchange_code(code, pkce.verifier(), redirect_uri, "mobile-app");
    /// let session = call.send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn exchange_code<A, V, R, C>(
        self,
        code: A,
        code_verifier: V,
        redirect_uri: R,
        client_id: C,
    ) -> Exchange
    where
        A: TryInto<AuthorizationCode, Error: Display>,
        V: TryInto<CodeVerifier, Error: Display>,
        R: TryInto<RedirectUri, Error: Display>,
        C: TryInto<ClientId, Error: Display>,
    {
        let mut inputs = Inputs::default();
        let code = inputs.take("code", code);
        let code_verifier = inputs.take("code_verifier", code_verifier);
        let redirect_uri = inputs.take("redirect_uri", redirect_uri);
        let client_id = inputs.take("client_id", client_id);
        let grant = (|| {
            Some(TokenRequest::AuthorizationCodeGrant(
                AuthorizationCodeGrant {
                    grant_type: mobile::types::AuthorizationCodeGrantType::AuthorizationCode,
                    code: code?,
                    code_verifier: code_verifier?,
                    redirect_uri: redirect_uri?,
                    client_id: client_id?,
                    install_id: None,
                    user_agent: None,
                },
            ))
        })();
        Exchange {
            client: self.client.clone(),
            inputs,
            grant,
        }
    }

    /// Starts renewing a session with its refresh token, which is then spent: save the new one before anything else.
    /// [`TokenSource`](crate::TokenSource) does all this.
    ///
    /// It is retried only within 20 seconds of the first attempt, and an attempt takes at most 7 seconds: for 30 seconds a
    /// spent token gets the same pair again, after that using it ends the session.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// assert_eq!(session.refresh_token.as_str(), "refresh-2");
    /// # Ok(())
    /// # }
    /// ```
    pub fn refresh<T, C>(self, refresh_token: T, client_id: C) -> Exchange
    where
        T: TryInto<RefreshToken, Error: Display>,
        C: TryInto<ClientId, Error: Display>,
    {
        let mut inputs = Inputs::default();
        let refresh_token = inputs.take("refresh_token", refresh_token);
        let client_id = inputs.take("client_id", client_id);
        let grant = refresh_token
            .zip(client_id)
            .map(|(refresh_token, client_id)| {
                TokenRequest::RefreshTokenGrant(RefreshTokenGrant {
                    grant_type: mobile::types::RefreshTokenGrantType::RefreshToken,
                    refresh_token,
                    client_id,
                    install_id: None,
                    user_agent: None,
                })
            });
        Exchange {
            client: self.client.clone(),
            inputs,
            grant,
        }
    }

    /// Starts ending a session with its access token or its refresh token, either will do (RFC 7009). This is how an app
    /// signs its user out.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// # let stub = Stub::start(|_| Reply::new(200));
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// client.sessions().revoke(&session.refresh_token, session.client_id).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn revoke<T, C>(self, token: T, client_id: C) -> Revocation
    where
        T: AsRef<str>,
        C: TryInto<ClientId, Error: Display>,
    {
        let mut inputs = Inputs::default();
        let client_id = inputs.take("client_id", client_id);
        Revocation {
            client: self.client.clone(),
            inputs,
            token: token.as_ref().to_owned(),
            client_id,
        }
    }
}

/// A call that exchanges a code or refresh token for a session.
///
/// `Debug` never shows the code, the verifier or a token.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).build()?;
/// let exchange = client.sessions().refresh("refresh-1", "mobile-app").install_id("phone-1");
/// assert!(!format!("{exchange:?}").contains("refresh-1"));
/// let session = exchange.send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Exchange {
    client: Client,
    inputs: Inputs,
    grant: Option<TokenRequest>,
}

impl Exchange {
    call_settings!("sessions().refresh(\"refresh-1\", \"mobile-app\")");

    /// Sets the installation of the app, in up to 128 characters. A session that started with one can only be renewed with
    /// the same.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// let call = client.sessions().refresh("refresh-1", "mobile-app").install_id("phone-1");
    /// ```
    pub fn install_id<V>(mut self, install_id: V) -> Exchange
    where
        V: TryInto<InstallId, Error: Display>,
    {
        let value = self.inputs.take("install_id", install_id);
        match &mut self.grant {
            Some(TokenRequest::AuthorizationCodeGrant(grant)) => grant.install_id = value,
            Some(TokenRequest::RefreshTokenGrant(grant)) => grant.install_id = value,
            None => {}
        }
        self
    }

    /// Sets the name by which users know the app, in up to 512 characters.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// let call = client.sessions().refresh("refresh-1", "mobile-app").user_agent("Invoices 3.2, Pixel 9");
    /// ```
    pub fn user_agent<V>(mut self, user_agent: V) -> Exchange
    where
        V: TryInto<UserAgent, Error: Display>,
    {
        let value = self.inputs.take("user_agent", user_agent);
        match &mut self.grant {
            Some(TokenRequest::AuthorizationCodeGrant(grant)) => grant.user_agent = value,
            Some(TokenRequest::RefreshTokenGrant(grant)) => grant.user_agent = value,
            None => {}
        }
        self
    }

    /// Makes the exchange.
    ///
    /// # Errors
    /// [`Error::OAuth`], with [`OAuthCode::InvalidGrant`](crate::OAuthCode::InvalidGrant) if the code or token is not valid,
    /// and any other [`Error`] except [`Error::Api`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// assert_eq!(session.client_id.as_str(), "mobile-app");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<Session, Error> {
        Ok(self.send_for_response().await?.value)
    }

    /// Makes the exchange, and also returns the headers.
    ///
    /// # Errors
    /// As for [`send`](Exchange::send).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).build()?;
    /// let call = client.sessions().refresh("refresh-1", "mobile-app");
    /// assert_eq!(call.send_for_response().await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_for_response(self) -> Result<Response<Session>, Error> {
        let grant = self.inputs.check(self.grant)?;
        let mut mobile = self.client.mobile_with(None);
        let (client_id, install_id) = match &grant {
            // A POST without an idempotency key: attempted once.
            TokenRequest::AuthorizationCodeGrant(it) => {
                (it.client_id.clone(), it.install_id.clone())
            }
            TokenRequest::RefreshTokenGrant(it) => {
                mobile.inner.repeat_within(REFRESH_WINDOW, REFRESH_TIMEOUT);
                (it.client_id.clone(), it.install_id.clone())
            }
        };
        // The lifetime starts here at the earliest, so the session is taken for older rather than younger than it is.
        let asked = SystemTime::now();
        let answer = Response::from(mobile.exchange_token().body(grant).send().await?);
        Ok(answer.map(|tokens| Session::new(tokens, client_id, install_id, asked)))
    }
}
