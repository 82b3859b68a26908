//! Checks a request that has only been received.
//!
//! dropshot runs extractors before handlers, so its own would respond with 400 to a caller who has not yet been
//! authenticated. The extractor here, [`Captured`], looks at nothing, and yields an [`Unchecked`] request. A handler
//! cannot reach any of its values before [`Unchecked::check`], or [`Unchecked::arrived`] and [`Arrived::check`], have gone
//! through all of these steps, the first of which to fail determines the response:
//!
//! 1. the declared length is beyond the limit (413);
//! 2. the media type is not the document's, or there is a content coding (415);
//! 3. the body is read: too slowly (408), or too long after all (413);
//! 4. the path, the query, the headers, the body (400): the first of these groups with violations is reported, with all
//!    violations of that group.
//!
//! For an operation without a body, steps 1 to 3 and the check of the body are skipped. Bytes and multipart bodies are
//! read not here but by the handler, after the rest has been checked: of steps 1 to 3, only the second applies to them
//! ([`crate::content`]). The same goes for a websocket, whose headers are checked in place of a body.

use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;
use bytes::Bytes;
use dropshot::{
    ApiEndpointBodyContentType, ExclusiveExtractor, ExtensionMode, ExtractorMetadata, HttpError,
    RequestContext, ServerContext,
};
use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use schemars::r#gen::SchemaGenerator;

use crate::body::RequestBody;
use crate::content::{self, FromBody, Received, Unread};
use crate::json;
use crate::operation::{Body, Location, Operation};
use crate::parameters::Parameters;
use crate::rejection::RequestError;
use crate::remainder::Remainder;
use crate::websocket::Websocket;

/// The request of one operation, once it has been checked. Generated code implements it.
pub trait Request: Sized + Send + Sync + 'static {
    /// The headers that the operation reads; `()` for none.
    type Headers: Send;
    /// The body; `()` for none.
    type Body: FromBody;

    /// Returns its operation.
    fn operation() -> &'static Operation;

    /// Takes the headers from the parameters of that location.
    ///
    /// # Errors
    /// As for [`Parameters::required`].
    fn headers(headers: &Parameters<'_>) -> Result<Self::Headers, RequestError>;

    /// Puts the request together.
    ///
    /// # Errors
    /// As for [`Parameters::required`].
    fn build(
        path: &Parameters<'_>,
        query: &Parameters<'_>,
        headers: Self::Headers,
        body: Self::Body,
    ) -> Result<Self, RequestError>;

    /// Returns the schemas of the parameters, in the order of the operation.
    fn parameter_schemas(generator: &mut SchemaGenerator) -> Vec<schemars::schema::Schema>;
}

/// An extractor that keeps a request as it was received. It is the same for all operations, so the code that serves
/// them is compiled once.
pub struct Captured {
    // Boxed, since it moves from future to future.
    head: Box<Parts>,
    body: RequestBody,
    // Boxed, since hardly any request has one.
    websocket: Option<Box<Websocket>>,
}

impl Captured {
    /// Returns the request, for the handler.
    pub fn unchecked<R: Request>(self) -> Unchecked<R> {
        Unchecked {
            captured: self,
            request: PhantomData,
        }
    }

    /// Has what is not read of the body left to whoever makes the response.
    pub fn remainder(&mut self) -> Remainder {
        self.body.remainder()
    }

    /// Prepares the request of an operation that makes the connection a websocket.
    pub async fn upgrading<C: ServerContext>(self, context: &RequestContext<C>) -> Captured {
        let websocket = Websocket::of(context, &self.head).await;
        Captured {
            websocket: Some(Box::new(websocket)),
            ..self
        }
    }
}

#[async_trait]
impl ExclusiveExtractor for Captured {
    async fn from_request<Context: ServerContext>(
        _: &RequestContext<Context>,
        request: hyper::Request<dropshot::Body>,
    ) -> Result<Captured, HttpError> {
        let (head, body) = request.into_parts();
        let body = RequestBody::new(&head.headers, body);
        Ok(Captured {
            head: Box::new(head),
            body,
            websocket: None,
        })
    }

