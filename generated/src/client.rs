//! The client: one base URL, a credential for each API, and the settings that all calls share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use reqwest::{Url, redirect};

use crate::error::{Error, InvalidRequest};
use crate::links::Links;
use crate::openapi::{catalog, mobile};
use crate::products::Products;
use crate::response::Response;
use crate::retry::{Repeat, RetryPolicy};
use crate::session::{Session, SessionStore};
use crate::sessions::Sessions;
use crate::token_source::TokenSource;
use crate::transport::Transport;

/// A client of both APIs.
///
/// It is cheap to clone, and all clones share connections and settings. What it may call depends on
/// its credentials: [`products`](Client::products) needs an API key, [`links`](Client::links) an
/// access token or a session, [`sessions`](Client::sessions) nothing. `Debug` never shows a
/// credential.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::Client;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let base_url = stub.url();
/// let client = Client::builder(base_url).api_key("inv_test_...").build()?;
/// let product = client.products().create("Consulting", "120.00", "EUR").send().await?;
/// assert_eq!(product.unit_price.to_string(), "120.00");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: Arc<str>,
    policy: Arc<RetryPolicy>,
    timeout: Option<Duration>,
    api_key: Option<HeaderValue>,
    mobile: Option<MobileCredential>,
}

#[derive(Clone)]
enum MobileCredential {
    AccessToken(HeaderValue),
    TokenSource(TokenSource),
}

impl Client {
    /// Begins a client of the service at a base URL, such as `https://invoices.example`.
    ///
    /// ```
    /// use invoicing_client::Client;
    ///
    /// let client = Client::builder("https://invoices.example").api_key("inv_live_...").build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            base_url: base_url.into(),
            api_key: None,
            access_token: None,
            token_source: None,
            user_agent: None,
            timeout: None,
            connect_timeout: Duration::from_secs(10),
            policy: RetryPolicy::new(),
            http: None,
        }
    }

    /// The products of the API key's team and mode.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// for product in client.products().list().send().await?.data {
    ///     println!("{} at {} {}", *product.name, product.unit_price, product.currency);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn products(&self) -> Products<'_> {
        Products { client: self }
    }

    /// The share links of a file or folder.
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
    /// # let file = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
    /// let links = client.links().list(team, TargetType::File, file).send().await?;
    /// assert!(!links.has_more);
    /// # Ok(())
    /// # }
    /// ```
    pub fn links(&self) -> Links<'_> {
        Links { client: self }
    }

    /// Signing in: codes and refresh tokens against tokens. Needs no credential.
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
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions { client: self }
    }

    /// This client, acting for the user of a session, which it renews when need be.
    ///
    /// See [`TokenSource`], which this makes, for what the store has to do.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::{Client, InMemory, Pkce};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let (base_url, code, pkce) = (stub.url(), "code", Pkce::generate());
    /// let client = Client::builder(base_url).build()?;
    /// let session = client
    ///     .sessions()
    ///     .exchange_code(code, pkce.verifier(), "com.example.app:/signed-in", "mobile-app")
    ///     .send()
    ///     .await?;
    /// let client = client.with_session(session, InMemory);
    /// # let (team, file) = ("018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00", "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03");
    /// client.links().list(team, "file", file).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_session(&self, session: Session, store: impl SessionStore) -> Client {
        self.with_token_source(TokenSource::new(self, session, store))
    }

    /// This client, acting for the user of a token source.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::{Client, InMemory, TokenSource};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = Client::builder(stub.url()).build()?;
    /// # let session = client.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// let tokens = TokenSource::new(&client, session, InMemory);
    /// let client = client.with_token_source(tokens.clone());
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_token_source(&self, tokens: TokenSource) -> Client {
        Client {
            mobile: Some(MobileCredential::TokenSource(tokens)),
            ..self.clone()
        }
    }

    /// progenitor's own client of the catalog API, with this client's key, retries and settings: for
    /// what this crate has no shorthand for.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] when the client has no API key.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let catalog = client.catalog()?;
    /// let answer = catalog.list_products().send().await?;
    /// assert_eq!(answer.data.data.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn catalog(&self) -> Result<catalog::Client, Error> {
        let key = self.api_key.clone().ok_or_else(|| {
            InvalidRequest::new("api_key", "the client has none; give it to Client::builder")
        })?;
        let transport = self.transport(Some(key), Repeat::ByMethod);
        Ok(catalog::Client::new_with_client(
            &self.base_url,
            self.http.clone(),
            transport,
        ))
    }

    /// progenitor's own client of the mobile API, with a valid access token, retries and settings.
    ///
    /// The token is the one that is valid now: ask again rather than keep the client.
    ///
    /// # Errors
    /// Those of [`TokenSource::access_token`], and [`Error::InvalidRequest`] when the client has
    /// neither an access token nor a token source.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).access_token("...").build()?;
    /// # let team = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
    /// # let file = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";
    /// let mobile = client.mobile().await?;
    /// let call = mobile.list_links().x_team_id(team).target_type("file").id(file);
    /// assert_eq!(call.send().await?.data.data.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn mobile(&self) -> Result<mobile::Client, Error> {
        let authorization = match self.mobile_credential()? {
            MobileCredential::AccessToken(bearer) => bearer.clone(),
            MobileCredential::TokenSource(tokens) => {
                bearer("access_token", &tokens.access_token().await?)?
            }
        };
        Ok(self.mobile_with(Some(authorization), Repeat::ByMethod))
    }

    /// A call with an access token. When the service rejects a token of a token source, it is renewed
    /// and the call made once more: a rejected call was not executed.
    pub(crate) async fn call_mobile<T, E, F>(
        &self,
        send: impl Fn(mobile::Client) -> F,
    ) -> Result<Response<T>, Error>
    where
        F: Future<
            Output = Result<progenitor_client::ResponseValue<T>, progenitor_client::Error<E>>,
        >,
    {
        let tokens = match self.mobile_credential()? {
            MobileCredential::TokenSource(tokens) => tokens,
            MobileCredential::AccessToken(_) => {
                return Ok(send(self.mobile().await?).await?.into());
            }
        };
        let token = tokens.access_token().await?;
        let with = |token: &str| -> Result<mobile::Client, Error> {
            Ok(self.mobile_with(Some(bearer("access_token", token)?), Repeat::ByMethod))
        };
        match send(with(&token)?).await.map_err(Error::from) {
            Err(error) if error.status() == Some(reqwest::StatusCode::UNAUTHORIZED) => {
                let renewed = tokens.replace(&token).await?;
                Ok(send(with(&renewed)?).await?.into())
            }
            result => Ok(result?.into()),
        }
    }

    pub(crate) fn mobile_with(
        &self,
        authorization: Option<HeaderValue>,
        repeat: Repeat,
    ) -> mobile::Client {
        let transport = self.transport(authorization, repeat);
        mobile::Client::new_with_client(&self.base_url, self.http.clone(), transport)
    }

    /// The same client without any credential, for renewing a session.
    pub(crate) fn anonymous(&self) -> Client {
        Client {
            api_key: None,
            mobile: None,
            ..self.clone()
        }
    }

    fn mobile_credential(&self) -> Result<&MobileCredential, InvalidRequest> {
        self.mobile.as_ref().ok_or_else(|| {
            InvalidRequest::new(
                "access_token",
                "the client has neither an access token nor a session; see Client::with_session",
            )
        })
    }

    fn transport(&self, authorization: Option<HeaderValue>, repeat: Repeat) -> Transport {
        Transport {
            policy: self.policy.clone(),
            repeat,
            authorization,
            timeout: self.timeout,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base_url)
            .field("retry", &self.policy)
            .finish_non_exhaustive()
    }
}

