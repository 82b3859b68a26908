//! The client of the OpenID provider by which people sign in (docs/decisions.md, P25 to P29 and V10; OpenID Connect Core
//! 1.0, section 3.1).
//!
//! 1. Its metadata and keys are fetched when they are needed (OpenID Connect Discovery 1.0), kept for an hour, and fetched
//!    again, once a minute at most, when an ID token is signed by an unknown key. When the provider does not answer, people
//!    are told, the next try is two seconds later, and few wait for it at once (`turns`).
//! 2. A user who signs in goes there with a state, a nonce and the challenge of a PKCE verifier (RFC 7636, S256). To
//!    confirm, they are asked to sign in there again (`prompt=login`, `max_age=0`); so are those who want to be another user
//!    here, and those whom an app wants to sign in again (`prompt=login`). For all others, the provider is only asked when
//!    they signed in there (`max_age`, as long as a session of ours lasts).
//! 3. They come back with a code. If the provider has said who it is (`iss`, RFC 9207), or has promised to, it has to be
//!    this one. The code is exchanged with the verifier and the client's secret.
//! 4. The ID token that comes for it is checked as section 3.1.3.7 requires: signed by a key of the provider in one of
//!    [`ALGORITHMS`], which are all asymmetric; issuer; audience, which is this client alone, and so is `azp` if it is
//!    present; not expired, and issued since they left, give or take [`LEEWAY`], and [`DATED_BACK`]; nonce.
//! 5. To confirm, `auth_time` has to be since they left. Section 2 requires it, as `max_age` is sent. A provider that does
//!    not say that it knows the claim (`claims_supported`) may leave it out: then only `prompt=login` makes it ask again.
//!    One that does may not: the person at the browser can take `max_age` and `prompt` out of the address. For any other
//!    purpose, it is when the user has proven who they are, and without it they have not done so recently: a provider lets
//!    users who are signed in there pass without asking.
//! 6. What is known of them is what the ID token says. The user info endpoint is not asked, and tokens for it are dropped.

mod clock;
mod codes;
mod error;
mod fetch;
mod metadata;
mod turns;

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use openidconnect::core::{
    CoreAuthPrompt, CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod,
    CoreErrorResponseType, CoreIdToken, CoreIdTokenClaims, CoreJwsSigningAlgorithm,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, StandardErrorResponse, TokenResponse,
};
use serde_json::Value;

use crate::domain;
use crate::domain::authentication_request::{AuthenticationRequest, Purpose};
use crate::domain::browser_session::LIFETIME;
use crate::domain::id::UserId;
use crate::domain::identity::Claims;
use crate::domain::time::Timestamp;
use crate::log::Throttle;
use crate::settings::{Oidc, Origin};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
pub(crate) use error::Error;
use error::short;
use fetch::{Fetch, FetchError};
use metadata::{Known, Metadata};
pub(crate) use turns::Turn;
use turns::Turns;

/// How an ID token may be signed: by keys of which the provider alone has the private half. Not `none`, and not HS256, whose
/// key is the client's secret.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// How far the clock of a provider may be from ours.
const LEEWAY: chrono::TimeDelta = chrono::TimeDelta::minutes(2);

/// How far a provider may date a token back.
const DATED_BACK: chrono::TimeDelta = chrono::TimeDelta::minutes(10);

/// Where people come back to.
pub(crate) const CALLBACK: &str = "/sign-in/callback";

/// The provider.
#[derive(Debug)]
pub(crate) struct Provider {
    settings: Oidc,
    redirect: RedirectUrl,
    fetch: Fetch,
    known: Known,
    turns: Turns,
    /// How often it did not answer, for the log.
    pub(crate) failures: Throttle,
    /// How often it did not prove who a user is.
    pub(crate) refusals: Throttle,
    /// How often it did not accept a code; strangers can cause that, and it says nothing about the others.
    pub(crate) codes: Throttle,
    /// How often too many waited for it.
    pub(crate) crowds: Throttle,
}

impl Provider {
    /// Returns the provider of the settings; nothing is asked of it yet.
    ///
    /// # Errors
    /// Why no requests could be sent.
    pub(crate) fn new(
        settings: Oidc,
        origin: &Origin,
        max_concurrent_requests: u32,
    ) -> Result<Provider, String> {
        let redirect = RedirectUrl::new(format!("{}{CALLBACK}", origin.as_str()));
        Ok(Provider {
            redirect: redirect.map_err(|error| error.to_string())?,
            fetch: Fetch::new(settings.issuer.is_secure())?,
            known: Known::default(),
            turns: Turns::new(max_concurrent_requests),
            failures: Throttle::default(),
            refusals: Throttle::default(),
            codes: Throttle::default(),
            crowds: Throttle::default(),
            settings,
        })
    }

    /// What people call it.
    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Returns its issuer.
    pub(crate) fn issuer(&self) -> &str {
        self.settings.issuer.as_str()
    }

