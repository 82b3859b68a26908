//! Documentation pages: each published document in Swagger UI, to read it and to try its operations in a browser.
//!
//! 1. `/` and `/docs` lead to the page of the catalog; each page links the other.
//! 2. A page (`page.html`) shows the document as the server serves it. What is tried is sent to the server that the
//!    page came from, wherever that is (`page.js`): numbers as they were typed, and those of the answer are shown as
//!    they came. A browser too old to know how a number was written rounds what it shows to seventeen digits.
//! 3. All that a page loads is in this binary: Swagger UI comes whole inside of its crate.
//! 4. People type keys into these pages. Therefore no script runs but the files of this server, no text becomes a
//!    script, nothing is sent elsewhere, and no other page may hold one of these in a frame (`POLICY`).
//! 5. A browser keeps the files, and asks each time whether they are still the same: after an update of the server,
//!    none of them is of another version than the others.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue,
    IF_NONE_MATCH, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Response, StatusCode};

use super::api::Api;
use super::unpublished;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const JAVASCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");

/// Where the pages begin.
const START: &str = "/docs/catalog";

/// Step 4. Swagger UI has its icons in `data:` URLs.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Adds the pages and their files, unpublished.
pub(super) fn register(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    for path in ["/", "/docs"] {
        unpublished::get(api, path, |_| to_start())?;
    }
    let files = [
        (START, page("Product catalog API", "/api/v1")),
        (
            "/docs/mobile",
            page("Mobile device-session API", "/api/mobile"),
        ),
        ("/docs/page.css", File::new(CSS, include_str!("page.css"))),
        (
            "/docs/page.js",
            File::new(JAVASCRIPT, include_str!("page.js")),
        ),
        ("/docs/swagger-ui.css", swagger_ui(CSS, "swagger-ui.css")),
        (
            "/docs/swagger-ui-bundle.js",
            swagger_ui(JAVASCRIPT, "swagger-ui-bundle.js"),
        ),
    ];
    for (path, file) in files {
        unpublished::get(api, path, move |context| {
            file.answer(context.request.headers())
        })?;
    }
    Ok(())
}

/// Step 1.
fn to_start() -> Response<Bytes> {
    let link = format!(
        "<!DOCTYPE html><title>Documentation</title><a href=\"{START}\">Documentation</a>\n"
    );
    let mut answer = Response::new(Bytes::from(link));
    *answer.status_mut() = StatusCode::FOUND;
    let headers = answer.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static(START));
    headers.insert(CONTENT_TYPE, HTML);
    protect(headers);
    answer
}

/// Step 4, for every answer of this folder; and no browser guesses another type, or tells others where it was.
fn protect(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

/// Step 2: the page of the document below `path`.
fn page(title: &str, path: &str) -> File {
    let page = include_str!("page.html");
    File::new(HTML, page.replace("{title}", title).replace("{path}", path))
}

/// Step 3: a file of Swagger UI.
fn swagger_ui(content_type: HeaderValue, name: &str) -> File {
    let configuration = Arc::default();
    let file = utoipa_swagger_ui::serve(name, configuration);
    // Neither fails: only a file with a configuration in it has to be made, and the names are those of files that
    // the crate carries, which a test asks for.
    let file = file.expect("it is served as it is").expect("it is carried");
    File {
        compressed: file.gzpipped,
        ..File::of_bytes(content_type, file.bytes.into_owned().into())
    }
}

/// What is always the same.
struct File {
    content_type: HeaderValue,
    /// Shared by all answers.
    bytes: Bytes,
    /// Whether the bytes are gzip. They are sent so to everybody: all browsers take it.
    compressed: bool,
    /// Another one for other bytes.
    tag: HeaderValue,
}

impl File {
    fn new(content_type: HeaderValue, text: impl Into<String>) -> Self {
        Self::of_bytes(content_type, text.into().into())
    }

    fn of_bytes(content_type: HeaderValue, bytes: Bytes) -> Self {
        let tag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest(&SHA256, &bytes)));
        Self {
            content_type,
            bytes,
            compressed: false,
            // Cannot fail: quotes and base64url are ASCII.
            tag: tag.try_into().expect("a header value"),
        }
    }

    /// The file, unless the browser has it already (step 5).
    fn answer(&self, request: &HeaderMap) -> Response<Bytes> {
        let mut answer = if request.get(IF_NONE_MATCH) == Some(&self.tag) {
            let mut unchanged = Response::new(Bytes::new());
            *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
            unchanged
        } else {
            let mut whole = Response::new(self.bytes.clone());
            let headers = whole.headers_mut();
            headers.insert(CONTENT_TYPE, self.content_type.clone());
            if self.compressed {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            whole
        };
        let headers = answer.headers_mut();
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        protect(headers);
        answer
    }
}
