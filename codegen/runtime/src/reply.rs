//! What the glue hands to dropshot: an answer that the document lists.

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

    /// The answer.
    ///
    /// # Errors
    /// When the body cannot be written, which is a mistake of its type.
    fn into_answer(self) -> Result<Answer, serde_json::Error>;

    /// The schemas of the headers, in the order of the operation.
    fn header_schemas(generator: &mut SchemaGenerator) -> Vec<Schema>;
}

/// A success, ready to be sent.
#[derive(Debug)]
pub struct Answer {
    /// The status, where the document has more than one.
    status: Option<StatusCode>,
    headers: HeaderMap,
    body: RawBody,
}

impl Answer {
    /// Without a body.
    pub fn empty(headers: HeaderMap) -> Answer {
        Answer::bytes(headers, RawBody::default())
    }

    /// With a body in JSON.
    ///
    /// # Errors
    /// When the value cannot be written, which is a mistake of its type.
    pub fn json(headers: HeaderMap, value: &impl Serialize) -> Result<Answer, serde_json::Error> {
        let body = json_body(value)?;
        Ok(Answer::bytes(headers, body).of_type("application/json"))
    }

    /// With a body that is the text of a string.
    ///
    /// # Errors
    /// When the value is no string, which is a mistake of its type.
    pub fn text(headers: HeaderMap, value: &impl Serialize) -> Result<Answer, serde_json::Error> {
        let text: String = serde_json::from_value(serde_json::to_value(value)?)?;
        Ok(Answer::bytes(headers, text).of_type("text/plain; charset=utf-8"))
    }

    /// With a body of bytes, whose media type is among the headers.
    pub fn bytes(headers: HeaderMap, body: impl Into<RawBody>) -> Answer {
        Answer {
            status: None,
            headers,
            body: body.into(),
        }
    }

    /// That the connection becomes a websocket.
    pub fn switching(mut headers: HeaderMap, switching: Switching) -> Answer {
        headers.extend(switching.0);
        Answer::empty(headers)
    }

    /// The same with this status, where the document leaves it to the handler.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Answer {
        Answer {
            status: Some(status),
            ..self
        }
    }

    /// The same with one of the statuses that the document lists.
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

    /// The response, and what is streamed in place of its bytes.
    pub(crate) fn into_response(self, operation: &Operation) -> (Response<Bytes>, Option<Body>) {
        let status = self.status.or(operation.success.status());
        // A handler says one wherever the document does not.
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

/// The bytes of an answer, there or still to come.
#[derive(Debug)]
pub enum RawBody {
    /// All of them.
    Whole(Bytes),
    /// As they come. The hook that hands answers over is shown none of them.
    Stream(Body),
}

impl RawBody {
    /// These bytes, as they come. What goes wrong breaks the connection off, so that no client takes a part
    /// for the whole.
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

/// An answer for dropshot, success or error. What it says of the operation's success is told by its
/// [`Description`](crate::Description).
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
