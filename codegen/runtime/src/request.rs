//! From a request that has only been received to one that has been checked.
//!
//! dropshot runs extractors before handlers, so that its own would answer 400 to a caller who has not
//! even proven who it is. Ours, [`Captured`], looks at nothing; it takes the metadata for dropshot's
//! document from dropshot's extractors, and hands over an [`Unchecked`] request. A handler cannot reach
//! a value of it before [`Unchecked::check`] has been through all of these, where the first that fails
//! answers:
//!
//! 1. a declared length beyond the limit (413);
//! 2. another media type or content coding than JSON (415);
//! 3. the body is read: too slow (408), too long after all (413);
//! 4. the path, the query, the headers, the body (400): the first of these groups that has violations
//!    answers, with all violations of that group.
//!
//! Steps 1 to 3 and the body are left out for an operation that has no body.

use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;
use dropshot::{
    ApiEndpointBodyContentType, ExclusiveExtractor, ExtensionMode, ExtractorMetadata, Header,
    HttpError, Path, Query, RequestContext, ServerContext, SharedExtractor, TypedBody,
};
use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use serde::de::DeserializeOwned;

use crate::body::RequestBody;
use crate::metadata::ParameterGroup;
use crate::operation::{Location, Operation};
use crate::parameters::Parameters;
use crate::rejection::{Cause, RequestError};
use crate::{json, schema};

/// The request of one operation, once it has been checked. The generator implements it.
pub trait Request: Sized + Send + Sync + 'static {
    /// The headers that the operation reads; `()` for none.
    type Headers: Send;
    /// The JSON body; `()` for none.
    type Body: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// The operation that it is a request for.
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

    /// The schemas of the parameters, in the order of the operation.
    fn parameter_schemas(generator: &mut SchemaGenerator) -> Vec<schemars::schema::Schema>;
}

/// An extractor that keeps a request as it came.
pub struct Captured<R> {
    // In a box, since it is handed on from future to future.
    head: Box<Parts>,
    body: RequestBody,
    request: PhantomData<fn() -> R>,
}

impl<R: Request> Captured<R> {
    /// The request, for the handler.
    pub fn unchecked(self) -> Unchecked<R> {
        Unchecked(self)
    }
}

#[async_trait]
impl<R: Request> ExclusiveExtractor for Captured<R> {
    async fn from_request<Context: ServerContext>(
        _context: &RequestContext<Context>,
        request: hyper::Request<dropshot::Body>,
    ) -> Result<Captured<R>, HttpError> {
        let (head, body) = request.into_parts();
        let body = RequestBody::new(&head.headers, body);
        Ok(Captured {
            head: Box::new(head),
            body,
            request: PhantomData,
        })
    }

    fn metadata(content_type: ApiEndpointBodyContentType) -> ExtractorMetadata {
        let of = ApiEndpointBodyContentType::clone;
        let mut groups = vec![
            <Path<ParameterGroup<R, { ParameterGroup::<()>::PATH }>> as SharedExtractor>::metadata(
                of(&content_type),
            ),
            <Query<ParameterGroup<R, { ParameterGroup::<()>::QUERY }>> as SharedExtractor>::metadata(
                of(&content_type),
            ),
            <Header<ParameterGroup<R, { ParameterGroup::<()>::HEADER }>> as SharedExtractor>::metadata(
                of(&content_type),
            ),
        ];
        if R::operation().body.is_some() {
            groups.push(<TypedBody<R::Body> as ExclusiveExtractor>::metadata(
                content_type,
            ));
        }
        ExtractorMetadata {
            extension_mode: ExtensionMode::None,
            parameters: groups
                .into_iter()
                .flat_map(|group| group.parameters)
                .collect(),
        }
    }
}

/// A request of which nothing has been looked at.
pub struct Unchecked<R>(Captured<R>);

impl<R> fmt::Debug for Unchecked<R> {
    /// Shows nothing of the request, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unchecked")
    }
}

