//! What happens between a generated request and its response, hooked into the generated clients.
//!
//! 1. The bearer credential of the call and the program's own headers are added.
//! 2. The request is sent and its whole response read, again if needed (see [`retry`](crate::retry));
//!    the callback is called after each attempt. An attempt counts as answered only once the last byte
//!    has arrived: a connection that breaks in the middle of a body is a lost response like any other.
//! 3. A response that is not a success in JSON is passed on as it is, as `UnexpectedResponse`, with
//!    its body beside it ([`Refused`]). The generated code reads the bodies of listed statuses itself,
//!    and loses status and headers if a proxy's page arrives instead of JSON.

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use progenitor_client::{ClientHooks, ClientInfo, Error, OperationInfo};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Request, Response, StatusCode};

use crate::attempt::Attempt;
use crate::error::is_permanent;
use crate::openapi::{catalog, mobile};
use crate::retry::{Repeat, retry_after};
use crate::settings::Settings;
use crate::trace::Span;

/// What one call needs beyond its request. The generated clients carry it; only this crate makes it.
#[derive(Clone)]
pub struct Transport {
    pub(crate) settings: Settings,
    pub(crate) repeat: Repeat,
    pub(crate) authorization: Option<HeaderValue>,
}

impl Transport {
    /// Allows the call to be repeated within a window, which a single attempt must not use up.
    pub(crate) fn repeat_within(&mut self, window: Duration, timeout: Duration) {
        self.repeat = Repeat::Within(window);
        let given = self.settings.timeout;
        self.settings.timeout = Some(given.map_or(timeout, |given| given.min(timeout)));
    }

    /// Step 1.
    fn prepare(&self, request: &mut Request) {
        for (name, value) in &self.settings.headers {
            request.headers_mut().insert(name, value.clone());
        }
        if let Some(authorization) = &self.authorization {
            request
                .headers_mut()
                .insert(AUTHORIZATION, authorization.clone());
        }
        if let Some(timeout) = self.settings.timeout {
            *request.timeout_mut() = Some(timeout);
        }
    }

    /// Step 2.
    async fn execute(
        &self,
        http: &reqwest::Client,
        request: Request,
        operation: &'static str,
    ) -> reqwest::Result<Response> {
        let policy = self.repeat.policy(&self.settings.policy, &request);
        let mut attempts = policy.start();
        let mut lost_answer = false;
        let (mut request, mut number) = (request, 0);
        loop {
            number += 1;
            // The generated bodies are bytes, never streams, so there is always a copy.
            let copy = request.try_clone();
            let method = request.method().clone();
            let span = Span::begin(operation, &method, number);
            let began = Instant::now();
            let result = span.cover(attempt(http, request)).await;
            let again = FailedAttempt::of(&result).and_then(|failure| {
                let pause = attempts.failed(failure.retry_after)?;
                Some((pause, copy?, failure.maybe_executed))
            });
            let seen = Attempt {
                operation,
                method: &method,
                number,
                status: result.as_ref().ok().map(|answer| answer.status),
                request_id: result.as_ref().ok().and_then(BufferedResponse::request_id),
                error: result.as_ref().err(),
                elapsed: began.elapsed(),
                retry_in: again.as_ref().map(|(pause, ..)| *pause),
            };
            span.end(&seen);
            self.settings
                .on_attempt
                .iter()
                .for_each(|it| it.call(&seen));
            let Some((pause, copy, maybe_executed)) = again else {
                return result.map(|answer| answer.into_response(lost_answer));
            };
            lost_answer |= maybe_executed;
            tokio::time::sleep(pause).await;
            request = copy;
        }
    }

    /// Step 3.
    #[allow(clippy::result_large_err)] // progenitor's own type
    fn inspect<E>(result: &reqwest::Result<Response>) -> Result<(), Error<E>> {
        let Ok(answer) = result else { return Ok(()) };
        match answer.extensions().get::<Refused>() {
            Some(refused) => Err(Error::UnexpectedResponse(refused.answer(answer))),
            None => Ok(()),
        }
    }
}

/// Debug output never shows the credential.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}

macro_rules! hooks {
    ($($client:ty),*) => {$(
        impl ClientHooks<Transport> for $client {
            async fn pre<E>(&self, request: &mut Request, _: &OperationInfo) -> Result<(), Error<E>> {
                self.inner().prepare(request);
                Ok(())
            }

            async fn exec(
                &self,
                request: Request,
                info: &OperationInfo,
            ) -> reqwest::Result<Response> {
                let operation = info.operation_id;
                self.inner().execute(self.client(), request, operation).await
            }

            async fn post<E>(
                &self,
                result: &reqwest::Result<Response>,
                _: &OperationInfo,
            ) -> Result<(), Error<E>> {
                Transport::inspect(result)
            }
        }
    )*};
}
hooks!(catalog::Client, mobile::Client);

/// A response that has arrived as a whole.
struct BufferedResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

async fn attempt(http: &reqwest::Client, request: Request) -> reqwest::Result<BufferedResponse> {
    let mut response = http.execute(request).await?;
    Ok(BufferedResponse {
        status: response.status(),
        headers: std::mem::take(response.headers_mut()),
        body: response.bytes().await?,
    })
}

impl BufferedResponse {
    fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")?.to_str().ok()
    }

    fn is_json(&self) -> bool {
        let content_type = self.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        content_type.is_some_and(|value| value.starts_with(b"application/json"))
    }

    fn into_response(self, lost_answer: bool) -> Response {
        let success = self.status.is_success() && (self.body.is_empty() || self.is_json());
        let refused = Refused {
            body: self.body.clone(),
            lost_answer,
        };
        let mut response = http::Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        if !success {
            response.extensions_mut().insert(refused);
        }
        Response::from(response)
    }
}

/// The parts of a response that are kept beside it when it is not a success in JSON.
#[derive(Clone)]
struct Refused {
    body: Bytes,
    lost_answer: bool,
}

impl Refused {
    /// Returns the same response once more: a hook sees it only by reference.
    fn answer(&self, seen: &Response) -> Response {
        let mut response = http::Response::new(self.body.clone());
        *response.status_mut() = seen.status();
        *response.headers_mut() = seen.headers().clone();
        response.extensions_mut().insert(self.clone());
        Response::from(response)
    }
}

/// Returns the error in a response that the hooks passed on.
pub(crate) fn refusal(answer: &Response) -> Option<crate::Error> {
    let refused = answer.extensions().get::<Refused>()?;
    let mut error = crate::Error::from_answer(answer.status(), answer.headers(), &refused.body);
    if let crate::Error::Api(error) = &mut error {
        error.after_lost_answer = refused.lost_answer;
    }
    Some(error)
}

/// An attempt that may be followed by another.
struct FailedAttempt {
    /// Whether the service may have executed the request anyway.
    maybe_executed: bool,
    retry_after: Option<Duration>,
}

impl FailedAttempt {
    fn of(result: &reqwest::Result<BufferedResponse>) -> Option<FailedAttempt> {
        match result {
            Ok(answer) => match answer.status {
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                    Some(FailedAttempt {
                        maybe_executed: answer.status == StatusCode::SERVICE_UNAVAILABLE,
                        retry_after: retry_after(&answer.headers),
                    })
                }
                _ => None,
            },
            Err(error) if error.is_builder() || error.is_redirect() => None,
            Err(error) if is_permanent(error) => None,
            Err(error) => Some(FailedAttempt {
                maybe_executed: !error.is_connect(),
                retry_after: None,
            }),
        }
    }
}
