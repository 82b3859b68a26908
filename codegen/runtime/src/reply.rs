//! What the glue hands to dropshot: a response that the document lists.

use bytes::Bytes;
use dropshot::{ApiEndpointResponse, Body, HttpCodedResponse, HttpError, HttpResponse};
use futures::{Stream, TryStreamExt};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::StreamBody;
use hyper::body::{Body as _, Frame};
use schemars::r#gen::SchemaGenerator;
use schemars::schema::Schema;
use serde::Serialize;

use crate::operation::Operation;
use crate::rejection::ErrorAnswer;
use crate::websocket::Switching;

/// The success of one operation. The generator implements it.
pub trait Success: Sized + Send + Sync + 'static {
    /// dropshot's description of the body: `HttpResponseOk<Product>`, `HttpResponseDeleted` for none, or
    /// `HttpResponseOk<FreeformBody>` for bytes.
    type Shape: HttpCodedResponse;

    /// Turns it into the response.
    ///
    /// # Errors
    /// If the body cannot be serialized, which is a bug in its type.
    fn into_answer(self) -> Result<Answer, serde_json::Error>;

    /// Returns the schemas of the headers, in the order of the operation.
    fn header_schemas(generator: &mut SchemaGenerator) -> Vec<Schema>;
}

/// A success, ready to be sent.
#[derive(Debug)]
pub struct Answer {
    /// The status, if the document has more than one.
    status: Option<StatusCode>,
    headers: HeaderMap,
    body: RawBody,
}

impl Answer {
    /// A response without a body.
    pub fn empty(headers: HeaderMap) -> Answer {
        Answer::bytes(headers, RawBody::default())
    }

    /// A response with a body in JSON.
    ///
    /// # Errors
    /// If the value cannot be serialized, which is a bug in its type.
    pub fn json(headers: HeaderMap, value: &impl Serialize) -> Result<Answer, serde_json::Error> {
        let body = json_body(value)?;
        Ok(Answer::bytes(headers, body).of_type("application/json"))
    }

    /// A response whose body is the text of a string.
    ///
    /// # Errors
    /// If the value is not a string, which is a bug in its type.
    pub fn text(headers: HeaderMap, value: &impl Serialize) -> Result<Answer, serde_json::Error> {
        let text: String = serde_json::from_value(serde_json::to_value(value)?)?;
        Ok(Answer::bytes(headers, text).of_type("text/plain; charset=utf-8"))
    }

    /// A response with a body of bytes, whose media type is among the headers.
    pub fn bytes(headers: HeaderMap, body: impl Into<RawBody>) -> Answer {
        Answer {
            status: None,
            headers,
            body: body.into(),
        }
    }

    /// A response that makes the connection a websocket.
    pub fn switching(mut headers: HeaderMap, switching: Switching) -> Answer {
        headers.extend(switching.0);
        Answer::empty(headers)
    }

    /// Sets the status, if the document leaves it to the handler.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Answer {
        Answer {
            status: Some(status),
            ..self
        }
    }

    /// Sets one of the statuses that the document lists.
    #[must_use]
    pub fn with_code(self, code: u16) -> Answer {
        Answer {
            status: StatusCode::from_u16(code).ok(),
            ..self
        }
    }

    fn of_type(mut self, media_type: &'static str) -> Answer {
        let value = HeaderValue::from_static(media_type);
        self.headers.insert(header::CONTENT_TYPE, value);
        self
    }

    /// Returns the response, and the stream that replaces its bytes, if there is one.
    pub(crate) fn into_response(self, operation: &Operation) -> (Response<Bytes>, Option<Body>) {
        let status = self.status.or(operation.success.status());
        // A handler sets one whenever the document does not.
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (bytes, stream) = match self.body {
            RawBody::Whole(bytes) => (bytes, None),
            RawBody::Stream(body) => (Bytes::new(), Some(body)),
        };
        let mut response = Response::new(bytes);
        *response.status_mut() = status;
        *response.headers_mut() = self.headers;
        (response, stream)
    }
}

