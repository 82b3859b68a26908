//! A hook in front of the handlers, for the code that starts a server.
//!
//! A request passes here once its caller is admitted. The [`Context`](super::Context) of a server has an interceptor only if
//! it was given one. Its answer is treated like a handler's: it gets the same words, headers and line in the log.

use futures::future::BoxFuture;
use http::HeaderMap;
use slog::Logger;

use crate::domain;

/// Decides on a request of an admitted caller before its handler does.
pub(crate) trait Interceptor: Send + Sync {
    /// Lets the request pass, at once or later, or returns how it ends. `log` is the request's.
    fn intercept<'a>(
        &'a self,
        headers: &'a HeaderMap,
        log: &'a Logger,
    ) -> BoxFuture<'a, Result<(), Intercepted>>;
}

/// How a request that does not reach its handler ends.
#[derive(Debug)]
pub(crate) enum Intercepted {
    /// Like that of a caller that has just used up its limit.
    RateLimited,
    /// With this error.
    Error(domain::Error),
}
