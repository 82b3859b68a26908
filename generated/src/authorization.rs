//! The page on which an app's user signs in, and the redirect that follows (RFC 6749, section 4.1; RFC 7636, 8252 and 9207).
//! It is not in any OpenAPI document, and this crate sends nothing here: a browser does.
//!
//! 1. The app builds the address of the page, with a [`Pkce`] that it keeps, and opens it in the system's browser.
//! 2. The user signs in there and approves.
//! 3. The browser is redirected to the app's redirect URI. The redirect belongs to this request, and comes from this
//!    service, only if it has the same `state` and names the service as `iss`; anything else is foreign, and has no code.
//! 4. The code is exchanged, with the verifier.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;

use crate::base_url;
use crate::client::Client;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::pkce::Pkce;
use crate::types::{ClientId, RedirectUri};

/// The path of the page.
const PATH: &str = "/api/auth/mobile/authorize";

/// Builds the address of the page on which a user signs in to an app.
///
/// ```
/// use invoicing_client::{Client, Pkce};
///
/// # fn main() -> Result<(), invoicing_client::Error> {
/// let client = Client::builder("https://invoices.example").build()?;
/// let pkce = Pkce::generate();
/// let page = client
///     .sessions()
///     .authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app")
///     .login_hint("ada@example.com")
///     .build()?;
/// assert!(page.url().starts_with("https://invoices.example/api/auth/mobile/authorize?"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "there is no address before `build`"]
pub struct AuthorizationUrl {
    inputs: Inputs,
    origin: String,
    challenge: String,
    redirect_uri: Option<RedirectUri>,
    client_id: Option<ClientId>,
    state: String,
    login_hint: Option<String>,
    signs_in_anew: bool,
}

impl AuthorizationUrl {
    pub(crate) fn new<R, C>(
        client: &Client,
        pkce: &Pkce,
        redirect_uri: R,
        client_id: C,
    ) -> AuthorizationUrl
    where
        R: TryInto<RedirectUri, Error: fmt::Display>,
        C: TryInto<ClientId, Error: fmt::Display>,
    {
        let mut inputs = Inputs::default();
        let mut bits = [0; 32];
        // As for a verifier: a system without randomness cannot make a TLS connection either.
        getrandom::fill(&mut bits).expect("the system has randomness");
        AuthorizationUrl {
            redirect_uri: inputs.take("redirect_uri", redirect_uri),
            client_id: inputs.take("client_id", client_id),
            inputs,
            origin: client.base_url.as_ref().to_owned(),
            challenge: pkce.challenge(),
            state: URL_SAFE_NO_PAD.encode(bits),
            login_hint: None,
            signs_in_anew: false,
        }
    }

    /// Sets the address at which users reach the service, if it is not the client's base URL: the service's setting
    /// `origin`.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("http://127.0.0.1:8080").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// let page = page.origin("http://localhost:8080").build().unwrap();
    /// assert!(page.url().starts_with("http://localhost:8080/api/"));
    /// ```
    pub fn origin(mut self, origin: &str) -> AuthorizationUrl {
        match base_url::parse(origin) {
            Ok(origin) => self.origin = origin.as_ref().to_owned(),
            Err(error) => self.inputs.refuse("origin", error.reason),
        }
        self
    }

    /// Sets a `state` of the app's own, of 2,048 bytes at most, in place of a random one. It must be impossible to guess, or
    /// an attacker can sign the user in as someone else.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// assert_eq!(page.state("kept-earlier").build().unwrap().state(), "kept-earlier");
    /// ```
    pub fn state(mut self, state: impl Into<String>) -> AuthorizationUrl {
        self.state = state.into();
        if self.state.is_empty() || self.state.len() > 2_048 {
            self.inputs.refuse("state", "it has 1 to 2048 bytes");
        }
        self
    }

    /// Sets the email that the user will sign in with, if the app knows it: the page is pre-filled with it.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// let page = page.login_hint("ada@example.com").build().unwrap();
    /// assert!(page.url().contains("login_hint=ada%40example.com"));
    /// ```
    pub fn login_hint(mut self, email: impl Into<String>) -> AuthorizationUrl {
        self.login_hint = Some(email.into());
        self
    }

    /// Makes the user sign in again, even if already signed in to the browser (`prompt=login`).
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// assert!(page.signing_in_anew().build().unwrap().url().ends_with("&prompt=login"));
    /// ```
    pub fn signing_in_anew(mut self) -> AuthorizationUrl {
        self.signs_in_anew = true;
        self
    }