    /// Asks it for its metadata, if they are not known.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) async fn check(&self) -> Result<(), Error> {
        let found = self.known.find(&self.fetch, &self.settings.issuer, None);
        found.await.map(drop)
    }

    /// Takes a turn to wait for the provider, for a caller at this address, until it is dropped.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub(crate) fn turn(&self, address: IpAddr) -> Result<Turn<'_>, Error> {
        self.turns.take(address).ok_or(Error::Busy)
    }

    /// The same, for a caller who brings a code, in a browser to which this user came back before, if any did.
    ///
    /// # Errors
    /// [`Error::Busy`], also when that user, and strangers at that address too, have brought too many.
    pub(crate) fn turn_with_code(
        &self,
        address: IpAddr,
        returning: Option<UserId>,
    ) -> Result<Turn<'_>, Error> {
        let turn = self.turns.take_with_code(address, returning);
        turn.ok_or(Error::Busy)
    }

    /// Returns where to send a user at this address: step 2. `anew` says whether they are to sign in there again.
    ///
    /// # Errors
    /// [`Error::Unavailable`]; [`Error::Busy`].
    pub(crate) async fn authorization_url(
        &self,
        request: &AuthenticationRequest,
        anew: bool,
        address: IpAddr,
    ) -> Result<String, Error> {
        let found = self.known.find(&self.fetch, &self.settings.issuer, None);
        let found = match self.known.is_there() {
            true => found.await,
            false => self.turn(address)?.wait(found).await,
        };
        let client = CoreClient::from_provider_metadata(
            (*found?).clone(),
            ClientId::new(self.settings.client_id.clone()),
            None,
        );
        let client = client.set_redirect_uri(self.redirect.clone());
        let [state, nonce] = [&request.state, &request.nonce].map(|it| it.reveal().to_owned());
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier(request));
        let url = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .add_scopes(["email", "profile"].map(|it| Scope::new(it.to_owned())))
            .add_extra_param("response_mode", "query")
            .set_pkce_challenge(challenge);
        let url = match request.purpose {
            Purpose::Confirm(_) => url
                .add_prompt(CoreAuthPrompt::Login)
                .set_max_age(std::time::Duration::ZERO),
            _ if anew => url.add_prompt(CoreAuthPrompt::Login).set_max_age(LIFETIME),
            _ => url.set_max_age(LIFETIME),
        };
        Ok(url.url().0.into())
    }

    /// Returns who has come back with this code, and has this turn: steps 3 to 6. `iss` is what came with it.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub(crate) async fn claims(
        &self,
        turn: &mut Turn<'_>,
        request: &AuthenticationRequest,
        code: String,
        iss: Option<&str>,
    ) -> Result<Claims, Error> {
        let metadata = self.known.find(&self.fetch, &self.settings.issuer, None);
        let metadata = turn.wait(metadata).await?;
        let promised = metadata.additional_metadata().is_promised();
        if iss.map_or(promised, |it| it != self.issuer()) {
            let came = short(iss.unwrap_or("nobody"));
            return Err(Error::Unproven(format!("the code is from {came:?}")));
        }
        let exchange = self.exchange(&metadata, request, code);
        let token = turn.send(exchange).await?;
        let checked = self.check_token(&metadata, request, &token);
        let claims = match checked {
            Err(Refusal::UnknownKey(_)) => {
                let seen = Some(&metadata);
                let newer = self.known.find(&self.fetch, &self.settings.issuer, seen);
                let newer = turn.wait(newer).await?;
                self.check_token(&newer, request, &token)
            }
            checked => checked,
        };
        let claims = claims.map_err(|(Refusal::UnknownKey(why) | Refusal::Wrong(why))| {
            Error::Unproven(short(&why))
        })?;
        turn.note_account(&claims.subject);
        Ok(claims)
    }

    /// Step 3.
    async fn exchange(
        &self,
        metadata: &Metadata,
        request: &AuthenticationRequest,
        code: String,
    ) -> Result<CoreIdToken, Error> {
        let methods = metadata.token_endpoint_auth_methods_supported();
        // Without a list it is the first of these (OpenID Connect Discovery, section 3).
        let takes = |method| methods.is_none_or(|all| all.contains(&method));
        let by_header = takes(CoreClientAuthMethod::ClientSecretBasic);
        let client = CoreClient::from_provider_metadata(
            metadata.clone(),
            ClientId::new(self.settings.client_id.clone()),
            Some(ClientSecret::new(
                self.settings.client_secret.reveal().to_owned(),
            )),
        )
        .set_redirect_uri(self.redirect.clone())
        .set_auth_type(match by_header {
            true => AuthType::BasicAuth,
            false => AuthType::RequestBody,
        });
        let exchange = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|error| Error::Unavailable(error.to_string()))?
            .set_pkce_verifier(verifier(request));
        let answer = exchange.request_async(&self.fetch).await;
        let answer = answer.map_err(of_exchange)?;
        let token = answer.id_token().cloned();
        token.ok_or_else(|| Error::Unproven("no ID token came for the code".into()))
    }

    /// Steps 4 to 6.
    fn check_token(
        &self,
        metadata: &Metadata,
        request: &AuthenticationRequest,
        token: &CoreIdToken,
    ) -> Result<Claims, Refusal> {
        let client_id = ClientId::new(self.settings.client_id.clone());
        let client = CoreClient::from_provider_metadata(metadata.clone(), client_id.clone(), None);
        let left = time(request.begun_at) - LEEWAY;
        let knows = metadata.claims_supported();
        let knows_auth_time =
            knows.is_some_and(|all| all.iter().any(|it| it.as_str() == "auth_time"));
        let verifier = client
            .id_token_verifier()
            .set_allowed_algs(ALGORITHMS)
            // Some write `typ: JWT`, some nothing, some what is theirs alone; it was asked for by its purpose.
            .allow_all_jose_types()
            // Some providers date it back by minutes, for clients whose clocks are behind.
            .set_issue_time_verifier_fn(|made| is_since(left - DATED_BACK, made))
            .set_auth_time_verifier_fn(|signed_in| match (&request.purpose, signed_in) {
                (Purpose::Confirm(_), Some(at)) => is_since(left, at),
                (Purpose::Confirm(_), None) if knows_auth_time => {
                    Err("it does not say when they signed in (auth_time)".into())
                }
                _ => Ok(()),
            });
        let nonce = Nonce::new(request.nonce.reveal().to_owned());
        let claims = token.claims(&verifier, &nonce).map_err(Refusal::from)?;
        if claims.authorized_party().is_some_and(|it| *it != client_id) {
            return Err(Refusal::Wrong("it is for another client (azp)".into()));
        }
        self.used(token, claims)
    }

    /// Step 6.
    fn used(&self, token: &CoreIdToken, claims: &CoreIdTokenClaims) -> Result<Claims, Refusal> {
        let name = claims.name().and_then(|names| names.get(None));
        let used = Claims::new(
            self.issuer().to_owned(),
            claims.subject().to_string(),
            claims.email().map(|it| it.as_str()),
            is_verified(&token.to_string()),
            name.map(|it| it.to_string()),
            // A time in the future says nothing.
            claims
                .auth_time()
                .filter(|it| *it <= Utc::now() + LEEWAY)
                .map(|it| Timestamp::from_millis(it.timestamp_millis())),
        );
        used.map_err(|error: domain::Error| Refusal::Wrong(error.to_string()))
    }
}

