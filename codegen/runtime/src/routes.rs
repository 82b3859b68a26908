//! Refuses requests that are not written exactly like a route.
//!
//! dropshot's router is lenient: it drops empty segments, decodes percent-encoding before it compares, and accepts a
//! method in any case. An operation would have many addresses, and a rule written for the published one, in a proxy
//! say, would miss the others. So:
//!
//! 1. A path is accepted only as the route has it: its literal parts byte by byte, and for a variable one segment
//!    that is not empty, percent-encoded or not. For any other, the endpoint that it leads to responds as if no route
//!    matched ([`check_path`]).
//! 2. A method that is not one of [`METHODS`], to the letter (RFC 9110, section 9.1), is refused before it reaches
//!    the router, which takes `get` for GET ([`Methods`]). For a path that is written like a route, the response is
//!    405, with one `Allow`: the router's own would also name the methods that are registered only to be refused
//!    ([`register_absent_methods`](crate::register_absent_methods)). So is a method that a path outside of all
//!    documents does not have.
//! 3. A bad head ([`crate::head`]) is refused before step 2, on every path.
//! 4. For a path that is written like no route, but close to a published one, the 404 names that one
//!    ([`crate::hint`]).
//! 5. A path that cannot be decoded is refused as the router does: 400. Nothing is left for the router to refuse.
//! 6. Nobody reads the body of a request that is refused here, so hyper closes the connection if there is one. The
//!    response says so (`Connection: close`), or a proxy would send the request of another client there. hyper says it
//!    by itself only if the body was dropped before the response was there, as endpoints do.
//! 7. dropshot logs these refusals itself, with the internal message of the error and without any header. So that the
//!    log can name the client for whom a proxy forwards, the message is what proxies reported about it
//!    ([`forwarded`]).
//!
//! For steps 2 to 7, dropshot has one hook in front of its router: it asks which version of an API a request is for.
//! All requests are for the same one; only the call is needed.

use dropshot::{
    Body, ClientErrorStatusCode, DynamicVersionPolicy, HttpError, VersionPolicy, semver::Version,
};
use http::Method;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, HeaderName, HeaderValue};
use hyper::body::Body as _;
use percent_encoding::percent_decode_str;
use slog::Logger;

use crate::head::check_head;
use crate::hint::meant;
use crate::operation::Operation;
use crate::rejection::header_value;

/// The methods of RFC 9110 and RFC 5789, and QUERY.
pub const METHODS: [&str; 9] = [
    "GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
];

/// The methods of each path, for the response to a method that a path does not have.
#[derive(Debug, Default)]
pub struct Methods(Vec<Route>);

#[derive(Debug)]
struct Route {
    path: &'static str,
    allow: HeaderValue,
    /// Whether it is in a document.
    published: bool,
}

impl Route {
    /// Whether an endpoint takes the method, if only to refuse it in the document's words.
    fn takes(&self, method: &Method) -> bool {
        let mut all = self.allow.as_bytes().split(|byte| b", ".contains(byte));
        self.published || all.any(|it| it == method.as_str().as_bytes())
    }
}

impl Methods {
    /// Adds the paths of a document.
    pub fn add_published(&mut self, operations: &'static [&'static Operation]) {
        for operation in operations {
            let of_path = operations.iter().filter(|it| it.path == operation.path);
            let names: Vec<_> = of_path.map(|it| it.method.as_str()).collect();
            self.0.push(Route {
                path: operation.path,
                allow: header_value(names.join(", ")),
                published: true,
            });
        }
    }

    /// Adds a path that is not in any document, and its methods, as listed in `allow`. The first entry for a path
    /// counts.
    pub fn add(&mut self, path: &'static str, allow: &str) {
        self.0.push(Route {
            path,
            allow: header_value(allow),
            published: false,
        });
    }

    /// Returns the paths that are not in any document, each with its methods.
    pub fn unpublished(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let routes = self.0.iter().filter(|route| !route.published);
        routes.map(|route| (route.path, route.allow.to_str().unwrap_or_default()))
    }

    /// Step 4.
    fn meant(&self, path: &str) -> Option<&'static str> {
        let published = self.0.iter().filter(|route| route.published);
        meant(published.map(|route| route.path), path)
    }
}

