//! The answers of pages: HTML, or where to go next.

use askama::Template;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
    REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use openapi_dropshot_runtime::header_value;

use super::site::Site;
use crate::domain::Error;
use crate::log::ErrorCode;

/// Only what is ours is loaded, run or sent (docs/decisions.md, W28); `$forms` says where forms may lead.
macro_rules! policy {
    ($forms:literal) => {
        concat!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; ",
            $forms,
            "base-uri 'none'; frame-ancestors 'none'"
        )
    };
}

const POLICY: &str = policy!("form-action 'self'; ");

/// A year, for browsers that came by TLS.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Renders a page.
///
/// # Errors
/// [`Error::Internal`]: a template fails only if what it shows does.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Result<Response<Bytes>, Error> {
    let mut text = page.render().map_err(Error::internal)?;
    // Only its length is charged, so it keeps no spare capacity.
    text.shrink_to_fit();
    let mut answer = Response::new(Bytes::from(text));
    *answer.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, html);
    Ok(answer)
}

/// Adds to a page the code by which the log says why it was shown.
pub(super) fn refused_as(mut page: Response<Bytes>, code: Option<ErrorCode>) -> Response<Bytes> {
    if let Some(code) = code {
        page.extensions_mut().insert(code);
    }
    page
}

/// For clients that do not follow the header.
#[derive(Template)]
#[template(
    source = "<!DOCTYPE html>\n<title>Go on</title>\n<a href=\"{{ to }}\">Go on</a>\n",
    ext = "html"
)]
struct GoOn<'a> {
    to: &'a str,
}

/// Redirects after a change, or if a page is only for others. `path` is the address of a page of ours, or one that an app
/// has registered.
pub(super) fn see_other(path: &str) -> Response<Bytes> {
    // The header alone is enough.
    let mut answer = html(StatusCode::SEE_OTHER, &GoOn { to: path }).unwrap_or_default();
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer.headers_mut().insert(LOCATION, header_value(path));
    answer
}

/// Lets a page's form lead to an app, and to wherever that leads: browsers apply `form-action` to each redirect after a
/// form, and it cannot express a custom scheme's path or `[::1]` (docs/decisions.md, A11). The rest of the policy is the
/// usual.
pub(super) fn may_lead_elsewhere(mut page: Response<Bytes>) -> Response<Bytes> {
    let policy = HeaderValue::from_static(policy!(""));
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    page
}

/// Adds the headers that every answer has, unless it has its own.
pub(super) fn protect(site: &Site, headers: &mut HeaderMap) {
    let usual = [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would send `Origin: null` with forms.
        (REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in usual {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    if site.origin.is_secure() {
        headers.insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
}
