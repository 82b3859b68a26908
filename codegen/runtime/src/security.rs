//! Where callers send their credentials.
//!
//! The runtime does not authenticate callers: the hooks of the generated trait do. They find what the operation
//! requires in [`Operation::security`], and what the caller sent for it in the request
//! ([`Scheme::credential`]).
//!
//! [`Operation::security`]: crate::Operation::security

use std::borrow::Cow;

use dropshot::RequestInfo;
use http::header::{AUTHORIZATION, COOKIE, HeaderMap};
use percent_encoding::percent_decode;

use crate::operation::Operation;

/// A security scheme of the document.
#[derive(Debug)]
pub struct Scheme {
    /// Its name in the document.
    pub name: &'static str,
    /// Where its credential is sent.
    pub credential: Credential,
}

/// Where a credential is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// In `Authorization`, after this scheme, in lower case (RFC 9110, section 11): `bearer`, `basic`.
    Http(&'static str),
    /// In the header of this name.
    Header(&'static str),
    /// In the query, under this name.
    Query(&'static str),
    /// In the cookie of this name (RFC 6265, section 5.4).
    Cookie(&'static str),
}

/// A security scheme that an operation requires.
#[derive(Debug)]
pub struct Required {
    /// The scheme.
    pub scheme: &'static Scheme,
    /// The scopes that the credential must have.
    pub scopes: &'static [&'static str],
}

impl Scheme {
    /// Returns what the caller sent for this scheme, as received, except that a query is decoded. `None` if it
    /// is absent, if it occurs twice, or if it is not text.
    pub fn credential<'a>(&self, request: &'a RequestInfo) -> Option<Cow<'a, str>> {
        let query = request.uri().query().unwrap_or_default();
        self.credential.of(request.headers(), query)
    }
}

impl Credential {
    fn of<'a>(self, headers: &'a HeaderMap, query: &'a str) -> Option<Cow<'a, str>> {
        match self {
            Credential::Http(scheme) => {
                let value = single(headers.get_all(AUTHORIZATION).iter())?
                    .to_str()
                    .ok()?;
                let (name, credential) = value.split_once(' ')?;
                let credential = credential.trim_start_matches(' ');
                (name.eq_ignore_ascii_case(scheme)).then_some(Cow::Borrowed(credential))
            }
            Credential::Header(name) => {
                let value = single(headers.get_all(name).iter())?;
                value.to_str().ok().map(Cow::Borrowed)
            }
            Credential::Query(name) => {
                let pairs = query.split('&');
                let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
                let named = |text: &str| decoded(text).is_some_and(|it| it == name);
                decoded(single(pairs.filter(|(it, _)| named(it)))?.1)
            }
            Credential::Cookie(name) => {
                let lines = headers.get_all(COOKIE).iter();
                let pairs = lines
                    .filter_map(|line| line.to_str().ok())
                    .flat_map(|line| line.split(';'))
                    .filter_map(|pair| pair.trim().split_once('='));
                let value = single(pairs.filter(|(it, _)| *it == name))?.1;
                Some(Cow::Borrowed(value))
            }
        }
    }
}

impl Operation {
    /// Returns whether a name of the query is that of a credential, which no parameter describes.
    pub(crate) fn has_query_credential(&self, name: &str) -> bool {
        let mut required = self.security.iter().copied().flatten();
        required.any(|it| matches!(it.scheme.credential, Credential::Query(own) if own == name))
    }
}

fn single<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}

fn decoded(text: &str) -> Option<Cow<'_, str>> {
    match text.contains('+') {
        true => {
            let spaced = text.replace('+', " ");
            let text = percent_decode(spaced.as_bytes()).decode_utf8().ok()?;
            Some(Cow::Owned(text.into_owned()))
        }
        false => percent_decode(text.as_bytes()).decode_utf8().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(credential: Credential, headers: &[(&'static str, &str)], query: &str) -> Option<String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        credential.of(&map, query).map(Cow::into_owned)
    }

    #[test]
    fn a_credential_is_found_where_its_scheme_says_and_once() {
        let basic = |value| of(Credential::Http("basic"), &[("authorization", value)], "");
        assert_eq!(basic("Basic YQ=="), Some("YQ==".to_owned()));
        assert_eq!(basic("bASIC  YQ=="), Some("YQ==".to_owned()));
        assert_eq!(basic("Bearer YQ=="), None);
        assert_eq!(basic("Basic"), None);
        let twice = [("x-key", "a"), ("x-key", "b")];
        assert_eq!(
            of(Credential::Header("X-Key"), &twice[..1], ""),
            Some("a".to_owned())
        );
        assert_eq!(of(Credential::Header("X-Key"), &twice, ""), None);
        let query = |query| of(Credential::Query("key"), &[], query);
        assert_eq!(query("a=b&k%65y=c+%C3%A4"), Some("c ä".to_owned()));
        assert_eq!(query("key=a&key=b"), None);
        assert_eq!(query("akey=a"), None);
        let cookie = |line| of(Credential::Cookie("sid"), &[("cookie", line)], "");
        assert_eq!(cookie("a=b; sid=c"), Some("c".to_owned()));
        assert_eq!(cookie("sid=c; sid=d"), None);
        assert_eq!(cookie("asid=c"), None);
    }
}
