//! Refuses requests for their heads alone, before the router sees them and before anything waits.
//!
//! 1. At most [`MAX_HEADERS`] headers (431): a request keeps them all in memory, several times over, for as long
//!    as its body is arriving. hyper would accept 100 over HTTP/1, and nearly 500 over HTTP/2.
//! 2. No transfer coding except a single `chunked` (400): of several, hyper reads the last, and a proxy in front
//!    may disagree about where the body ends (RFC 9112, section 6.1).
//! 3. One `Host` in HTTP/1.1, and never two (400; RFC 9112, section 3.2): a proxy may use a different one.

use dropshot::{ClientErrorStatusCode, HttpError};
use http::header::{HOST, TRANSFER_ENCODING};
use http::{Request, Version};

/// The most headers of a request. Browsers and proxies send about thirty.
pub const MAX_HEADERS: usize = 64;

/// Checks a head by the steps of this module.
///
/// # Errors
/// The framework's error, whose message says what is wrong.
pub(crate) fn check_head<B>(request: &Request<B>) -> Result<(), HttpError> {
    let headers = request.headers();
    if headers.len() > MAX_HEADERS {
        let message = format!("a request has at most {MAX_HEADERS} headers");
        let status = ClientErrorStatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(HttpError::for_client_error(None, status, message));
    }
    let bad = |message: &str| Err(HttpError::for_bad_request(None, message.to_owned()));
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next();
    let is_plain = first.is_none_or(|it| it.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if !is_plain || codings.next().is_some() {
        return bad("the only transfer coding that is understood is chunked, once");
    }
    // HTTP/2 has `:authority` instead, and HTTP/1.0 does not require it.
    let hosts = headers.get_all(HOST).iter().take(2).count();
    let version = request.version();
    if version == Version::HTTP_11 && hosts == 0 {
        return bad("a request of HTTP/1.1 says its Host");
    }
    if version <= Version::HTTP_11 && hosts > 1 {
        return bad("a request says its Host once");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    /// Returns the status for a request of this version with these headers, if it is refused.
    fn refused(version: Version, headers: &[(&str, &str)]) -> Option<StatusCode> {
        let mut request = Request::builder().version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let refused = check_head(&request.body(()).unwrap()).err();
        refused.map(|error| error.status_code.as_status())
    }

    #[test]
    fn a_request_has_at_most_64_headers_whatever_their_names() {
        let status = Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        let names: Vec<String> = (0..MAX_HEADERS).map(|it| format!("x-{it}")).collect();
        let different: Vec<_> = names.iter().map(|name| (&**name, "")).collect();
        let same = vec![("x", ""); MAX_HEADERS];
        for headers in [different, same] {
            assert_eq!(refused(Version::HTTP_2, &headers), None);
            let more = [&headers[..], &[("y", "")]].concat();
            assert_eq!(refused(Version::HTTP_2, &more), status);
        }
    }

    #[test]
    fn a_transfer_coding_is_chunked_once_or_refused() {
        let of = |codings: &[&'static str]| {
            let codings = codings.iter().map(|it| ("transfer-encoding", *it));
            let headers: Vec<_> = codings.chain([("host", "a")]).collect();
            refused(Version::HTTP_11, &headers)
        };
        for allowed in [&[][..], &["chunked"], &["Chunked"]] {
            assert_eq!(of(allowed), None, "{allowed:?}");
        }
        for other in [
            &["gzip, chunked"][..],
            &["chunked, chunked"],
            &["chunked", "chunked"],
            &["identity"],
            &[""],
        ] {
            assert_eq!(of(other), Some(StatusCode::BAD_REQUEST), "{other:?}");
        }
    }

    #[test]
    fn a_request_of_http_1_1_has_one_host_and_no_other_has_two() {
        let (none, one, two) = (&[][..], &[("host", "a")][..], &[("host", "a"); 2][..]);
        let refused = |version, headers| refused(version, headers).is_some();
        for (version, expected) in [
            (Version::HTTP_10, [false, false, true]),
            (Version::HTTP_11, [true, false, true]),
            (Version::HTTP_2, [false, false, false]),
        ] {
            let found = [none, one, two].map(|headers| refused(version, headers));
            assert_eq!(found, expected, "{version:?}");
        }
    }
}
