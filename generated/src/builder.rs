//! Building a client from its settings, which are checked.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect;

use crate::attempt::{Attempt, OnAttempt};
use crate::client::{Client, MobileCredential};
use crate::error::{Error, InvalidRequest};
use crate::inputs::Inputs;
use crate::retry::RetryPolicy;
use crate::settings::Settings;
use crate::token_source::TokenSource;

/// The default timeout of an attempt.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The default timeout for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Builds a [`Client`].
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
    connect_timeout: Duration,
    settings: Settings,
    /// Keeps problems with headers until `build`.
    inputs: Inputs,
    http: Option<reqwest::Client>,
}

impl ClientBuilder {
    pub(crate) fn new(base_url: String) -> ClientBuilder {
        ClientBuilder {
            base_url,
            api_key: None,
            access_token: None,
            token_source: None,
            user_agent: None,
            connect_timeout: CONNECT_TIMEOUT,
            settings: Settings {
                policy: Arc::new(RetryPolicy::new()),
                timeout: None,
                headers: HeaderMap::new(),
                on_attempt: None,
            },
            inputs: Inputs::default(),
            http: None,
        }
    }

    /// Sets the key for the catalog API.
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

    /// Sets a token for the mobile API, which this client does not renew. Prefer
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

    /// Sets where tokens for the mobile API come from. Takes precedence over
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

    /// Sets the name of the calling program, as product and version; this crate appends its own.
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

    /// Sets how long one attempt may take, from connecting to the last byte of the response; 30
    /// seconds by default. [`RetryPolicy::budget`] limits a call as a whole.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let quick = std::time::Duration::from_secs(5);
    /// let client = Client::builder("https://invoices.example").timeout(quick).build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> ClientBuilder {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Sets how long making a connection may take; 10 seconds by default.
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

    /// Sets when a failed call is retried; [`RetryPolicy::new`] by default.
    ///
    /// ```
    /// # use invoicing_client::{Client, RetryPolicy};
    /// let client = Client::builder("https://invoices.example").retry(RetryPolicy::off()).build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn retry(mut self, policy: RetryPolicy) -> ClientBuilder {
        self.settings.policy = Arc::new(policy);
        self
    }

    /// Adds a header of your own to every request, such as one that a proxy needs.
    /// [`build`](ClientBuilder::build) refuses headers that the client sends itself.
    ///
    /// ```
    /// # use invoicing_client::Client;
    /// let client = Client::builder("https://invoices.example").header("x-tenant", "shop-7").build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn header<K, V>(mut self, name: K, value: V) -> ClientBuilder
    where
        K: TryInto<HeaderName, Error: Display>,
        V: TryInto<HeaderValue, Error: Display>,
    {
        self.settings.header(&mut self.inputs, name, value);
        self
    }

    /// Sets a callback for each attempt of each call, including renewals of sessions: for metrics,
    /// logs and alarms. It runs within the call, which it delays for as long as it takes.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// # use invoicing_client::Client;
    ///
    /// let retries = Arc::new(AtomicU64::new(0));
    /// let counter = retries.clone();
    /// let client = Client::builder("https://invoices.example")
    ///     .on_attempt(move |attempt| {
    ///         if attempt.retry_in.is_some() {
    ///             counter.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn on_attempt(
        mut self,
        callback: impl Fn(&Attempt<'_>) + Send + Sync + 'static,
    ) -> ClientBuilder {
        self.settings.on_attempt = Some(OnAttempt::new(callback));
        self
    }

    /// Sets the HTTP client, for a proxy, extra roots or a shared pool. Its own settings replace
    /// [`user_agent`](ClientBuilder::user_agent) and
    /// [`connect_timeout`](ClientBuilder::connect_timeout), and also
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

    /// Builds the client. Does not connect.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the base URL is not http or https, or has a user name, a query or
    /// a fragment, if a key, token or user agent cannot be sent in a header, or if a header is invalid
    /// or is the client's own.
    ///
    /// ```
    /// # use invoicing_client::{Client, Error};
    /// let built = Client::builder("ftp://invoices.example").build();
    /// assert!(matches!(built, Err(Error::InvalidRequest(error)) if error.field == "base_url"));
    /// ```
    pub fn build(self) -> Result<Client, Error> {
        self.inputs.check(Some(()))?;
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
                self.settings.timeout,
            )?,
        };
        Ok(Client {
            http,
            base_url: crate::base_url::parse(&self.base_url)?,
            settings: self.settings,
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
            .field("retry", &self.settings.policy)
            .finish_non_exhaustive()
    }
}

/// Returns the header of a bearer credential, which debug output never shows.
pub(crate) fn bearer(field: &'static str, secret: &str) -> Result<HeaderValue, InvalidRequest> {
    // RFC 6750 allows no white space or other characters; the message must not repeat what was given.
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
        .timeout(timeout.unwrap_or(TIMEOUT))
        // The APIs never redirect, and a followed redirect would turn a POST into a GET.
        .redirect(redirect::Policy::none())
        .build()
        .map_err(|error| InvalidRequest::new("http_client", error))
}
