//! What a page answers with: HTML, or where to go next.

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

/// Nothing is loaded, run or sent but what is ours (docs/decisions.md, W28); `$forms` is where forms may lead.
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

/// A year, for browsers that were here by TLS.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// A page.
///
/// # Errors
/// [`Error::Internal`]: a template only fails where what it shows does.
pub(super) fn html(status: StatusCode, page: &impl Template) -> Result<Response<Bytes>, Error> {
    let mut text = page.render().map_err(Error::internal)?;
    // As large as it is counted, and not as it was guessed.
    text.shrink_to_fit();
    let mut answer = Response::new(Bytes::from(text));
    *answer.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, html);
    Ok(answer)
}

/// The same page, of which the log says why it was shown.
pub(super) fn refused_as(mut page: Response<Bytes>, code: Option<ErrorCode>) -> Response<Bytes> {
    if let Some(code) = code {
        page.extensions_mut().insert(code);
    }
    page
}

/// For whoever is not led on by the header.
#[derive(Template)]
#[template(
    source = "<!DOCTYPE html>\n<title>Go on</title>\n<a href=\"{{ to }}\">Go on</a>\n",
    ext = "html"
)]
struct GoOn<'a> {
    to: &'a str,
}

/// After a change, and where a page is shown to others: the address of a page of ours, or one that an app has registered.
pub(super) fn see_other(path: &str) -> Response<Bytes> {
    // The header alone leads on, too.
    let mut answer = html(StatusCode::SEE_OTHER, &GoOn { to: path }).unwrap_or_default();
    *answer.status_mut() = StatusCode::SEE_OTHER;
    answer.headers_mut().insert(LOCATION, header_value(path));
    answer
}

/// A page with a form that leads to an app, and to wherever that leads: browsers apply `form-action` to each redirect behind
/// a form, and cannot be told of a custom scheme's path or of `[::1]` (docs/decisions.md, A11). All else is as ever.
pub(super) fn may_lead_elsewhere(mut page: Response<Bytes>) -> Response<Bytes> {
    let policy = HeaderValue::from_static(policy!(""));
    page.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    page
}

/// What every answer says besides, unless it says it otherwise.
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