    /// Nothing: [`Description`](crate::Description) describes what an operation takes.
    fn metadata(_: ApiEndpointBodyContentType) -> ExtractorMetadata {
        ExtractorMetadata {
            extension_mode: ExtensionMode::None,
            parameters: Vec::new(),
        }
    }
}

/// A request of which nothing has been checked.
pub struct Unchecked<R> {
    captured: Captured,
    request: PhantomData<fn() -> R>,
}

impl<R> fmt::Debug for Unchecked<R> {
    /// Shows nothing of the request, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unchecked")
    }
}

impl<R: Request> Unchecked<R> {
    /// Returns the headers that the operation reads, ahead of everything else: for an operation that needs one of them
    /// to decide whether the caller may learn anything about the rest.
    ///
    /// # Errors
    /// All violations of the headers.
    pub fn headers(&self) -> Result<R::Headers, RequestError> {
        let head = &self.captured.head;
        R::headers(&Parameters::read(R::operation(), Location::Header, head)?)
    }

    /// Returns the most bytes of memory that its body takes while it is read: zero if the operation has none, if the
    /// handler reads it, or if the body has arrived and is empty.
    pub fn expected_bytes(&self) -> usize {
        match R::operation().body {
            Some(_) if R::Body::UNREAD => 0,
            Some(_) => self.captured.body.expected_bytes(),
            None => 0,
        }
    }

    /// Returns the request, if it conforms to the document.
    ///
    /// # Errors
    /// What is wrong with it, in the order of this module's steps.
    pub async fn check(self) -> Result<R, RequestError> {
        self.arrived().await?.check()
    }

    /// Waits for the body, and checks nothing else yet: for a server that decides when the rest is checked, which takes
    /// some milliseconds of CPU time for the worst of bodies.
    ///
    /// # Errors
    /// What is wrong by the first three of this module's steps.
    pub async fn arrived(self) -> Result<Arrived<R>, RequestError> {
        let received = receive(R::operation(), R::Body::UNREAD, self.captured).await?;
        Ok(Arrived {
            received,
            request: PhantomData,
        })
    }
}

/// A request whose body has arrived, and of which neither that nor the parameters have been checked.
pub struct Arrived<R> {
    received: WithBody,
    request: PhantomData<fn() -> R>,
}

impl<R> fmt::Debug for Arrived<R> {
    /// Shows nothing of the request, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrived")
    }
}

impl<R: Request> Arrived<R> {
    /// Returns the body that is to be checked; it is empty if the operation has none, or the handler reads it.
    pub fn body(&self) -> &[u8] {
        let body = self.received.body.as_ref();
        body.map_or(&[], |(_, bytes)| bytes)
    }

    /// Returns the request, if it conforms to the document.
    ///
    /// # Errors
    /// What is wrong with it by the last of this module's steps.
    pub fn check(self) -> Result<R, RequestError> {
        let (request, ()) = typed(self.received, |_, _| ())?;
        Ok(request)
    }

