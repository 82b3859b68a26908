//! The origins whose pages may call the service from a browser.

use std::str::FromStr;

/// Origins (RFC 6454) as browsers write them, separated by commas; `*` for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CorsOrigins {
    /// No other origin.
    #[default]
    None,
    /// These origins.
    Listed(Vec<String>),
    /// All origins.
    Any,
}

impl CorsOrigins {
    /// Whether pages of `origin`, the value of the header `Origin`, may call the service.
    pub fn contains(&self, origin: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Listed(origins) => origins.iter().any(|it| it.as_bytes() == origin),
            Self::Any => true,
        }
    }
}

impl FromStr for CorsOrigins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::None);
        }
        let entries = text.split(',').map(str::trim);
        let origins: Vec<_> = entries.map(origin).collect::<Result<_, _>>()?;
        Ok(match origins.iter().any(|it| it == "*") {
            true => Self::Any,
            false => Self::Listed(origins),
        })
    }
}

/// Parses one origin. What a browser would never send is refused, since it would match nothing.
fn origin(text: &str) -> Result<String, String> {
    const EXAMPLE: &str = "write something like https://app.example.com";
    if text == "*" {
        return Ok(text.to_owned());
    }
    let authority = [("https://", ":443"), ("http://", ":80")]
        .into_iter()
        .find_map(|(scheme, port)| Some((text.strip_prefix(scheme)?, port)));
    let Some((authority, default_port)) = authority else {
        return Err(format!(
            "`{text}` begins with neither https:// nor http://; {EXAMPLE}"
        ));
    };
    let parsed: Option<http::uri::Authority> = authority.parse().ok();
    let host = parsed.as_ref().map_or("", |it| it.host());
    if host.is_empty() || authority.contains(['@', '*']) {
        return Err(format!(
            "`{text}` is no scheme, host and port alone; {EXAMPLE}"
        ));
    }
    if authority.bytes().any(|it| it.is_ascii_uppercase()) {
        let lower = text.to_ascii_lowercase();
        return Err(format!(
            "browsers write `{text}` in lower case; write {lower}"
        ));
    }
    match text.strip_suffix(default_port) {
        Some(short) => Err(format!(
            "browsers leave out the port of `{text}`; write {short}"
        )),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<CorsOrigins, String> {
        text.parse()
    }

    #[test]
    fn origins_are_those_that_browsers_send() {
        assert_eq!(parsed(" "), Ok(CorsOrigins::None));
        assert_eq!(parsed("*"), Ok(CorsOrigins::Any));
        assert_eq!(parsed("https://a.example, *"), Ok(CorsOrigins::Any));
        let listed = parsed("https://a.example,http://127.0.0.1:3000, http://[::1]:3000").unwrap();
        for origin in [
            "https://a.example",
            "http://127.0.0.1:3000",
            "http://[::1]:3000",
        ] {
            assert!(listed.contains(origin.as_bytes()), "{origin}");
        }
        for origin in [
            "http://a.example",
            "https://a.example.evil",
            "https://a.example:8443",
            "null",
            "*",
            "",
        ] {
            assert!(!listed.contains(origin.as_bytes()), "{origin}");
            assert!(!CorsOrigins::None.contains(origin.as_bytes()), "{origin}");
        }
    }

    #[test]
    fn what_no_browser_sends_is_refused_with_what_to_write() {
        for (text, told) in [
            ("a.example", "begins with neither"),
            ("null", "begins with neither"),
            ("https://", "no scheme, host and port alone"),
            ("https://a.example/", "no scheme, host and port alone"),
            ("https://a.example/app", "no scheme, host and port alone"),
            ("https://me@a.example", "no scheme, host and port alone"),
            ("https://*.example", "no scheme, host and port alone"),
            ("https://A.example", "write https://a.example"),
            ("https://a.example:443", "write https://a.example"),
            ("http://a.example:80", "write http://a.example"),
            ("https://a.example,", "begins with neither"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
