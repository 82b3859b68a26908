//! Serves the published documents: to any client, and at paths that they do not list themselves.

use std::sync::OnceLock;

use dropshot::ApiDescriptionRegisterError;
use http::header::HeaderValue;

use super::api::Api;
use super::file::File;
use super::unpublished;
use crate::openapi::Document;

/// RFC 9512.
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The text of a document in a format; JSON, and gzip of both, are made when they are first asked for.
type Text = fn() -> &'static str;

/// The path, type and text of each.
const DOCUMENTS: [(&str, HeaderValue, Text); 4] = [
    ("/api/v1/openapi.json", JSON, || Document::Catalog.json()),
    ("/api/v1/openapi.yaml", YAML, || Document::Catalog.yaml()),
    ("/api/mobile/openapi.json", JSON, || Document::Mobile.json()),
    ("/api/mobile/openapi.yaml", YAML, || Document::Mobile.yaml()),
];

/// Adds one unpublished endpoint for each document and format.
pub(super) fn register(api: &mut Api) -> Result<(), ApiDescriptionRegisterError> {
    for (path, content_type, text) in DOCUMENTS {
        let file = OnceLock::new();
        unpublished::get(api, path, move |context| {
            let file = file.get_or_init(|| File::new(content_type.clone(), text()));
            let request = context.request.headers();
            let mut answer = file.answer(request);
            if let Some(cors) = &context.context().cors {
                cors.allow(request, answer.headers_mut());
            }
            answer
        })?;
    }
    Ok(())
}