/// The bytes of a response, complete or a stream.
#[derive(Debug)]
pub enum RawBody {
    /// All of them.
    Whole(Bytes),
    /// As they arrive. The hook through which responses pass does not see them.
    Stream(Body),
}

impl RawBody {
    /// Creates a stream of these bytes. An error aborts the connection, so that no client mistakes a part for the
    /// whole.
    pub fn stream<E>(bytes: impl Stream<Item = Result<Bytes, E>> + Send + Sync + 'static) -> RawBody
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let frames = bytes.map_ok(Frame::data).map_err(Into::into);
        RawBody::Stream(Body::wrap(StreamBody::new(frames)))
    }
}

impl Default for RawBody {
    fn default() -> RawBody {
        RawBody::Whole(Bytes::new())
    }
}

impl From<Body> for RawBody {
    fn from(body: Body) -> RawBody {
        RawBody::Stream(body)
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl From<$type> for RawBody {
            fn from(bytes: $type) -> RawBody {
                RawBody::Whole(bytes.into())
            }
        }
    )*};
}
whole!(Bytes, Vec<u8>, String, &'static [u8], &'static str);

/// A response for dropshot, success or error. The operation's [`Description`](crate::Description) describes its
/// success.
#[derive(Debug)]
pub struct Reply(pub(crate) Response<Body>);

impl HttpResponse for Reply {
    fn to_result(self) -> Result<Response<Body>, HttpError> {
        Ok(self.0)
    }

    fn response_metadata() -> ApiEndpointResponse {
        ApiEndpointResponse::default()
    }

    fn status_code(&self) -> StatusCode {
        self.0.status()
    }
}

/// The size of a usual object. serde_json would start with room for 128 bytes, and double it again and again.
const USUAL_BYTES: usize = 1024;

/// Serializes a body in JSON.
///
/// # Errors
/// If the value cannot be serialized, which is a bug in its type.
pub fn json_body<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(&mut body, value)?;
    // Whoever limits the memory of responses counts their length, and up to half of a buffer that grew is empty.
    if body.len() > USUAL_BYTES {
        body.shrink_to_fit();
    }
    Ok(body)
}

impl<E: Serialize> ErrorAnswer<E> {
    /// Turns it into the response. A body that cannot be serialized is left out, and so is `()`: no document has
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

/// Turns a response into that for HEAD: without the body, but with its length (RFC 9110, section 9.3.2). hyper omits
/// a body over HTTP/1 but sends it over HTTP/2.
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

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn an_answer_to_head_has_all_but_the_body_whose_length_is_told() {
        let answer = |body: &'static str| {
            let answer = Response::builder().status(201).header("x-pieces", "2");
            answer.body(Body::from(body.to_owned())).unwrap()
        };
        for (body, length) in [("abc", Some("3")), ("", None)] {
            let (head, rest) = without_body(answer(body)).into_parts();
            assert_eq!(
                (head.status.as_u16(), &head.headers["x-pieces"]),
                (201, &HeaderValue::from_static("2"))
            );
            let told = head.headers.get(header::CONTENT_LENGTH);
            assert_eq!(told.map(|it| it.to_str().unwrap()), length);
            assert!(rest.collect().await.unwrap().to_bytes().is_empty());
        }
    }

    #[test]
    fn a_body_in_json_takes_no_more_than_its_length_or_a_kibibyte() {
        for length in [0, USUAL_BYTES - 2, USUAL_BYTES - 1, 70_000] {
            let body = json_body(&"x".repeat(length)).unwrap();
            assert_eq!(body.len(), length + 2);
            assert_eq!(body.capacity(), body.len().max(USUAL_BYTES));
        }
    }

    #[tokio::test]
    async fn a_body_is_streamed_as_it_is_and_an_answer_has_its_status() {
        let RawBody::Stream(body) = RawBody::from(Body::from("abc".to_owned())) else {
            panic!("it is taken whole");
        };
        assert_eq!(body.collect().await.unwrap().to_bytes(), "abc");
        let answer = Response::builder().status(404).body(Body::empty());
        assert_eq!(Reply(answer.unwrap()).status_code(), StatusCode::NOT_FOUND);
    }
}
