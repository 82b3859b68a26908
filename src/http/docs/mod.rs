//! Documentation pages: each published document in Swagger UI, to read it and to try its operations in a browser.
//!
//! 1. `/docs` leads to the page of the catalog; each page links the other.
//! 2. A page (`page.html`) shows the document as the server serves it. Requests go to the server that the page came from,
//!    wherever that is (`page.js`): numbers are sent as they were typed, and those of the answer are shown as they came. A
//!    browser too old to know how a number was written rounds what it shows to seventeen digits.
//! 3. All that a page loads is in this binary: the crate of Swagger UI contains all of it. utoipa's crates for Redoc,
//!    RapiDoc and Scalar make a page that loads its viewer from elsewhere.
//! 4. People type keys into these pages. Therefore only script files of this server run, no text becomes a script, nothing
//!    is sent elsewhere, and no other page may frame one of these (`POLICY`). A key is kept in the `sessionStorage` of its
//!    tab, which ends with the tab, and for one document only.
//! 5. A browser caches the files, and asks each time whether they have changed: after an update of the server, all of them
//!    are of the same version.

use std::sync::Arc;

use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, Response, StatusCode};

use super::api::Api;
use super::file::File;
use super::unpublished;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const JAVASCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");

/// The first of the pages.
const START: &str = "/docs/catalog";

/// Step 4. Swagger UI has its icons in `data:` URLs.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Adds the pages and their files, unpublished.
pub(super) fn register(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    unpublished::get(api, "/docs", |_| to_start())?;
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
            let mut answer = file.answer(context.request.headers());
            protect(answer.headers_mut());
            answer
        })?;
    }
    Ok(())
}

/// Makes `/` lead here, too: for a server without pages.
///
/// # Errors
/// When another endpoint has its path.
pub(crate) fn register_at_root(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    unpublished::get(api, "/", |_| to_start())
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

/// Step 4, for every answer of this folder; also keeps browsers from guessing another type, and from telling other sites
/// where they were.
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
    // Neither fails: only a file with a configuration in it has to be generated, and the crate carries files of these names,
    // which a test requests.
    let file = file.expect("it is served as it is").expect("it is carried");
    let bytes = Bytes::from(file.bytes.into_owned());
    match file.gzpipped {
        // It is sent like this to every client: all browsers accept it.
        true => File::of_gzip(content_type, bytes),
        false => File::new(content_type, bytes),
    }
}