impl<R: Request> Unchecked<R> {
    /// The headers that the operation reads, ahead of everything else: for an operation that needs one
    /// of them to know whether the caller may learn anything about the rest.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn headers(&self) -> Result<R::Headers, RequestError> {
        R::headers(&self.parameters(Location::Header)?)
    }

    /// The most bytes of memory that its body takes while it is read: nothing where the operation has none, or where the
    /// body is there, and empty.
    pub fn expected_bytes(&self) -> usize {
        match R::operation().body {
            Some(_) => self.0.body.expected_bytes(),
            None => 0,
        }
    }

    /// Forgets the headers that nothing asks for any more, before the body is waited for.
    fn keep_parameters_only(&mut self) {
        let parameters = R::operation().parameters.iter();
        let names = parameters.filter(|it| it.location == Location::Header);
        let headers = &mut self.0.head.headers;
        let mut kept = HeaderMap::new();
        for name in names.filter_map(|it| HeaderName::try_from(it.name).ok()) {
            for value in headers.get_all(&name) {
                kept.append(name.clone(), value.clone());
            }
        }
        *headers = kept;
    }

    /// The request, when it passes everything that the document says.
    ///
    /// # Errors
    /// What is wrong with it, in the order of this module's steps.
    pub async fn check(self) -> Result<R, RequestError> {
        let (request, ()) = self.check_noting(|_, _| ()).await?;
        Ok(request)
    }

    /// The same, and what `note` makes of the request and of its body as it came. The body is read once for all of this.
    ///
    /// # Errors
    /// As of [`check`](Unchecked::check).
    pub async fn check_noting<T>(
        mut self,
        note: impl FnOnce(&R, &json::Value<'_>) -> T,
    ) -> Result<(R, T), RequestError> {
        let text = match R::operation().body {
            Some(_) => {
                self.0.body.check_declared_length()?;
                check_media_type(&self.0.head.headers)?;
                self.keep_parameters_only();
                self.0.body.read().await?
            }
            None => bytes::Bytes::new(),
        };
        let path = self.parameters(Location::Path)?;
        let query = self.parameters(Location::Query)?;
        let headers = self.headers()?;
        let body = read_body(R::operation().body, &text)?;
        // What has passed the schema fits the type that was made of it, so this is no fault of the
        // caller.
        let typed = body.take().map_err(|_| RequestError::internal())?;
        let request = R::build(&path, &query, headers, typed)?;
        let noted = note(&request, &body);
        Ok((request, noted))
    }

    fn parameters(&self, location: Location) -> Result<Parameters<'_>, RequestError> {
        Parameters::read(R::operation(), location, &self.0.head)
    }
}

fn read_body<'a>(
    schema: Option<&schema::Schema>,
    text: &'a [u8],
) -> Result<json::Value<'a>, RequestError> {
    let Some(schema) = schema else {
        return Ok(json::Value::Null);
    };
    match json::parse(text) {
        Ok(value) => {
            RequestError::unless_empty(Cause::Body, schema::check(schema, &value))?;
            Ok(value)
        }
        Err(violation) => {
            RequestError::unless_empty(Cause::Body, violation.into())?;
            Err(RequestError::internal())
        }
    }
}

/// A missing media type counts as JSON. Parameters do not matter: JSON is UTF-8 (RFC 8259, section
/// 8.1), and what is not is found by reading it.
fn check_media_type(headers: &HeaderMap) -> Result<(), RequestError> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let essence = types.next().map_or(&b"application/json"[..], |value| {
        value
            .as_bytes()
            .split(|&byte| byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii()
    });
    if types.next().is_some() || !essence.eq_ignore_ascii_case(b"application/json") {
        return Err(RequestError::media_type("must be application/json"));
    }
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(RequestError::media_type(
            "must not be compressed (Content-Encoding)",
        ));
    }
    Ok(())
}
