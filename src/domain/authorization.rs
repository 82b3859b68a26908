//! Authorization requests: an app sends a browser here to have a user signed in (RFC 6749, 4.1.1, with RFC 7636, 8252
//! and 9207; docs/decisions.md, A1 to A12).
//!
//! 1. The parameters are read from the query. A parameter without a value counts as not sent (RFC 6749, 3.1), and
//!    unknown ones are ignored, however often they come.
//! 2. The client and the destination of the answer must be certain: `client_id` and `redirect_uri`, each once, name a
//!    client that exists and a URI that it has registered. Otherwise the error is shown in the browser, and nothing is
//!    sent anywhere: the URI may be an attacker's.
//! 3. Any other error is reported to the app (RFC 6749, 4.1.2.1), with its `state`, unless that is what is wrong.
//! 4. A repeated parameter is an error, and so is a `state` or a whole request too long to be carried through a
//!    sign-in.
//! 5. `response_type` is `code`.
//! 6. There is a code challenge, and its method is S256 (RFC 7636, 4.4.1).
//! 7. The result is carried through the sign-in in a form of our own: the same request, with only what was understood.
//! 8. An answer is appended to the redirect URI, which keeps its own query (RFC 6749, 3.1.2); it has no fragment. It
//!    names its issuer (`iss`), so that a client of several servers cannot be made to mix them up.

use form_urlencoded::Serializer;

use super::auth_code::CodeChallenge;
use super::browser_session::BrowserSession;
use super::id::BrowserSessionId;
use super::oauth_client::{
    ClientId, OauthClient, is_redirect_uri, is_registered, loopback_authority, parse_id,
};

/// How many parameters are read.
const PARAMETERS: usize = 100;

/// The longest `state` that is sent back to the app; what apps send has about 40 characters.
const STATE_LENGTH: usize = 2_048;
/// The longest request in the form of step 7: it goes through the sign-in page as part of a URL.
const LENGTH: usize = 7_000;
/// The longest hint that could be the email of a user.
const HINT_LENGTH: usize = 254;
/// A parameter of our own: the session whose user was asked to sign in again, so that they are not asked a second time.
const ASKED_IN: &str = "asked_in_session";

/// The parameters of a request, not judged yet: step 1.
#[derive(Clone, Debug, Default)]
pub struct AuthorizationParameters {
    client_id: Sent,
    redirect_uri: Sent,
    response_type: Sent,
    code_challenge: Sent,
    code_challenge_method: Sent,
    state: Sent,
    login_hint: Sent,
    prompt: Sent,
    asked_in: Sent,
}

/// A parameter.
#[derive(Clone, Debug, Default)]
enum Sent {
    #[default]
    Never,
    Once(String),
    Repeated,
}

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// Show this in the browser; the app learns nothing.
    Stop(&'static str),
    /// Report the error to the app.
    Refuse(Refusal),
    /// Ask the user.
    Ask(Box<AuthorizationRequest>, OauthClient),
}

/// A request that the app got wrong or the user refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    to: ReturnAddress,
    error: &'static str,
    description: &'static str,
}

/// Where an answer to an app goes, and the `state` by which the app recognises it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReturnAddress {
    redirect_uri: String,
    state: Option<String>,
}

/// A valid request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// The app.
    pub client_id: ClientId,
    /// The challenge that the verifier of the exchange must answer.
    pub challenge: CodeChallenge,
    /// The email that the app expects, if it expects one.
    pub login_hint: Option<String>,
    to: ReturnAddress,
    /// The challenge as it was sent.
    challenge_text: String,
    signs_in_anew: bool,
    asked_in: Option<BrowserSessionId>,
}

