//! Answers that a consumer's test asks for: a seam, which only `invoicing demo` fills.
//!
//! How a client deals with a 429, a 500, a 503 or a slow answer cannot be tried on a server that is well.
//! A rehearsed answer enters where a real one would arise, once the caller is admitted, and goes from there
//! on by the same way: the same words, the same headers, the same line in the log.
//!
//! Nothing here reads a request. A [`Context`](super::Context) has a [`Rehearsal`] only if somebody gives
//! it one, and the only one there is, is private to the demo: no other command can name it.

use std::time::Duration;

use http::HeaderMap;

use crate::domain;

/// Knows how a request asks for a rehearsed answer.
pub trait Rehearsal: Send + Sync {
    /// What a request with these headers asks for.
    ///
    /// # Errors
    /// What is wrong with how it asks, for the log. No answer can say it: the documents know nothing of
    /// these headers.
    fn asked(&self, headers: &HeaderMap) -> Result<Asked, &'static str>;
}

/// What a request asks for: nothing, unless it says more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// How long to wait before anything else is done.
    pub latency: Duration,
    /// The answer in place of the real one.
    pub answer: Option<Rehearsed>,
}

/// An answer that can be rehearsed on every operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rehearsed {
    /// 429, as to a caller who has just used up everything.
    RateLimited,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

impl Rehearsed {
    /// What would have gone wrong; nothing has when the caller is only too fast.
    pub fn error(self) -> Option<domain::Error> {
        match self {
            Self::RateLimited => None,
            Self::Internal => Some(domain::Error::internal("rehearsed")),
            Self::Unavailable => Some(domain::Error::unavailable("rehearsed")),
        }
    }
}