/// Makes a [`Client`].
///
/// ```
/// use std::time::Duration;
/// use invoicing_client::{Client, RetryPolicy};
///
/// let client = Client::builder("https://invoices.example")
///     .api_key("inv_live_...")
///     .user_agent("shop-sync/2.1")
///     .timeout(Duration::from_secs(10))
///     .retry(RetryPolicy::new().max_attempts(6))
///     .build()?;
/// # Ok::<(), invoicing_client::Error>(())
/// ```
#[must_use = "a builder makes nothing before `build`"]
#[derive(Clone)]
pub struct ClientBuilder {
    base_url: String,
    api_key: Option<String>,
    access_token: Option<String>,
    token_source: Option<TokenSource>,
    user_agent: Option<String>,
    timeout: Option<Duration>,
    connect_timeout: Duration,
    policy: RetryPolicy,
    http: Option<reqwest::Client>,
}

impl ClientBuilder {
    /// The key for the catalog API.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let client = Client::builder("https://invoices.example").api_key("inv_live_...").build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn api_key(mut self, key: impl Into<String>) -> ClientBuilder {
        self.api_key = Some(key.into());
        self
    }

    /// A token for the mobile API that this client shall not renew. Prefer
    /// [`Client::with_session`], which does.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let client = Client::builder("https://invoices.example").access_token("...").build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn access_token(mut self, token: impl Into<String>) -> ClientBuilder {
        self.access_token = Some(token.into());
        self
    }

    /// Where tokens for the mobile API come from. Goes before
    /// [`access_token`](ClientBuilder::access_token).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # use invoicing_client::{Client, InMemory, TokenSource};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let (base_url, signing_in) = (stub.url(), Client::builder(stub.url()).build()?);
    /// # let session = signing_in.sessions().refresh("refresh-1", "mobile-app").send().await?;
    /// let tokens = TokenSource::new(&signing_in, session, InMemory);
    /// let client = Client::builder(base_url).token_source(tokens).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn token_source(mut self, tokens: TokenSource) -> ClientBuilder {
        self.token_source = Some(tokens);
        self
    }

    /// The program that calls, as a product and version; this crate adds its own behind it.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let client = Client::builder("https://invoices.example").user_agent("shop-sync/2.1").build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn user_agent(mut self, program: impl Into<String>) -> ClientBuilder {
        self.user_agent = Some(program.into());
        self
    }

    /// How long one attempt may take, from connecting to the last byte of the answer; 30 seconds
    /// unless given. [`RetryPolicy::budget`] limits a call as a whole.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let quick = std::time::Duration::from_secs(5);
    /// let client = Client::builder("https://invoices.example").timeout(quick).build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> ClientBuilder {
        self.timeout = Some(timeout);
        self
    }

    /// How long making a connection may take; 10 seconds unless given.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let quick = std::time::Duration::from_secs(2);
    /// let client = Client::builder("https://invoices.example").connect_timeout(quick).build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn connect_timeout(mut self, timeout: Duration) -> ClientBuilder {
        self.connect_timeout = timeout;
        self
    }

    /// When a failed call is tried again; [`RetryPolicy::new`] unless given.
    ///
    /// ```
    /// # use invoicing_client::{Client, RetryPolicy};
    /// let client = Client::builder("https://invoices.example").retry(RetryPolicy::off()).build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn retry(mut self, policy: RetryPolicy) -> ClientBuilder {
        self.policy = policy;
        self
    }

    /// The HTTP client to send by, for a proxy, extra roots or a shared pool. Its own settings take
    /// the place of [`user_agent`](ClientBuilder::user_agent) and
    /// [`connect_timeout`](ClientBuilder::connect_timeout), and of
    /// [`timeout`](ClientBuilder::timeout) unless given here.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let http = reqwest::Client::builder().https_only(true).build().unwrap();
    /// let client = Client::builder("https://invoices.example").http_client(http).build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn http_client(mut self, http: reqwest::Client) -> ClientBuilder {
        self.http = Some(http);
        self
    }

    /// Makes the client. Connects to nothing.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] when the base URL is not one of http or https, or has a query or
    /// fragment, or when a key, token or user agent cannot be sent in a header.
    ///
    /// ```
    /// # use invoicing_client::{Client, Error};
    /// let built = Client::builder("ftp://invoices.example").build();
    /// assert!(matches!(built, Err(Error::InvalidRequest(error)) if error.field == "base_url"));
    /// ```
    pub fn build(self) -> Result<Client, Error> {
        let access_token = self.access_token.as_deref();
        let access_token = access_token
            .map(|token| bearer("access_token", token))
            .transpose()?;
        let mobile = match self.token_source {
            Some(tokens) => Some(MobileCredential::TokenSource(tokens)),
            None => access_token.map(MobileCredential::AccessToken),
        };
        let http = match self.http {
            Some(http) => http,
            None => http_client(
                self.user_agent.as_deref(),
                self.connect_timeout,
                self.timeout,
            )?,
        };
        Ok(Client {
            http,
            base_url: base_url(&self.base_url)?,
            policy: Arc::new(self.policy),
            timeout: self.timeout,
            api_key: self
                .api_key
                .as_deref()
                .map(|key| bearer("api_key", key))
                .transpose()?,
            mobile,
        })
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("base_url", &self.base_url)
            .field("retry", &self.policy)
            .finish_non_exhaustive()
    }
}

