//! Explains why there was no response, with advice.
//!
//! reqwest says "error sending request", and the underlying cause is written for those who know TLS.
//! Two mistakes are common enough to be reported in plain words: a base URL with `https` in front of a
//! port that speaks plain HTTP, and the reverse. They are recognized by the texts of the libraries,
//! because a feature, or the client that a program brings, decides which library does TLS. If a text
//! changes, only the advice is lost.

use std::error::Error;
use std::fmt;

/// What the TLS libraries report for a response that is not TLS, in the order rustls, OpenSSL.
const NO_TLS: [&str; 3] = [
    "InvalidContentType",
    "wrong version number",
    "packet length too long",
];

/// What hyper reports for a response that is not HTTP/1.1.
const NO_HTTP: [&str; 2] = [
    "invalid HTTP version parsed",
    "invalid HTTP status-code parsed",
];

/// What hyper reports for `https` without a TLS library.
const TLS_IS_MISSING: &str = "invalid URL, scheme is not http";

/// Writes a failure to get a response, with its innermost cause and, if there is any, advice.
pub(super) fn tell(error: &reqwest::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error.url() {
        // Neither the path nor the query, which may reveal more than an error should.
        Some(url) => write!(
            f,
            "the connection to {} failed: ",
            url.origin().ascii_serialization()
        )?,
        None => f.write_str("the connection failed: ")?,
    }
    let innermost = causes(error).last().map(ToString::to_string);
    f.write_str(&innermost.unwrap_or_default())?;
    match advice(error) {
        Some(advice) => write!(f, "; {advice}"),
        None => Ok(()),
    }
}

/// Whether another attempt would fail in the same way.
pub(crate) fn is_permanent(error: &reqwest::Error) -> bool {
    says(error, &NO_TLS) || says(error, &NO_HTTP) || says(error, &[TLS_IS_MISSING])
}

fn advice(error: &reqwest::Error) -> Option<&'static str> {
    let is_https = error.url().is_some_and(|url| url.scheme() == "https");
    if is_https && says(error, &NO_TLS) {
        return Some(
            "this port does not speak TLS: write http:// in the base URL, or the port that serves https",
        );
    }
    if is_https && says(error, &["tls handshake eof"]) {
        return Some(
            "the connection was closed before TLS began: if this port serves plain HTTP, write http:// \
             in the base URL",
        );
    }
    if is_https && says(error, &[TLS_IS_MISSING]) {
        return Some(
            "this program is built without TLS: turn on the feature `rustls` of invoicing-client",
        );
    }
    (!is_https && says(error, &NO_HTTP)).then_some(
        "this port does not speak plain HTTP: if it serves https, write https:// in the base URL",
    )
}

fn says(error: &reqwest::Error, texts: &[&str]) -> bool {
    causes(error).any(|cause| {
        let cause = cause.to_string();
        texts.iter().any(|text| cause.contains(text))
    })
}

/// Iterates over the error itself, its source, the source of that, and so on.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    std::iter::from_fn(move || {
        let this = next?;
        next = this.source();
        Some(this)
    })
}
