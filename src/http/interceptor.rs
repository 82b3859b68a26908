//! A place before the handlers where the caller who starts a server may step in.
//!
//! A request passes here once its caller is admitted. The [`Context`](super::Context) of a server has an interceptor only
//! if it was given one. What an interceptor answers is treated as what a handler answers: it gets the same words, headers
//! and line in the log.

use futures::future::BoxFuture;
use http::HeaderMap;
use slog::Logger;

use crate::domain;

/// Decides on a request of an admitted caller before its handler does.
pub(crate) trait Interceptor: Send + Sync {
    /// Lets the request pass, at once or later, or says how it ends. `log` is the request's.
    fn intercept<'a>(
        &'a self,
        headers: &'a HeaderMap,
        log: &'a Logger,
    ) -> BoxFuture<'a, Result<(), Intercepted>>;
}

/// How a request ends that does not reach its handler.
#[derive(Debug)]
pub(crate) enum Intercepted {
    /// As that of a caller who has just used up everything.
    RateLimited,
    /// By this error.
    Error(domain::Error),
}