    /// Does the same, and also returns what `note` makes of the request and of its body as it was received. The body is
    /// read only once.
    ///
    /// # Errors
    /// As for [`check`](Arrived::check).
    pub fn check_noting<T>(
        self,
        note: impl FnOnce(&R, &json::Value<'_>) -> T,
    ) -> Result<(R, T), RequestError> {
        typed(self.received, note)
    }
}

/// Step 4. It is not async, since async functions take many times as long to compile, and this is compiled for each
/// operation.
fn typed<R: Request, T>(
    received: WithBody,
    note: impl FnOnce(&R, &json::Value<'_>) -> T,
) -> Result<(R, T), RequestError> {
    let operation = R::operation();
    let WithBody { head, body, unread } = received;
    let path = Parameters::read(operation, Location::Path, &head)?;
    let query = Parameters::read(operation, Location::Query, &head)?;
    let headers = R::headers(&Parameters::read(operation, Location::Header, &head)?)?;
    let body = Received::of(body)?;
    let value = body.value(operation)?;
    let typed = R::Body::made(&value, unread)?;
    let request = R::build(&path, &query, headers, typed)?;
    let noted = note(&request, &value);
    Ok((request, noted))
}

/// A request with its body, which has arrived or is not read here.
struct WithBody {
    head: Box<Parts>,
    body: Option<(&'static Body, Bytes)>,
    unread: Unread,
}

/// Steps 1 to 3, which are the same for requests of all types.
async fn receive(
    operation: &'static Operation,
    is_unread: bool,
    captured: Captured,
) -> Result<WithBody, RequestError> {
    let Captured {
        mut head,
        mut body,
        websocket,
    } = captured;
    let mut received = None;
    if let Some(described) = &operation.body {
        if !is_unread {
            body.check_declared_length()?;
        }
        content::check_media_type(described, &head.headers)?;
        if !is_unread {
            keep_parameters_only(operation, &mut head.headers);
            received = Some((described, body.read().await?));
        }
    }
    let content_type = match is_unread {
        true => head.headers.get(header::CONTENT_TYPE).cloned(),
        false => None,
    };
    let unread = Unread {
        content_type,
        body,
        websocket,
    };
    Ok(WithBody {
        head,
        body: received,
        unread,
    })
}

/// Drops the headers that are no longer needed, before waiting for the body.
fn keep_parameters_only(operation: &Operation, headers: &mut HeaderMap) {
    let parameters = operation.parameters.iter();
    let names = parameters.filter(|it| it.location == Location::Header);
    let mut kept = HeaderMap::new();
    for name in names.filter_map(|it| HeaderName::try_from(it.name).ok()) {
        for value in headers.get_all(&name) {
            kept.append(name.clone(), value.clone());
        }
    }
    *headers = kept;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Parameter;
    use crate::parameters::tests::{LIST, LIST_AS_IS};
    use crate::schema::{Kind, Schema};

    static WITH_BODY: Operation = Operation {
        body: Some(Body {
            media_type: "*/*",
            required: true,
            schema: None,
        }),
        ..LIST_AS_IS
    };

    macro_rules! request {
        ($name:ident, $body:ty, $operation:expr) => {
            struct $name;

            impl Request for $name {
                type Headers = ();
                type Body = $body;

                fn operation() -> &'static Operation {
                    &$operation
                }

                fn headers(_: &Parameters<'_>) -> Result<(), RequestError> {
                    Ok(())
                }

                fn build(
                    _: &Parameters<'_>,
                    _: &Parameters<'_>,
                    _: (),
                    _: $body,
                ) -> Result<Self, RequestError> {
                    Ok($name)
                }

                fn parameter_schemas(_: &mut SchemaGenerator) -> Vec<schemars::schema::Schema> {
                    Vec::new()
                }
            }
        };
    }
    request!(WithoutBody, (), LIST);
    request!(ReadByTheHandler, RequestBody, WITH_BODY);
    request!(Read, String, WITH_BODY);

    fn expected<R: Request>() -> usize {
        let (head, ()) = http::Request::new(()).into_parts();
        let body = RequestBody::new(&head.headers, dropshot::Body::from("12345".to_owned()));
        let captured = Captured {
            head: Box::new(head),
            body,
            websocket: None,
        };
        captured.unchecked::<R>().expected_bytes()
    }

    #[test]
    fn a_request_that_waits_for_its_body_keeps_the_headers_of_its_parameters_alone() {
        static PARAMETERS: [Parameter; 1] = [Parameter {
            name: "X-Kept",
            location: Location::Header,
            required: false,
            description: None,
            schema: Schema {
                kind: Kind::Boolean,
                nullable: false,
            },
            default: None,
        }];
        static WITH_HEADER: Operation = Operation {
            parameters: &PARAMETERS,
            ..LIST_AS_IS
        };
        let request = http::Request::builder()
            .header("x-kept", "1")
            .header("x-kept", "2")
            .header("cookie", "3");
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        keep_parameters_only(&WITH_HEADER, &mut head.headers);
        let kept = head.headers.iter();
        let kept: Vec<_> = kept
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(kept, [("x-kept", "1"), ("x-kept", "2")]);
    }

    #[test]
    fn only_a_body_that_is_read_before_the_handler_takes_memory() {
        assert_eq!(expected::<WithoutBody>(), 0);
        assert_eq!(expected::<ReadByTheHandler>(), 0);
        assert_eq!(expected::<Read>(), 5);
    }
}
