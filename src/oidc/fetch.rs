//! Sends requests to the provider: with small answers, within a few seconds, and only where no one can listen on the way.

use std::pin::Pin;
use std::time::Duration;

use http::StatusCode;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;
use reqwest::redirect::Policy;
use reqwest::{Client, Request};

use crate::causes::causes;
use crate::settings::is_loopback;
use crate::trace::{self, Child};

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How much of an answer is read. Metadata, keys and tokens take a few kilobytes.
const LARGEST: usize = 256 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("{0} is not reached by TLS")]
    InClear(String),
    #[error("no answer from {0} within five seconds")]
    TooSlow(String),
    #[error("the answer of {0} is longer than 256 KiB")]
    TooLarge(String),
    #[error("{0} answered {1}")]
    NotNow(String, StatusCode),
    #[error("{host}: {}", causes(.source))]
    Failed {
        host: String,
        source: reqwest::Error,
    },
}

impl FetchError {
    /// Returns its name in a trace.
    fn word(&self) -> &'static str {
        match self {
            FetchError::InClear(_) => "in_clear",
            FetchError::TooSlow(_) => "timeout",
            FetchError::TooLarge(_) => "too_large",
            FetchError::NotNow(..) => "not_now",
            FetchError::Failed { .. } => "no_answer",
        }
    }
}

/// Adds to a trace what is asked, without what may be secret in a query.
fn tell_of(request: &HttpRequest, host: &str, span: &mut Child) {
    let method = request.method().as_str().to_owned();
    span.add(KeyValue::new("http.request.method", method));
    span.add(KeyValue::new("server.address", host.to_owned()));
    span.add(KeyValue::new("url.path", request.uri().path().to_owned()));
}

/// Sends requests to the provider.
#[derive(Debug)]
pub(super) struct Fetch {
    client: Client,
    /// Whether nothing is sent in clear; otherwise requests may be, on this machine.
    secure: bool,
}

impl Fetch {
    /// # Errors
    /// Why no requests could be sent.
    pub(super) fn new(secure: bool) -> Result<Fetch, String> {
        let client = Client::builder()
            // A redirect may lead anywhere, with the client's secret.
            .redirect(Policy::none())
            .http1_only()
            .user_agent(concat!("invoicing/", env!("CARGO_PKG_VERSION")));
        let client = match secure {
            true => client,
            // What is sent in clear goes to no proxy.
            false => client.no_proxy(),
        };
        Ok(Fetch {
            client: client.build().map_err(|error| causes(&error))?,
            secure,
        })
    }

    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, FetchError> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let by_tls = request.uri().scheme_str() == Some("https");
        if !by_tls && (self.secure || !is_loopback(&host)) {
            return Err(FetchError::InClear(host));
        }
        let mut span = trace::child("ask the provider", SpanKind::Client);
        if let Some(span) = &mut span {
            tell_of(&request, &host, span);
            span.headers(request.headers_mut());
        }
        let answered = tokio::time::timeout(TIMEOUT, self.answer(request, &host));
        let answer = answered.await;
        let answer = answer.unwrap_or_else(|_| Err(FetchError::TooSlow(host.clone())));
        if let Some(span) = &mut span {
            match &answer {
                Ok(answer) => span.add(KeyValue::new(
                    "http.response.status_code",
                    i64::from(answer.status().as_u16()),
                )),
                Err(error) => span.fail(error.word()),
            }
        }
        answer
    }

    async fn answer(&self, request: HttpRequest, host: &str) -> Result<HttpResponse, FetchError> {
        let failed = |source: reqwest::Error| FetchError::Failed {
            host: host.to_owned(),
            // An address may have something secret in it.
            source: source.without_url(),
        };
        let request = Request::try_from(request).map_err(failed)?;
        let mut answer = self.client.execute(request).await.map_err(failed)?;
        let status = answer.status();
        // Whatever else it says, it says nothing about the user who signs in.
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return Err(FetchError::NotNow(host.to_owned(), status));
        }
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(failed)? {
            if body.len() + piece.len() > LARGEST {
                return Err(FetchError::TooLarge(host.to_owned()));
            }
            body.extend_from_slice(&piece);
        }
        let mut response = HttpResponse::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = answer.headers().clone();
        Ok(response)
    }
}

impl<'c> AsyncHttpClient<'c> for Fetch {
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, FetchError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}
