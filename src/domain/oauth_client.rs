//! OAuth clients: the apps that may sign users in (RFC 6749, 2).
//!
//! A mobile app cannot keep a secret, so every client is public: it is named, not authenticated. What
//! protects a user is that a code goes to a redirect URI registered here, compared exactly (RFC 9700,
//! 2.1), and is worth nothing without its verifier. Each client may use both grants.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use super::Error;
use super::time::Timestamp;

/// The longest client id: it comes in requests, so its length is bounded.
const ID_LENGTH: usize = 255;
/// The longest redirect URI: browsers and proxies carry a URL of this length everywhere.
const REDIRECT_URI_LENGTH: usize = 2048;

/// Identifies an OAuth client. It is chosen when the client is made, and public.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientId(String);

impl ClientId {
    /// Takes over an id that a caller presents; only the store knows whether there is such a client.
    pub fn new(id: impl Into<String>) -> ClientId {
        ClientId(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClientId {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(ClientId::new(text))
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An app that may sign users in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OauthClient {
    /// Identifies it.
    pub id: ClientId,
    /// What people call it.
    pub name: String,
    /// Where codes may be sent; at least one, without repetition.
    pub redirect_uris: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl OauthClient {
    /// The error for an id that no client has; the command line shows it.
    pub(crate) fn missing(id: &ClientId) -> Error {
        Error::Missing {
            noun: "OAuth client",
            id: id.to_string(),
            remedy: "`invoicing oauth-client list` shows the clients",
        }
    }

    /// The error for an id that is taken; the command line shows it.
    pub(crate) fn exists(id: &ClientId) -> Error {
        Error::Refused(format!(
            "an OAuth client {id} exists already; choose another id"
        ))
    }

    /// The error for an id that is taken by the remains of a deleted client; the command line shows it.
    pub(crate) fn being_deleted(id: &ClientId) -> Error {
        Error::Refused(format!(
            "an OAuth client {id} is being deleted; wait until `invoicing oauth-client delete {id}` is done, or choose \
             another id"
        ))
    }

    /// The error for a redirect URI that is not registered; the command line shows it.
    pub(crate) fn foreign_redirect_uri(id: &ClientId, uri: &str) -> Error {
        Error::Refused(format!(
            "{uri:?} is no redirect URI of the OAuth client {id}; it must equal a registered one in every character, but \
             for the port of http on 127.0.0.1 or [::1]"
        ))
    }
}

/// RFC 6749, A.1, without the space, which would be invisible at the end of an id.
pub(crate) fn parse_id(text: &str) -> Result<ClientId, Error> {
    let is_id =
        (1..=ID_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    match is_id {
        true => Ok(ClientId::new(text)),
        false => Err(Error::Refused(format!(
            "{text:?} is no client id; use 1 to {ID_LENGTH} visible ASCII characters without spaces"
        ))),
    }
}

pub(crate) fn parse_redirect_uris(texts: &[String]) -> Result<Vec<String>, Error> {
    let mut uris = Vec::new();
    for text in texts {
        if !is_redirect_uri(text) {
            return Err(Error::Refused(format!(
                "{text:?} is no redirect URI of an app; write an absolute URI without a fragment, in a scheme of the \
                 app's own that has a dot (com.example.app:/signed-in), https, or http on 127.0.0.1 or [::1]"
            )));
        }
        if !uris.contains(text) {
            uris.push(text.clone());
        }
    }
    match uris.is_empty() {
        true => Err(Error::Refused(
            "an OAuth client needs a redirect URI; give at least one".into(),
        )),
        false => Ok(uris),
    }
}

/// RFC 6749, 3.1.2: absolute, no fragment; and only the schemes that a code may be sent to (docs/decisions.md, A5).
pub(super) fn is_redirect_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let scheme_char = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    scheme.starts_with(|char: char| char.is_ascii_alphabetic())
        && scheme.chars().all(scheme_char)
        && !rest.is_empty()
        && may_have_codes(&scheme.to_ascii_lowercase(), text)
        && text.len() <= REDIRECT_URI_LENGTH
        && text.bytes().all(may_be_in_uri)
        && text.split('%').skip(1).all(is_escape)
}

/// RFC 3986, 2: the characters of a URI without a fragment.
fn may_be_in_uri(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&byte)
}

/// RFC 3986, 2.1: what follows a percent sign.
fn is_escape(rest: &str) -> bool {
    let digits = rest.as_bytes().first_chunk::<2>();
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// Whether a code may be sent to a URI of this scheme: encrypted, within the machine (RFC 8252, 7.3), or to an app
/// whose scheme is the name of a domain (RFC 8252, 7.1), which rules out `javascript:` and `data:`.
fn may_have_codes(scheme: &str, uri: &str) -> bool {
    match scheme {
        "https" => {
            let authority = uri.split_once("://").map(|(_, rest)| rest);
            authority.is_some_and(|rest| !rest.starts_with(['/', '?']) && !rest.is_empty())
        }
        "http" => around_port(uri).is_some(),
        _ => scheme.contains('.'),
    }
}

/// Whether a code may be sent to `uri`, given the registered URIs (docs/decisions.md, A3): it must equal one of them in
/// every character. A desktop app listens on whatever port is free (RFC 8252, 7.3), so in an `http` URI on a loopback
/// address the port may differ, and nothing else.
pub(crate) fn is_registered(registered: &[String], uri: &str) -> bool {
    let around = around_port(uri);
    registered
        .iter()
        .any(|it| it == uri || (around.is_some() && around_port(it) == around))
}

/// What comes before and after the port of an `http` URI on a loopback address; `None` for any other URI.
fn around_port(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    let authority = rest.split(['/', '?']).next()?;
    let port = ["127.0.0.1", "[::1]"]
        .into_iter()
        .find_map(|address| authority.strip_prefix(address))?;
    let is_port = port.strip_prefix(':').is_some_and(|digits| {
        digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
    });
    let end = scheme.len() + "://".len() + authority.len();
    (port.is_empty() || is_port).then(|| (&uri[..end - port.len()], &uri[end..]))
}

/// Address and port of an `http` URI on a loopback address; `None` for any other URI.
pub(super) fn loopback_authority(uri: &str) -> Option<&str> {
    let (_, behind) = around_port(uri)?;
    let (_, rest) = uri.strip_suffix(behind)?.split_once("://")?;
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_is_absolute_without_fragment_in_a_scheme_that_may_have_codes() {
        for right in [
            "https://app.example.com/cb?x=1&y=%C3%BC",
            "com.example.app:/cb",
            "http://127.0.0.1:4000/",
            "http://127.0.0.1/",
            "HTTP://[::1]:8080?x=1",
            "Com.Example.app:cb",
        ] {
            assert!(is_redirect_uri(right), "{right}");
        }
        for wrong in [
            "",
            "/cb",
            "https:",
            "1a:b",
            "https://a/#f",
            "https://a/ b",
            "https://a/ü",
            "https://a/\"><script>",
            "https://b.example\\@a/",
            "https://a/%zz",
            "https://a/%2",
            "a b:c",
            "app:/cb",
            "javascript:alert(1)",
            "data:text/html,x",
            "https:app",
            "https:///cb",
            "http://localhost:4000/",
            "http://example.com/cb",
            "http://127.0.0.1.example.com/",
            "http://127.0.0.1:4000x/",
            "http://127.0.0.14000/",
            "http://me@127.0.0.1/",
            "http://127.0.0.1@example.com/",
            "http:127.0.0.1",
            "http://[::1].a/",
        ] {
            assert!(!is_redirect_uri(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_redirect_uri_is_registered_in_every_character_but_a_loopback_port() {
        let registered = [
            "http://127.0.0.1:4000/cb",
            "http://[::1]/cb?x=1",
            "https://example.com:1/cb",
            "com.example.app:/cb",
        ];
        let registered = registered.map(str::to_owned);
        for right in [
            "http://127.0.0.1:4000/cb",
            "http://127.0.0.1:53121/cb",
            "http://127.0.0.1/cb",
            "http://[::1]:65535/cb?x=1",
            "https://example.com:1/cb",
            "com.example.app:/cb",
        ] {
            assert!(is_registered(&registered, right), "{right}");
        }
        for wrong in [
            "http://127.0.0.1:65536/cb",
            "http://127.0.0.1:+80/cb",
            "http://127.0.0.1:/cb",
            "http://127.0.0.1:4000/cb/",
            "http://127.0.0.1:4000/CB",
            "http://127.0.0.1:4000/cb?x=1",
            "HTTP://127.0.0.1:4000/cb",
            "http://[::1]:1/cb",
            "http://me@127.0.0.1:4000/cb",
            "http://127.0.0.1:4000@example.com/cb",
            "http://127.0.0.2:4000/cb",
            "http://localhost:4000/cb",
            "https://127.0.0.1:4000/cb",
            "https://example.com:2/cb",
            "com.example.app:/cb/",
        ] {
            assert!(!is_registered(&registered, wrong), "{wrong}");
        }
    }

    #[test]
    fn redirect_uris_are_at_least_one_and_not_repeated() {
        let uris = |texts: &[&str]| {
            parse_redirect_uris(&texts.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            uris(&["a.a:b", "a.a:c", "a.a:b"]).unwrap(),
            ["a.a:b", "a.a:c"]
        );
        assert!(uris(&[]).is_err());
    }

    #[test]
    fn a_client_id_is_visible_ascii() {
        assert!(parse_id("ios-app").is_ok());
        for wrong in ["", "a b", "ä", "a\n", &"x".repeat(256)] {
            assert!(parse_id(wrong).is_err(), "{wrong:?}");
        }
    }
}