/// Where the code takes the user, as shown to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'a> {
    /// A web site, by its host.
    Site(&'a str),
    /// A program that listens on the user's own device, by address and port.
    Device(&'a str),
    /// An app on the user's device, by its scheme.
    App(&'a str),
}

impl AuthorizationParameters {
    /// Reads the first hundred parameters: step 1.
    pub fn parse(query: &str) -> AuthorizationParameters {
        let mut read = AuthorizationParameters::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()).take(PARAMETERS) {
            let parameter = match &*name {
                "client_id" => &mut read.client_id,
                "redirect_uri" => &mut read.redirect_uri,
                "response_type" => &mut read.response_type,
                "code_challenge" => &mut read.code_challenge,
                "code_challenge_method" => &mut read.code_challenge_method,
                "state" => &mut read.state,
                "login_hint" => &mut read.login_hint,
                "prompt" => &mut read.prompt,
                ASKED_IN => &mut read.asked_in,
                _ => continue,
            };
            if !value.is_empty() {
                *parameter = match parameter {
                    Sent::Never => Sent::Once(value.into_owned()),
                    _ => Sent::Repeated,
                };
            }
        }
        read
    }

    /// The client that asks, as far as the request alone tells: the start of step 2.
    ///
    /// # Errors
    /// The message to show in the browser.
    pub fn client_id(&self) -> Result<ClientId, &'static str> {
        let Sent::Once(id) = &self.client_id else {
            return Err("The app has to say once who it is (client_id).");
        };
        parse_id(id).map_err(|_| UNKNOWN_CLIENT)
    }

    /// Steps 2 to 6; `client` is the one with this [`client_id`](AuthorizationParameters::client_id).
    pub fn rule(self, client: Option<OauthClient>) -> Ruling {
        let Some(client) = client else {
            return Ruling::Stop(UNKNOWN_CLIENT);
        };
        let Sent::Once(redirect_uri) = &self.redirect_uri else {
            return Ruling::Stop("The app has to say once where you go next (redirect_uri).");
        };
        if !is_redirect_uri(redirect_uri) || !is_registered(&client.redirect_uris, redirect_uri) {
            return Ruling::Stop(
                "You would be sent to an address that is not registered for the app (redirect_uri).",
            );
        }
        let state = self.state.once().filter(|it| it.len() <= STATE_LENGTH);
        let to = ReturnAddress {
            redirect_uri: redirect_uri.clone(),
            state: state.map(str::to_owned),
        };
        match self.judge(&client, to.clone()) {
            Ok(request) => Ruling::Ask(Box::new(request), client),
            Err((error, description)) => Ruling::Refuse(Refusal {
                to,
                error,
                description,
            }),
        }
    }

    /// Steps 4 to 6.
    fn judge(
        self,
        client: &OauthClient,
        to: ReturnAddress,
    ) -> Result<AuthorizationRequest, (&'static str, &'static str)> {
        let invalid = |description| ("invalid_request", description);
        let others = [
            &self.response_type,
            &self.code_challenge,
            &self.code_challenge_method,
            &self.state,
            &self.login_hint,
            &self.prompt,
            &self.asked_in,
        ];
        if others.iter().any(|it| matches!(it, Sent::Repeated)) {
            return Err(invalid("a parameter is given more than once"));
        }
        if self.state.once() != to.state.as_deref() {
            return Err(invalid("state is longer than 2048 bytes"));
        }
        match self.response_type.once() {
            None => return Err(invalid("response_type is missing")),
            Some("code") => {}
            Some(_) => return Err(("unsupported_response_type", "response_type must be code")),
        }
        let Some(challenge_text) = self.code_challenge.once() else {
            return Err(invalid("code_challenge is missing (RFC 7636)"));
        };
        if self.code_challenge_method.once() != Some("S256") {
            return Err(invalid("code_challenge_method must be S256 (RFC 7636)"));
        }
        let challenge = challenge_text.parse().map_err(|_| {
            invalid("code_challenge must be BASE64URL(SHA256(verifier)), 43 characters")
        })?;
        let hint = self.login_hint.once().filter(|it| it.len() <= HINT_LENGTH);
        let asked_in = self.asked_in.once().and_then(|it| it.parse().ok());
        let prompts = self.prompt.once().unwrap_or_default();
        let request = AuthorizationRequest {
            client_id: client.id.clone(),
            challenge,
            login_hint: hint.map(str::to_owned),
            to,
            challenge_text: challenge_text.to_owned(),
            signs_in_anew: prompts.split(' ').any(|it| it == "login"),
            asked_in,
        };
        match request.query().len() <= LENGTH {
            true => Ok(request),
            false => Err(invalid("the request is too long")),
        }
    }
}

