//! The glue between dropshot and an implementation of a generated trait.
//!
//! Each request goes through these steps once, all of them inside the trait's `within` hook:
//!
//! 1. a path that is not written like the operation's gets the response for a path without a route ([`check_path`]);
//! 2. the trait's hook for the operation's security scheme admits the caller, or refuses;
//! 3. the handler gets the [`Unchecked`](crate::Unchecked) request, checks it and responds;
//! 4. a panic in either is logged, and becomes an internal error: without a response, a client would try again;
//! 5. anything but a success becomes a response through the trait's hook for the document's error body;
//! 6. the headers that came with the admission are added to the response, whatever it is;
//! 7. a response whose status or headers the document does not list is sent, but logged as an error: the client learns
//!    more from it than from anything else. If the document lists no errors of the operation at all, no error is logged
//!    for that;
//! 8. the trait's hook passes the response on to be sent: it may add headers of the connection, and decides how the
//!    bytes are sent. It sees nothing of a streamed body, and the stream replaces the body that it returns.
//!
//! What was not read of the body by then is dealt with outside of that hook ([`settled`]), since it may take a moment.
//!
//! A method that a path does not have is refused before all that ([`register_absent_methods`]), and so is a request
//! that is not written like its route ([`Methods`](crate::Methods)).

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions, Body,
    ExtensionMode, HttpError, RequestContext, RequestInfo, ServerContext,
};
use futures::FutureExt;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Extensions, Method, Response, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metadata::{Described, Description};
use crate::operation::Operation;
use crate::rejection::{Cause, ErrorAnswer, Rejection, RequestError};
use crate::remainder::Remainder;
use crate::reply::{Answer, Reply, response, without_body};
use crate::request::Captured;
use crate::routes::{METHODS, check_path};

/// A caller who was admitted.
#[derive(Debug)]
pub struct Admitted<P> {
    /// What the credential proves.
    pub caller: P,
    /// Headers for the response, whatever it is, such as the state of a rate limit.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Notes for the hook that gets the response, which finds them among its extensions.
    pub notes: Extensions,
}

impl<P> Admitted<P> {
    /// Admits a caller, with nothing to add to the response.
    pub fn new(caller: P) -> Admitted<P> {
        Admitted {
            caller,
            headers: Vec::new(),
            notes: Extensions::new(),
        }
    }
}

/// What a generated endpoint returns to dropshot.
pub type Served<E> = Result<Reply, Described<E>>;

/// A handler's work on one request, up to the response to be sent; a JSON error if that cannot be serialized.
///
/// Boxed, so that everything around it is the same for all operations: code generic over the operation would be
/// compiled for each, and was most of the time that a large document took to compile.
pub type Handling<'a, X> = Pin<
    Box<dyn Future<Output = Result<Result<Answer, serde_json::Error>, Rejection<X>>> + Send + 'a>,
>;

/// The handler of an operation, which gets the caller.
pub type Handler<C, P, X> = for<'a> fn(&'a RequestContext<C>, P, Captured) -> Handling<'a, X>;

/// Creates the endpoint of an operation. `serve` is a generated function around [`serve`](fn@serve).
pub fn endpoint<C, E, H, F>(description: Description, serve: H) -> ApiEndpoint<C>
where
    C: ServerContext,
    E: JsonSchema + Send + Sync + 'static,
    H: Fn(RequestContext<C>, Captured) -> F + Send + Sync + 'static,
    F: Future<Output = Served<E>> + Send + 'static,
{
    let operation = description.operation();
    let endpoint = ApiEndpoint::new(
        operation.id.to_owned(),
        serve,
        operation.method.clone(),
        "application/json",
        operation.path,
        ApiEndpointVersions::All,
    );
    described(endpoint, description)
}

/// Adds the document's description to the endpoint.
fn described<C: ServerContext>(
    mut endpoint: ApiEndpoint<C>,
    description: Description,
) -> ApiEndpoint<C> {
    let operation = description.operation();
    endpoint.parameters = description.parameters();
    endpoint.response = description.response();
    if operation.is_upgrade() {
        endpoint.extension_mode = ExtensionMode::Websocket;
    }
    endpoint.summary = operation.summary.map(str::to_owned);
    endpoint.description = operation.description.map(str::to_owned);
    endpoint.tags = operation.tags.iter().map(|&tag| tag.to_owned()).collect();
    endpoint.deprecated = operation.deprecated;
    if !operation.describes_errors() {
        endpoint.error = None;
    }
    endpoint
}

