//! The client: a base URL, a credential for each API, and the settings that all calls share.

use std::fmt;
use std::sync::Arc;

use reqwest::header::HeaderValue;

use crate::builder::{ClientBuilder, bearer};
use crate::error::{Error, InvalidRequest};
use crate::links::Links;
use crate::openapi::{catalog, mobile};
use crate::products::Products;
use crate::response::Response;
use crate::retry::Repeat;
use crate::session::{Session, SessionStore};
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::token_source::TokenSource;
use crate::transport::Transport;

/// A client of both APIs.
///
/// It is cheap to clone, and all clones share connections and settings. What it may call depends on its
/// credentials: [`products`](Client::products) needs an API key, [`links`](Client::links) an access token or
/// a session, [`sessions`](Client::sessions) nothing. `Debug` never shows a credential.
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
    pub(crate) http: reqwest::Client,
    pub(crate) base_url: Arc<str>,
    pub(crate) settings: Settings,
    pub(crate) api_key: Option<HeaderValue>,
    pub(crate) mobile: Option<MobileCredential>,
}

/// The credential for the mobile API.
#[derive(Clone)]
pub(crate) enum MobileCredential {
    AccessToken(HeaderValue),
    TokenSource(TokenSource),
}

impl Client {
    /// Starts building a client of the service at a base URL, such as `https://invoices.example`.
    ///
    /// ```
    /// use invoicing_client::Client;
    ///
    /// let client = Client::builder("https://invoices.example").api_key("inv_live_...").build()?;
    /// # Ok::<(), invoicing_client::Error>(())
    /// ```
    pub fn builder(base_url: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(base_url.into())
    }

    /// Returns the calls for products of the API key's team and mode.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// for product in client.products().list().send().await?.data {
    ///     println!("{} at {} {}", product.name, product.unit_price, product.currency);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn products(&self) -> Products<'_> {
        Products { client: self }
    }

    /// Returns the calls for share links of files and folders.
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

    /// Returns the calls for signing in: they exchange codes and refresh tokens for tokens. Needs no
    /// credential.
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

    /// Returns this client, acting for the user of a session, which it renews when needed.
    ///
    /// This does not save the session: save it as soon as you have it. See [`SessionStore`] for what a store
    /// has to do, and [`SessionFile`](crate::SessionFile) for one that does it.
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

    /// Returns this client, acting for the user whose session is in a store; `None` if no user is signed in.
    ///
    /// # Errors
    /// [`Error::Store`] if the store cannot be read.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::{Client, SessionFile};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = Client::builder(stub.url()).build()?;
    /// match client.with_kept_session(SessionFile::new("session.json")).await? {
    ///     Some(client) => println!("{client:?} acts for a user"),
    ///     None => println!("sign in first"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn with_kept_session(
        &self,
        store: impl SessionStore,
    ) -> Result<Option<Client>, Error> {
        let tokens = TokenSource::open(self, store).await?;
        Ok(tokens.map(|tokens| self.with_token_source(tokens)))
    }

    /// Returns this client, acting for the user of a token source.
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

    /// Returns progenitor's own client of the catalog API, with this client's key, retries and settings: for
    /// what this crate has no shorthand for.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] if the client has no API key.
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
        let transport = self.transport(Some(key));
        Ok(catalog::Client::new_with_client(
            &self.base_url,
            self.http.clone(),
            transport,
        ))
    }

    /// Returns progenitor's own client of the mobile API, with a valid access token, retries and settings.
    ///
    /// The token is the one that is valid now: call this again rather than keep the client.
    ///
    /// # Errors
    /// Those of [`TokenSource::access_token`], and [`Error::InvalidRequest`] if the client has neither an
    /// access token nor a token source.
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
        Ok(self.mobile_with(Some(authorization)))
    }

    /// Makes a call with an access token. If the service rejects a token from a token source, it is renewed
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
            Ok(self.mobile_with(Some(bearer("access_token", token)?)))
        };
        match send(with(&token)?).await.map_err(Error::from) {
            Err(error) if error.status() == Some(reqwest::StatusCode::UNAUTHORIZED) => {
                let renewed = tokens.replace(&token).await?;
                Ok(send(with(&renewed)?).await?.into())
            }
            result => Ok(result?.into()),
        }
    }

    pub(crate) fn mobile_with(&self, authorization: Option<HeaderValue>) -> mobile::Client {
        let transport = self.transport(authorization);
        mobile::Client::new_with_client(&self.base_url, self.http.clone(), transport)
    }

    /// Returns the same client without any credential, for renewing a session.
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

    fn transport(&self, authorization: Option<HeaderValue>) -> Transport {
        Transport {
            settings: self.settings.clone(),
            repeat: Repeat::ByMethod,
            authorization,
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base_url)
            .field("retry", &self.settings.policy)
            .finish_non_exhaustive()
    }
}
