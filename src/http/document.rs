//! The published documents, as the server serves them: to anybody, and not part of themselves.

use bytes::Bytes;
use dropshot::ApiDescriptionRegisterError;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::api::Api;
use super::unpublished;
use crate::openapi::Document;

/// RFC 9512.
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The text of a document in a format; JSON is made when it is first asked for.
type Text = fn() -> &'static str;

/// Where each is, of which type, and its text.
const DOCUMENTS: [(&str, HeaderValue, Text); 4] = [
    ("/api/v1/openapi.json", JSON, || Document::Catalog.json()),
    ("/api/v1/openapi.yaml", YAML, || Document::Catalog.yaml()),
    ("/api/mobile/openapi.json", JSON, || Document::Mobile.json()),
    ("/api/mobile/openapi.yaml", YAML, || Document::Mobile.yaml()),
];

/// Adds one unpublished endpoint for each document and format.
pub(super) fn register(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    for (path, content_type, text) in DOCUMENTS {
        unpublished::get(api, path, move |context| {
            let mut answer = Response::new(Bytes::from_static(text().as_bytes()));
            answer
                .headers_mut()
                .insert(CONTENT_TYPE, content_type.clone());
            if let Some(cors) = &context.context().cors {
                cors.allow(context.request.headers(), answer.headers_mut());
            }
            answer
        })?;
    }
    Ok(())
}