/// Returns whether an ID token, which is checked already, has `email_verified` as the boolean true. The library accepts a
/// string as well, so that providers that write one can sign people in whose identity is linked.
fn is_verified(token: &str) -> bool {
    let payload = token.split('.').nth(1);
    let payload = payload.and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
    let claims = payload.and_then(|it| serde_json::from_slice::<Value>(&it).ok());
    claims.is_some_and(|it| it["email_verified"] == Value::Bool(true))
}

/// Why an ID token proves nothing.
enum Refusal {
    /// No known key has signed it.
    UnknownKey(String),
    Wrong(String),
}

impl From<ClaimsVerificationError> for Refusal {
    fn from(error: ClaimsVerificationError) -> Refusal {
        use SignatureVerificationError::{CryptoError, NoMatchingKey};
        let text = error.to_string();
        match error {
            // Keys without an id can only be told apart by what they have signed.
            ClaimsVerificationError::SignatureVerification(
                why @ (NoMatchingKey | CryptoError(_)),
            ) => Refusal::UnknownKey(format!("{text}: {why}")),
            ClaimsVerificationError::SignatureVerification(why) => {
                Refusal::Wrong(format!("{text}: {why}"))
            }
            _ => Refusal::Wrong(text),
        }
    }
}

fn of_exchange(
    error: RequestTokenError<FetchError, StandardErrorResponse<CoreErrorResponseType>>,
) -> Error {
    match error {
        RequestTokenError::Request(error) => Error::Unavailable(error.to_string()),
        RequestTokenError::ServerResponse(said) => match said.error() {
            CoreErrorResponseType::InvalidGrant => Error::InvalidCode(short(&said.to_string())),
            _ => Error::Unproven(short(&said.to_string())),
        },
        // What came is not repeated: it may have a token in it.
        RequestTokenError::Parse(error, _) => {
            let at = short(&error.path().to_string());
            Error::Unavailable(format!("its answer to a code cannot be read, at {at}"))
        }
        RequestTokenError::Other(said) => Error::Unavailable(short(&said)),
    }
}

fn verifier(request: &AuthenticationRequest) -> PkceCodeVerifier {
    PkceCodeVerifier::new(request.verifier.reveal().to_owned())
}

fn time(at: Timestamp) -> DateTime<Utc> {
    at.to_datetime()
}

fn is_since(left: DateTime<Utc>, at: DateTime<Utc>) -> Result<(), String> {
    let now = Utc::now() + LEEWAY;
    match left <= at && at <= now {
        true => Ok(()),
        false => Err(format!("{at} is not between {left} and {now}")),
    }
}