impl From<Methods> for VersionPolicy {
    fn from(methods: Methods) -> VersionPolicy {
        VersionPolicy::Dynamic(Box::new(methods))
    }
}

impl DynamicVersionPolicy for Methods {
    /// Steps 2 to 7.
    fn request_extract_version(
        &self,
        request: &http::Request<Body>,
        _: &Logger,
    ) -> Result<Version, HttpError> {
        const ANY: Version = Version::new(1, 0, 0);
        let Err(mut error) = self.check(request) else {
            return Ok(ANY);
        };
        // Step 6. HTTP/2 has no such header, and ends the stream alone.
        if request.version() <= http::Version::HTTP_11 && !request.body().is_end_stream() {
            let close = HeaderValue::from_static("close");
            error.headers_mut().insert(CONNECTION, close);
        }
        error.internal_message = said_by_proxies(request);
        Err(error)
    }
}

impl Methods {
    /// Steps 3, 2, 4 and 5, in this order.
    fn check<B>(&self, request: &http::Request<B>) -> Result<(), HttpError> {
        check_head(request)?;
        let is_method = METHODS.contains(&request.method().as_str());
        let path = request.uri().path();
        match self.0.iter().find(|route| is_written_as(route.path, path)) {
            Some(route) if !is_method || !route.takes(request.method()) => {
                Err(method_not_allowed(route.allow.clone()))
            }
            Some(_) if is_readable(path) => Ok(()),
            Some(_) => Err(unreadable()),
            None => match self.meant(path) {
                Some(meant) => Err(no_route_but(meant)),
                None if is_method && !is_readable(path) => Err(unreadable()),
                None => Err(no_route()),
            },
        }
    }
}

/// Where proxies report the client for whom they forward.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The start of the internal message of an error of step 7.
const FORWARDED: &str = "forwarded for: ";

/// How much of the header is kept, counted from its end, which the nearest proxy has written.
const LONGEST: usize = 512;

/// Step 7: all lines of `X-Forwarded-For` as one list.
fn said_by_proxies<B>(request: &http::Request<B>) -> String {
    let lines = request.headers().get_all(X_FORWARDED_FOR).iter();
    // Anything that is not ASCII is not an address, and ends the list there (`to_str` refuses it).
    let lines: Vec<_> = lines.map(|line| line.to_str().unwrap_or("?")).collect();
    let list = lines.join(",");
    // It is all ASCII.
    let from = list.len().saturating_sub(LONGEST);
    format!("{FORWARDED}{}", &list[from..])
}

/// Returns what proxies reported about the client, from the internal message of an error: `X-Forwarded-For` as one
/// list. `None` for an error that did not occur before the router.
pub fn forwarded(internal_message: &str) -> Option<&str> {
    internal_message.strip_prefix(FORWARDED)
}

/// Whether the router can read a path: no segment is `.` or `..`, and it decodes to valid text.
fn is_readable(path: &str) -> bool {
    // As nearly all are.
    if !path.bytes().any(|byte| matches!(byte, b'%' | b'.')) {
        return true;
    }
    let is_text = percent_decode_str(path).decode_utf8().is_ok();
    is_text && !path.split('/').any(|it| matches!(it, "." | ".."))
}

/// Step 1: refuses a path that led to `route` and is not written like it.
///
/// # Errors
/// The response for a path that no route matches.
pub fn check_path(route: &str, path: &str) -> Result<(), HttpError> {
    match is_written_as(route, path) {
        true => Ok(()),
        false => Err(no_route()),
    }
}

/// Returns dropshot's 405 with this `Allow`.
fn method_not_allowed(allow: HeaderValue) -> HttpError {
    let status = ClientErrorStatusCode::METHOD_NOT_ALLOWED;
    let mut error = HttpError::for_client_error_with_status(None, status);
    let headers = error.headers_mut();
    headers.insert(ALLOW, allow);
    // A cache might otherwise keep it (RFC 9110, section 15.1), even for a path whose responses must not be stored.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    error
}