/// Serves one request, by the steps of this module.
///
/// # Errors
/// Only in step 1: every other error is a response, too.
pub async fn serve<C, P, X, E, G, F>(
    context: &RequestContext<C>,
    operation: &'static Operation,
    admit: impl FnOnce() -> G,
    handle: impl FnOnce(P) -> F,
    fail: impl Fn(Rejection<X>) -> ErrorAnswer<E>,
    answered: impl FnOnce(Response<Bytes>, Duration) -> Response<Body>,
) -> Served<E>
where
    C: ServerContext,
    E: Serialize,
    G: Future<Output = Result<Admitted<P>, X>>,
    F: Future<Output = Result<Result<Answer, serde_json::Error>, Rejection<X>>>,
{
    let start = Instant::now();
    check_path(operation.path, context.request.uri().path())
        .map_err(|error| Described::told(error, &context.request_id))?;
    let (mut extra, mut notes) = (Vec::new(), Extensions::new());
    let outcome = {
        // Pinned where it is made: each move would copy a thousand bytes or two.
        let steps = pin!(async {
            let admitted = admit().await.map_err(Rejection::Error)?;
            (extra, notes) = (admitted.headers, admitted.notes);
            let answer = handle(admitted.caller)
                .await
                .inspect_err(|it| tell_misfit(it, &context.log))?;
            // A body that cannot be serialized is a bug in the service.
            answer.map_err(|error| {
                slog::error!(context.log, "an answer cannot be written"; "error" => %error);
                Rejection::Request(RequestError::internal())
            })
        });
        AssertUnwindSafe(steps).catch_unwind().await
    };
    let outcome = outcome.unwrap_or_else(|panic| {
        slog::error!(context.log, "a handler panicked"; "panic" => panic_message(&*panic));
        Err(Rejection::Request(RequestError::internal()))
    });
    let (mut response, stream) = match outcome {
        Ok(answer) => answer.into_response(operation),
        Err(rejection) => {
            let answer = failed(|| fail(rejection).into_response(), &context.log);
            (answer, None)
        }
    };
    // A caller who was admitted, but whose credential has expired since, learns as little as a stranger.
    if response.status() != StatusCode::UNAUTHORIZED {
        response.headers_mut().extend(extra);
    }
    response.extensions_mut().extend(notes);
    operation.name_type(&mut response);
    audit(operation, &response, &context.log);
    let mut response = answered(response, start.elapsed());
    if let Some(stream) = stream {
        *response.body_mut() = stream;
    }
    Ok(Reply(response))
}

/// Deals with what is left of the body of a request that has been [served](fn@serve).
///
/// # Errors
/// Those of `served`.
pub async fn settled<E>(
    request: &RequestInfo,
    remainder: Remainder,
    served: Served<E>,
) -> Served<E> {
    let mut served = served;
    if let Ok(Reply(response)) = &mut served {
        remainder.settle(request, response).await;
    }
    served
}

/// Logs a request that conforms to the document and yet did not fit the types made from it. The reason is left out,
/// since it may repeat a value.
fn tell_misfit<X>(rejection: &Rejection<X>, log: &slog::Logger) {
    if let Rejection::Request(RequestError {
        cause: Cause::Internal,
        ..
    }) = rejection
    {
        slog::error!(
            log,
            "a request that passed its schemas does not fit its types"
        );
    }
}

/// Returns the response that a hook makes; a bare one if the hook itself panics.
fn failed(answer: impl FnOnce() -> Response<Bytes>, log: &slog::Logger) -> Response<Bytes> {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|panic| {
        slog::error!(log, "an error cannot be answered"; "panic" => panic_message(&*panic));
        response(StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new(), None)
    })
}

/// Registers unpublished endpoints for the methods that a path does not have (RFC 9110, section 15.5.6). `operations`
/// are all those of one path; the first, which is described, determines the form of the response.
///
/// # Errors
/// If dropshot refuses one.
pub fn register_absent_methods<C, X, E>(
    api: &mut ApiDescription<C>,
    first: Description,
    operations: &'static [&'static Operation],
    fail: fn(&RequestContext<C>, &'static Operation, Rejection<X>) -> ErrorAnswer<E>,
    answered: fn(
        &RequestContext<C>,
        &'static Operation,
        Response<Bytes>,
        Duration,
    ) -> Response<Body>,
) -> Result<(), ApiDescriptionRegisterError>
where
    C: ServerContext,
    X: 'static,
    E: Serialize + 'static,
{
    let operation = first.operation();
    let present: Vec<&str> = operations.iter().map(|it| it.method.as_str()).collect();
    let allow = present.join(", ");
    for name in METHODS.into_iter().filter(|name| !present.contains(name)) {
        // All of them are tokens, which is all that a method must be.
        let Ok(method) = Method::from_bytes(name.as_bytes()) else {
            continue;
        };
        let allow = allow.clone();
        let answer = move |context: RequestContext<C>, mut request: Captured| {
            let allow = allow.clone();
            async move {
                let start = Instant::now();
                check_path(operation.path, context.request.uri().path())?;
                let remainder = request.remainder();
                drop(request);
                let error = RequestError::method(context.request.method(), &allow);
                let answer = fail(&context, operation, Rejection::Request(error));
                let mut response = answer.header(header::ALLOW, &allow).into_response();
                operation.name_type(&mut response);
                let mut response = answered(&context, operation, response, start.elapsed());
                remainder.settle(&context.request, &mut response).await;
                Ok::<_, HttpError>(match *context.request.method() {
                    Method::HEAD => without_body(response),
                    _ => response,
                })
            }
        };
        let id = format!("{}_{}", name.to_ascii_lowercase(), operation.id);
        let all = ApiEndpointVersions::All;
        let mut endpoint =
            ApiEndpoint::new(id, answer, method, "application/json", operation.path, all);
        endpoint.parameters = first.path_parameters();
        api.register(endpoint.visible(false))?;
    }
    Ok(())
}