const UNKNOWN_CLIENT: &str = "No app of this name is registered here (client_id).";

impl Sent {
    fn once(&self) -> Option<&str> {
        match self {
            Sent::Once(value) => Some(value),
            _ => None,
        }
    }
}

impl AuthorizationRequest {
    /// Where the code goes.
    pub fn redirect_uri(&self) -> &str {
        &self.to.redirect_uri
    }

    /// The same, for the user.
    pub fn destination(&self) -> Destination<'_> {
        let uri = self.redirect_uri();
        if let Some(authority) = loopback_authority(uri) {
            return Destination::Device(authority);
        }
        let (scheme, rest) = uri.split_once(':').unwrap_or((uri, ""));
        if !scheme.eq_ignore_ascii_case("https") {
            return Destination::App(scheme);
        }
        let authority = rest.trim_start_matches('/').split(['/', '?']).next();
        // Browsers end the host at a backslash.
        let authority = authority.and_then(|it| it.split('\\').next());
        let host = authority.and_then(|it| it.rsplit('@').next());
        Destination::Site(host.unwrap_or_default())
    }

    /// Step 7: the query of the request.
    pub fn query(&self) -> String {
        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client_id.as_str())
            .append_pair("redirect_uri", self.redirect_uri())
            .append_pair("code_challenge", &self.challenge_text)
            .append_pair("code_challenge_method", "S256");
        let others = [
            ("state", &self.to.state),
            ("login_hint", &self.login_hint),
            ("prompt", &self.signs_in_anew.then(|| "login".to_owned())),
            (ASKED_IN, &self.asked_in.map(|it| it.to_string())),
        ];
        for (name, value) in others {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }

    /// Whether the user of this session must sign in again first (`prompt=login`). A sign-in starts a session, so it is
    /// done once the session is not the one in which it was asked for.
    pub fn asks_to_sign_in(&self, session: &BrowserSession) -> bool {
        self.signs_in_anew && self.asked_in.is_none_or(|it| it == session.id)
    }

    /// Whether the app wants the user to sign in again, and they have not done so yet.
    pub fn signs_in_anew(&self) -> bool {
        self.signs_in_anew
    }

    /// The same request, once the user of this session is asked to sign in again.
    #[must_use]
    pub fn asked_in(self, session: Option<&BrowserSession>) -> AuthorizationRequest {
        AuthorizationRequest {
            // If no user is signed in now, the one who comes back has just signed in.
            signs_in_anew: self.signs_in_anew && session.is_some(),
            asked_in: session.map(|it| it.id).filter(|_| self.signs_in_anew),
            ..self
        }
    }

    /// The redirect URI with this code; `iss` is the origin of this server.
    pub fn approved(&self, code: &str, iss: &str) -> String {
        self.to.with(&[("code", code)], iss)
    }

    /// The answer to the app when the user cancels.
    pub fn cancelled(&self) -> Refusal {
        Refusal {
            to: self.to.clone(),
            error: "access_denied",
            description: "the user has refused",
        }
    }
}

impl Refusal {
    /// The redirect URI with this error; `iss` is the origin of this server.
    pub fn location(&self, iss: &str) -> String {
        let told = [
            ("error", self.error),
            ("error_description", self.description),
        ];
        self.to.with(&told, iss)
    }
}

impl ReturnAddress {
    fn with(&self, answer: &[(&str, &str)], iss: &str) -> String {
        let state = self.state.as_deref().map(|it| ("state", it));
        let all = answer.iter().copied().chain(state).chain([("iss", iss)]);
        redirection(&self.redirect_uri, all)
    }
}

/// Step 8. Spaces become `%20`, which parsers of forms and parsers of URIs both accept.
pub fn redirection<'a>(
    redirect_uri: &str,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(parameters);
    let query = query.finish().replace('+', "%20");
    let separator = match redirect_uri.contains('?') {
        true if redirect_uri.ends_with(['?', '&']) => "",
        true => "&",
        false => "?",
    };
    format!("{redirect_uri}{separator}{query}")
}

#[cfg(test)]
mod tests;
