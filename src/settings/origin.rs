//! The address that people type: the origin of the pages (docs/decisions.md, P1).

use std::fmt;
use std::str::FromStr;

use super::oidc::is_loopback;
use super::values::PublicUrl;

/// A scheme, a host and a port, as browsers write them in `Origin` (RFC 6454, section 6.2): in lower case, and without the
/// scheme's default port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    text: String,
    host: String,
    port: u16,
    secure: bool,
}

impl Origin {
    /// As text, to append a path to, or to compare with the header `Origin`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, even if the text leaves it out.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether browsers reach it over TLS.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether it is safe to type a password there: the way cannot be eavesdropped on.
    pub fn may_sign_in(&self) -> bool {
        self.secure || is_loopback(&self.host)
    }

    /// The origin of an address without a path; `None` if it has one.
    pub(super) fn of(url: &PublicUrl) -> Option<Origin> {
        // A `PublicUrl` parses as a URI.
        let uri: http::Uri = url.as_str().parse().ok()?;
        let authority = uri.authority().filter(|_| uri.path() == "/")?;
        let secure = uri.scheme_str() == Some("https");
        let usual = if secure { 443 } else { 80 };
        let port = authority.port_u16().unwrap_or(usual);
        let host = authority.host().to_ascii_lowercase();
        let scheme = if secure { "https" } else { "http" };
        let text = match port == usual {
            true => format!("{scheme}://{host}"),
            false => format!("{scheme}://{host}:{port}"),
        };
        Some(Origin {
            text,
            host,
            port,
            secure,
        })
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Origin, String> {
        let url = text.parse()?;
        Origin::of(&url).ok_or_else(|| {
            "has a path, and an origin has none; write something like https://invoices.example.com"
                .to_owned()
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        text.parse().unwrap()
    }

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for (text, written) in [
            ("https://A.example/", "https://a.example"),
            ("https://a.example:443", "https://a.example"),
            ("http://localhost:80", "http://localhost"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://a.example:80", "https://a.example:80"),
        ] {
            assert_eq!(origin(text).as_str(), written);
        }
        assert_eq!(origin("https://a.example").port(), 443);
        for wrong in ["https://a.example/x", "a.example", "https://a.example?q"] {
            wrong.parse::<Origin>().unwrap_err();
        }
    }

    #[test]
    fn people_sign_in_by_tls_or_on_their_own_machine() {
        for (text, may) in [
            ("https://a.example", true),
            ("http://localhost:8080", true),
            ("http://127.0.0.2", true),
            ("http://[::1]", true),
            ("http://a.example", false),
            ("http://192.0.2.1:8080", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(origin(text).may_sign_in(), may, "{text}");
        }
    }
}