/// Headers that every response may have, whatever the document lists: those that describe the message itself, and the
/// one that dropshot adds.
const UNLISTED: [&str; 6] = [
    "content-type",
    "content-length",
    "connection",
    "upgrade",
    "sec-websocket-accept",
    dropshot::HEADER_REQUEST_ID,
];

/// Logs a response that the document does not list.
fn audit(operation: &Operation, response: &Response<Bytes>, log: &slog::Logger) {
    let status = response.status();
    if operation.errors.is_empty() && !status.is_success() {
        // The document lists no errors of this operation.
        return;
    }
    let Some(answer) = operation.listed(status) else {
        slog::error!(log, "an answer is not in the document";
            "operation" => operation.id, "status" => status.as_u16());
        return;
    };
    let listed = |name: &str| {
        UNLISTED.contains(&name)
            || answer
                .headers
                .iter()
                .any(|header| header.name.eq_ignore_ascii_case(name))
    };
    for name in response
        .headers()
        .keys()
        .filter(|name| !listed(name.as_str()))
    {
        slog::error!(log, "a header of an answer is not in the document";
            "operation" => operation.id, "status" => status.as_u16(), "header" => name.as_str());
    }
}

/// An error of an operation that has several error bodies, which knows which one it is. Generated code implements it.
pub trait ErrorBody {
    /// The component that describes it; `None` for no body.
    fn component(&self) -> Option<&'static str>;
}

/// Returns the response unchanged. If its body is not the one that the document lists for its status, that is logged as
/// an error.
pub fn listed_body<E: ErrorBody>(
    operation: &'static Operation,
    answer: ErrorAnswer<E>,
    log: &slog::Logger,
) -> ErrorAnswer<E> {
    let component = answer.body.component();
    let listed = operation.listed(answer.status);
    if listed.is_some_and(|it| it.component != component) {
        slog::error!(log, "the body of an answer is not in the document";
            "operation" => operation.id, "status" => answer.status.as_u16(),
            "body" => component.unwrap_or("nothing"));
    }
    answer
}

/// The message of a panic, if it is text.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(not a text)")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::operation::{Listed, Status};
    use crate::parameters::tests::{LIST, LIST_AS_IS};

    /// What is logged, one message per line.
    #[derive(Default)]
    struct Lines(Mutex<String>);

    impl slog::Drain for Lines {
        type Ok = ();
        type Err = slog::Never;

        fn log(&self, record: &slog::Record<'_>, _: &slog::OwnedKVList) -> Result<(), slog::Never> {
            let mut lines = self.0.lock().unwrap();
            lines.push_str(&format!("{}\n", record.msg()));
            Ok(())
        }
    }

    fn logged(work: impl FnOnce(&slog::Logger)) -> String {
        let lines = std::sync::Arc::new(Lines::default());
        work(&slog::Logger::root(lines.clone(), slog::o!()));
        lines.0.lock().unwrap().clone()
    }

    #[test]
    fn what_a_panic_said_is_told_where_it_is_a_text() {
        assert_eq!(panic_message(&"borrowed"), "borrowed");
        assert_eq!(panic_message(&"owned".to_owned()), "owned");
        assert_eq!(panic_message(&1), "(not a text)");
    }

    #[test]
    fn a_document_without_errors_is_held_to_its_successes_alone() {
        static STRICT: Operation = Operation {
            errors: &[Listed {
                status: Status::Code(404),
                ..LIST_AS_IS.success
            }],
            ..LIST_AS_IS
        };
        for (operation, status, header, expected) in [
            (&LIST, 200, "content-type", ""),
            (
                &LIST,
                200,
                "x-extra",
                "a header of an answer is not in the document\n",
            ),
            (&LIST, 500, "content-type", ""),
            (&STRICT, 404, "content-type", ""),
            (
                &STRICT,
                500,
                "content-type",
                "an answer is not in the document\n",
            ),
        ] {
            let answer = Response::builder().status(status).header(header, "x");
            let answer = answer.body(Bytes::new()).unwrap();
            let told = logged(|log| audit(operation, &answer, log));
            assert_eq!(told, expected, "{status} {header}");
        }
    }

    #[test]
    fn only_a_request_that_fits_its_schemas_but_no_type_is_told_to_the_log() {
        let misfit = Rejection::<()>::Request(RequestError::internal());
        let told = logged(|log| tell_misfit(&misfit, log));
        assert_eq!(
            told,
            "a request that passed its schemas does not fit its types\n"
        );
        for usual in [
            Rejection::Error(()),
            Rejection::Request(RequestError::too_large(1)),
        ] {
            assert_eq!(logged(|log| tell_misfit(&usual, log)), "");
        }
    }
}
