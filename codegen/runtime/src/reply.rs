//! What the glue hands to dropshot: an answer that the document lists.

use std::marker::PhantomData;

use bytes::Bytes;
use dropshot::HttpResponseHeaders;
use dropshot::{ApiEndpointResponse, Body, HttpCodedResponse, HttpError, HttpResponse};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use hyper::body::Body as _;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::Schema;
use serde::Serialize;

use crate::metadata::HeaderGroup;
use crate::operation::Operation;
use crate::rejection::ErrorAnswer;

/// The success of one operation. The generator implements it.
pub trait Success: Sized + Send + Sync + 'static {
    /// dropshot's description of the body: `HttpResponseOk<Product>`, or `HttpResponseDeleted` for
    /// none.
    type Shape: HttpCodedResponse;

    /// The operation that it answers.
    fn operation() -> &'static Operation;

    /// The headers and the body, in JSON, if there is one.
    ///
    /// # Errors
    /// When the body cannot be written, which is a mistake of its type.
    fn into_parts(self) -> Result<(HeaderMap, Option<Vec<u8>>), serde_json::Error>;

    /// The schemas of the headers, in the order of the operation.
    fn header_schemas(generator: &mut SchemaGenerator) -> Vec<Schema>;
}

/// An answer for dropshot, success or error, which describes itself as the success `A`.
#[derive(Debug)]
pub struct Reply<A> {
    response: Response<Body>,
    success: PhantomData<fn() -> A>,
}

impl<A: Success> Reply<A> {
    pub(crate) fn of(response: Response<Body>) -> Reply<A> {
        Reply {
            response,
            success: PhantomData,
        }
    }
}

impl<A: Success> HttpResponse for Reply<A> {
    fn to_result(self) -> Result<Response<Body>, HttpError> {
        Ok(self.response)
    }

    fn response_metadata() -> ApiEndpointResponse {
        let success = &A::operation().success;
        let mut metadata = HttpResponseHeaders::<A::Shape, HeaderGroup<A>>::response_metadata();
        metadata.success = Some(success.status());
        metadata.description = Some(success.description.to_owned());
        metadata
    }

    fn status_code(&self) -> StatusCode {
        self.response.status()
    }
}

/// A body in JSON.
///
/// # Errors
/// When the value cannot be written, which is a mistake of its type.
pub fn json_body<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    // Room for an object of the usual size. serde_json would begin with 128 bytes, and double them again and again.
    let mut body = Vec::with_capacity(1024);
    serde_json::to_writer(&mut body, value)?;
    Ok(body)
}

impl<E: Serialize> ErrorAnswer<E> {
    /// The answer. One that cannot be written is answered without a body, and so is `()`: no document has
    /// errors that are null.
    pub fn into_response(self) -> Response<Bytes> {
        let mut response = match json_body(&self.body) {
            Ok(body) if body == b"null" => response(self.status, self.headers, None),
            Ok(body) => response(self.status, self.headers, Some(body)),
            Err(_) => response(StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new(), None),
        };
        *response.extensions_mut() = self.notes;
        response
    }
}

/// The same answer to HEAD: all but the body, whose length is told (RFC 9110, section 9.3.2). hyper leaves a body out
/// over HTTP/1 and sends it over HTTP/2.
pub fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if let Some(length @ 1..) = body.size_hint().exact() {
        head.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    Response::from_parts(head, Body::empty())
}

pub(crate) fn response(
    status: StatusCode,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
) -> Response<Bytes> {
    let is_json = body.is_some();
    let mut response = Response::new(body.map_or_else(Bytes::new, Bytes::from));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if is_json {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
    }
    response
}
