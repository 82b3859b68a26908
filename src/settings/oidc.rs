//! The OpenID provider with which people sign in (docs/decisions.md, P25).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::domain::secret::Secret;

/// The provider, once all that it needs is set.
#[derive(Clone, Debug)]
pub struct Oidc {
    /// Its identifier.
    pub issuer: Issuer,
    /// This service's id at the provider.
    pub client_id: String,
    /// The secret with which this service authenticates there.
    pub client_secret: Secret,
    /// The provider's name for people.
    pub name: String,
}

/// An issuer (OpenID Connect Core, section 2), written exactly as the provider writes it: `https`, without query and
/// fragment; on this machine also `http`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    text: String,
    host: String,
    secure: bool,
}

impl Issuer {
    /// As text, to compare with what the provider sends.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether it is reached over TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

impl FromStr for Issuer {
    type Err = String;

    fn from_str(text: &str) -> Result<Issuer, String> {
        const EXAMPLE: &str = "write it as the provider does, like https://accounts.example.com";
        let uri: http::Uri = text
            .parse()
            .map_err(|_| format!("is not a URL; {EXAMPLE}"))?;
        let secure = text.starts_with("https://");
        let authority = uri.authority().map_or("", |it| it.as_str());
        let host = uri.host().unwrap_or_default().to_owned();
        let here = text.starts_with("http://") && is_loopback(&host);
        if !secure && !here {
            return Err(format!("does not begin with https://; {EXAMPLE}"));
        }
        if host.is_empty() || authority.contains('@') {
            return Err(format!("needs a host and no user name; {EXAMPLE}"));
        }
        if text.contains(['?', '#']) || text.len() > 500 {
            return Err(format!(
                "has a query or a fragment, or is too long; {EXAMPLE}"
            ));
        }
        Ok(Issuer {
            text: text.to_owned(),
            host,
            secure,
        })
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses a client id or secret: printable ASCII, as RFC 6749, appendix A, requires.
pub(super) fn credential(text: &str) -> Result<String, String> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    match !text.is_empty() && text.len() <= 1_000 && is_plain {
        true => Ok(text.to_owned()),
        false => Err("write 1 to 1,000 printable ASCII characters".to_owned()),
    }
}

/// As [`credential`], for a secret that is never printed.
pub(super) fn secret(text: &str) -> Result<Secret, String> {
    credential(text).map(Secret::from_text)
}

/// Parses the provider's name for people.
pub(super) fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    let fits = (1..=60).contains(&text.chars().count()) && !text.contains(char::is_control);
    match fits {
        true => Ok(text.to_owned()),
        false => Err("write 1 to 60 characters, such as `Example Inc.`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_reached_by_tls_or_is_on_this_machine() {
        for text in [
            "https://accounts.example.com",
            "https://a.example/realms/b/",
            "http://127.0.0.1:9000",
            "http://[::1]:9000",
            "http://localhost:9000/x",
        ] {
            assert_eq!(text.parse::<Issuer>().unwrap().as_str(), text);
        }
        for wrong in [
            "",
            "a.example",
            "http://a.example",
            "http://localhost.example",
            "https://u:p@a.example",
            "https://a.example?b",
            "https://a.example#b",
            "ftp://localhost",
        ] {
            wrong.parse::<Issuer>().unwrap_err();
        }
    }

    #[test]
    fn a_secret_is_printed_nowhere() {
        let secret = secret("hunter2").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert!(!super::secret("a\nb").unwrap_err().contains("a\nb"));
    }
}