fn base_url(text: &str) -> Result<Arc<str>, InvalidRequest> {
    let wrong = |reason: &str| InvalidRequest::new("base_url", reason);
    let url = Url::parse(text).map_err(|error| InvalidRequest::new("base_url", error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it must begin with http:// or https://"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it must have neither a query nor a fragment"));
    }
    Ok(url.as_str().trim_end_matches('/').into())
}

/// The header of a bearer credential, which no debug output shows.
fn bearer(field: &'static str, secret: &str) -> Result<HeaderValue, InvalidRequest> {
    // RFC 6750 leaves no room for white space or other characters; say nothing of what was given.
    let visible = !secret.is_empty() && secret.bytes().all(|byte| byte.is_ascii_graphic());
    let header = HeaderValue::try_from(format!("Bearer {secret}"))
        .ok()
        .filter(|_| visible);
    let mut header = header
        .ok_or_else(|| InvalidRequest::new(field, "it must be visible ASCII, without spaces"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn http_client(
    user_agent: Option<&str>,
    connect_timeout: Duration,
    timeout: Option<Duration>,
) -> Result<reqwest::Client, InvalidRequest> {
    const OWN: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    let user_agent = match user_agent {
        Some(program) => format!("{program} {OWN}"),
        None => OWN.to_owned(),
    };
    let user_agent = HeaderValue::try_from(user_agent)
        .map_err(|error| InvalidRequest::new("user_agent", error))?;
    reqwest::Client::builder()
        .user_agent(user_agent)
        .connect_timeout(connect_timeout)
        .timeout(timeout.unwrap_or(Duration::from_secs(30)))
        // The APIs redirect nowhere, and a followed redirect would turn a POST into a GET.
        .redirect(redirect::Policy::none())
        .build()
        .map_err(|error| InvalidRequest::new("http_client", error))
}
