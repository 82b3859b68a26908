//! What pages load: one stylesheet, two scripts and an icon, all in this binary. A browser caches them, and asks each time
//! whether they have changed.

use dropshot::ApiDescriptionRegisterError;
use http::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};

use crate::http::{Api, File, get};

const CSS: HeaderValue = HeaderValue::from_static("text/css; charset=utf-8");
const JAVASCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");
const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");

/// Adds them.
///
/// # Errors
/// When another endpoint has one of their paths.
pub(super) fn register(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    let files = [
        ("/assets/style.css", CSS, include_str!("assets/style.css")),
        (
            "/assets/page.js",
            JAVASCRIPT,
            include_str!("assets/page.js"),
        ),
        (
            "/assets/passkey.js",
            JAVASCRIPT,
            include_str!("assets/passkey.js"),
        ),
        ("/assets/icon.svg", SVG, include_str!("assets/icon.svg")),
    ];
    for (path, content_type, text) in files {
        let file = File::new(content_type, text);
        get(api, path, move |context| {
            let mut answer = file.answer(context.request.headers());
            let nosniff = HeaderValue::from_static("nosniff");
            answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, nosniff);
            answer
        })?;
    }
    Ok(())
}