fn no_route() -> HttpError {
    let why = "no route is written like this";
    HttpError::for_not_found(None, why.to_owned())
}

fn unreadable() -> HttpError {
    HttpError::for_bad_request(None, "invalid path encoding".to_owned())
}

fn no_route_but(meant: &str) -> HttpError {
    let message = format!("Not Found: the published path closest to this one is {meant}");
    HttpError::for_client_error(None, ClientErrorStatusCode::NOT_FOUND, message)
}

fn is_written_as(mut route: &str, mut path: &str) -> bool {
    while let Some((literal, rest)) = route.split_once('{') {
        let Some(value) = path.strip_prefix(literal) else {
            return false;
        };
        let end = value.find('/').unwrap_or(value.len());
        if end == 0 {
            return false;
        }
        path = &value[end..];
        // A variable is a whole segment: dropshot accepts no route in which one is not closed.
        route = rest.split_once('}').map_or("", |(_, rest)| rest);
    }
    route == path
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::parameters::tests::{LIST, LIST_AS_IS};

    #[test]
    fn a_path_is_written_as_its_route_or_is_not() {
        for (route, path) in [
            ("/", "/"),
            ("/docs", "/docs"),
            ("/a/{id}", "/a/1"),
            ("/a/{id}", "/a/%31"),
            ("/a/{id}", "/a/%2F"),
            ("/a/{kind}/{id}/b", "/a/x/y/b"),
        ] {
            assert!(is_written_as(route, path), "{route} {path}");
        }
        for (route, path) in [
            ("/", ""),
            ("/", "//"),
            ("/docs", "/docs/"),
            ("/docs", "//docs"),
            ("/docs", "/%64ocs"),
            ("/docs", "docs"),
            ("/a/{id}", "/a//1"),
            ("/a/{id}", "/a/1/"),
            ("/a/{id}", "/a/"),
            ("/a/{id}", "/%61/1"),
            ("/a/{id}", "//a/1"),
            ("/a/{kind}/{id}/b", "/a/x//y/b"),
            ("/a/{kind}/{id}/b", "/a/x/y/%62"),
            ("/a/{kind}/{id}/b", "/a/x/y/b/"),
        ] {
            assert!(!is_written_as(route, path), "{route} {path}");
        }
    }

    /// The status and `Allow` of the response sent before the router, if there is one.
    fn refused(method: &str, path: &str) -> Option<(StatusCode, Option<HeaderValue>)> {
        let mut methods = Methods::default();
        methods.add("/a/{id}", "GET, POST");
        let request = http::Request::builder().method(method).uri(path);
        let request = request.header("host", "localhost");
        let request = request.body(Body::empty()).unwrap();
        let log = Logger::root(slog::Discard, slog::o!());
        let error = methods.request_extract_version(&request, &log).err()?;
        let allow = error.headers.as_ref().map(|it| it[ALLOW].clone());
        Some((error.status_code.as_status(), allow))
    }

    #[test]
    fn a_method_that_nobody_knows_is_told_those_of_the_path_in_one_header() {
        let allowed = Some(HeaderValue::from_static("GET, POST"));
        for method in ["get", "Post", "FOO", "GETS", "CONNECTED"] {
            let expected = Some((StatusCode::METHOD_NOT_ALLOWED, allowed.clone()));
            assert_eq!(refused(method, "/a/1"), expected, "{method}");
            let nowhere = Some((StatusCode::NOT_FOUND, None));
            for path in ["/b", "/a//1", "/%61/1"] {
                assert_eq!(refused(method, path), nowhere, "{method} {path}");
            }
        }
        for method in METHODS {
            let nowhere = Some((StatusCode::NOT_FOUND, None));
            assert_eq!(refused(method, "/b"), nowhere, "{method}");
            for unreadable in ["/%ff", "/../b", "/b/./c"] {
                let bad = Some((StatusCode::BAD_REQUEST, None));
                assert_eq!(refused(method, unreadable), bad, "{method}");
            }
            let expected = match method {
                "GET" | "POST" => None,
                _ => Some((StatusCode::METHOD_NOT_ALLOWED, allowed.clone())),
            };
            assert_eq!(refused(method, "/a/1"), expected, "{method}");
        }
        let bad = Some((StatusCode::BAD_REQUEST, None));
        assert_eq!(refused("GET", "/a/%ff"), bad);
    }

    #[test]
    fn a_published_path_has_the_methods_of_its_operations_and_is_meant_by_those_like_it() {
        static ADD: Operation = Operation {
            method: http::Method::POST,
            ..LIST_AS_IS
        };
        static ITEM: Operation = Operation {
            path: "/items/{id}",
            ..LIST_AS_IS
        };
        static ALL: [&Operation; 3] = [&LIST, &ADD, &ITEM];
        let mut methods = Methods::default();
        methods.add("/docs", "GET");
        methods.add_published(&ALL);
        assert_eq!(
            methods.unpublished().collect::<Vec<_>>(),
            [("/docs", "GET")]
        );
        let told = |method: &str, path: &str| {
            let request = http::Request::builder().method(method).uri(path);
            let request = request.header("host", "localhost").body(()).unwrap();
            let error = methods.check(&request).err()?;
            let allow = error.headers.as_ref().and_then(|it| it.get(ALLOW));
            let allow = allow.map(|it| it.to_str().unwrap().to_owned());
            Some(allow.unwrap_or(error.external_message))
        };
        // The document has words for that.
        for path in ["/list", "/items/1"] {
            assert_eq!(told("PUT", path), None, "{path}");
        }
        assert_eq!(told("PUT", "/docs").as_deref(), Some("GET"));
        assert_eq!(told("put", "/list").as_deref(), Some("GET, POST"));
        assert_eq!(told("put", "/items/1").as_deref(), Some("GET"));
        let meant = "Not Found: the published path closest to this one is /items/{id}";
        assert_eq!(told("GET", "/item/1").as_deref(), Some(meant));
        assert_eq!(told("GET", "/doc").as_deref(), Some("Not Found"));
    }

    #[test]
    fn what_is_refused_closes_the_connection_of_http1_if_its_body_is_not_read() {
        let closes = |version, body: &'static str| {
            let request = http::Request::builder().uri("/b").version(version);
            let request = request.header("host", "a").body(Body::from(body)).unwrap();
            let log = Logger::root(slog::Discard, slog::o!());
            let refused = Methods::default().request_extract_version(&request, &log);
            let headers = refused.unwrap_err().headers;
            headers.is_some_and(|it| it[CONNECTION] == "close")
        };
        assert!(closes(http::Version::HTTP_11, "x"));
        assert!(!closes(http::Version::HTTP_11, ""));
        assert!(!closes(http::Version::HTTP_2, "x"));
    }

    #[test]
    fn what_is_refused_in_front_of_the_router_says_who_is_behind_a_proxy() {
        let said = |lines: &[&[u8]]| {
            let mut request = http::Request::builder().uri("/b").header("host", "a");
            for line in lines {
                request = request.header("x-forwarded-for", *line);
            }
            let log = Logger::root(slog::Discard, slog::o!());
            let request = request.body(Body::empty()).unwrap();
            let methods = Methods::default();
            let refused = methods.request_extract_version(&request, &log);
            let message = refused.unwrap_err().internal_message;
            forwarded(&message).map(str::to_owned)
        };
        assert_eq!(said(&[]).as_deref(), Some(""));
        assert_eq!(said(&[b"a, b", b"c"]).as_deref(), Some("a, b,c"));
        assert_eq!(said(&[b"a", b"\xff, c"]).as_deref(), Some("a,?"));
        let long = [b"192.0.2.1, ".repeat(100), b"x".to_vec()].concat();
        let kept = said(&[&long]).unwrap();
        assert!(kept.len() == LONGEST && kept.ends_with(", x"), "{kept}");
        assert_eq!(forwarded("of the router"), None);
    }
}