    /// Builds the address.
    ///
    /// # Errors
    /// [`Error::InvalidRequest`] names the input that is wrong.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// assert!(page.build()?.url().contains(&pkce.challenge()));
    /// # Ok::<_, invoicing_client::Error>(())
    /// ```
    pub fn build(self) -> Result<Authorization, Error> {
        let both = self.redirect_uri.as_deref().zip(self.client_id.as_deref());
        let (redirect_uri, client_id) = self.inputs.check(both)?;
        let page = format!("{}{PATH}", self.origin);
        // The base URL of a client is a URL, and so is an origin, or `check` has refused it.
        let mut url = Url::parse(&page).expect("a URL and a path are a URL");
        let issuer = url.origin().ascii_serialization();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_challenge", &self.challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", &self.state);
        if let Some(hint) = &self.login_hint {
            query.append_pair("login_hint", hint);
        }
        if self.signs_in_anew {
            query.append_pair("prompt", "login");
        }
        drop(query);
        Ok(Authorization {
            url: url.into(),
            issuer,
            state: self.state,
        })
    }
}

/// A sign-in in progress in a browser.
///
/// ```
/// use invoicing_client::{AuthorizationError, Client, Pkce};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::builder("https://invoices.example").build()?;
/// # let pkce = Pkce::generate();
/// let page = client
///     .sessions()
///     .authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app")
///     .build()?;
/// // ... the browser opens page.url(), and the system calls the app with what comes back:
/// # let state = page.state();
/// # let came = format!("com.example.app:/signed-in?code=c&state={state}&iss=https%3A%2F%2Finvoices.example");
/// let code = page.code(&came)?;
/// # assert_eq!(code, "c");
/// # let came = format!("com.example.app:/signed-in?error=access_denied&state={state}&iss=https%3A%2F%2Finvoices.example");
/// # assert!(matches!(page.code(&came), Err(AuthorizationError::Refused { error, .. }) if error == "access_denied"));
/// // What is not an answer of this service to this request has no code.
/// assert_eq!(page.code("com.example.app:/signed-in?code=c&state=x"), Err(AuthorizationError::Foreign));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    url: String,
    issuer: String,
    state: String,
}

impl Authorization {
    /// Returns the address to open in the system's browser.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// println!("sign in at {}", page.build()?.url());
    /// # Ok::<_, invoicing_client::Error>(())
    /// ```
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the value that identifies the redirect, for apps that are closed while the browser is in front. They keep it,
    /// with the verifier, and restore the same sign-in from it with [`AuthorizationUrl::state`].
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// assert_eq!(page.build()?.state().len(), 43);
    /// # Ok::<_, invoicing_client::Error>(())
    /// ```
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Extracts the code from the address that the browser was redirected to.
    ///
    /// # Errors
    /// [`AuthorizationError`].
    ///
    /// ```
    /// # use invoicing_client::AuthorizationError;
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// # let pkce = invoicing_client::Pkce::generate();
    /// # let page = client.sessions().authorization_url(&pkce, "com.example.app:/signed-in", "mobile-app");
    /// # let page = page.build().unwrap();
    /// assert_eq!(page.code("com.example.app:/signed-in?code=c"), Err(AuthorizationError::Foreign));
    /// ```
    pub fn code(&self, returned: &str) -> Result<String, AuthorizationError> {
        let url = Url::parse(returned).map_err(|_| AuthorizationError::Foreign)?;
        let once = |name: &str| {
            let mut values = url.query_pairs().filter(|(it, _)| it == name);
            let value = values.next().map(|(_, value)| value.into_owned());
            value.filter(|_| values.next().is_none())
        };
        let is = |name, expected: &str| once(name).is_some_and(|it| it == expected);
        if !is("state", &self.state) || !is("iss", &self.issuer) {
            return Err(AuthorizationError::Foreign);
        }
        match (once("code"), once("error")) {
            (Some(code), None) => Ok(code),
            (None, Some(error)) => Err(AuthorizationError::Refused {
                error,
                description: once("error_description").unwrap_or_default(),
            }),
            _ => Err(AuthorizationError::Foreign),
        }
    }
}

/// Why a redirect contains no code.
///
/// ```
/// use invoicing_client::AuthorizationError;
///
/// let error = AuthorizationError::Refused {
///     error: "access_denied".to_owned(),
///     description: "the user has refused".to_owned(),
/// };
/// assert_eq!(error.to_string(), "the sign-in was refused: access_denied (the user has refused)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthorizationError {
    /// The user cancelled (`access_denied`), or the app's request was wrong.
    Refused {
        /// The code of RFC 6749, section 4.1.2.1.
        error: String,
        /// What it means, for the app's author.
        description: String,
    },
    /// It does not belong to this request, or does not come from this service: ignore it, and wait for the right one.
    Foreign,
}

impl fmt::Display for AuthorizationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { error, description } => {
                write!(f, "the sign-in was refused: {error} ({description})")
            }
            Self::Foreign => f.write_str("this is no answer of the service to this sign-in"),
        }
    }
}

impl std::error::Error for AuthorizationError {}
