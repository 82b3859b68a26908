//! What is left of the body of a request that is answered.
//!
//! If a server responds without having read the body, and then closes the connection, the client's system discards
//! the response together with what could not be sent. And a proxy that was not told of the close sends the next
//! request there, which may be another client's. So:
//!
//! 1. Nothing is done if the body has been read to its end.
//! 2. Nothing is done if the client waits for `100 Continue` and has not been told to go on: it sends no body until
//!    then (RFC 9110, section 10.1.1), and reading would tell it to. hyper closes, and says so.
//! 3. Otherwise the rest is read and discarded: at most [`DRAIN_BYTES`], plus as many as the body's limit exceeds
//!    [`MAX_BYTES`], for at most [`DRAIN_TIME`].
//! 4. A response of HTTP/1 waits for that as long as the rest of an ordinary body takes that has been sent already
//!    ([`ARRIVING`]). If the end has not come by then, the response says that the connection will be closed, and the
//!    rest is read in the background.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use dropshot::RequestInfo;
use http::Version;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;

use crate::body::MAX_BYTES;

/// The most bytes that are drained of an unread body.
pub const DRAIN_BYTES: usize = 256 * 1024;

/// The longest time for which an unread body is drained.
pub const DRAIN_TIME: Duration = Duration::from_secs(1);

/// How long a response waits for the end of a body.
const ARRIVING: Duration = Duration::from_millis(20);

/// What will be left of a request's body, for whoever makes the response.
#[derive(Debug)]
pub struct Remainder(Option<Arc<Mutex<State>>>);

/// Where a body is left that is not needed any more.
#[derive(Debug)]
pub(crate) struct Leaves(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    /// The body is still needed, or has been read.
    Needed,
    Left(Drain),
    /// It will not be read to its end.
    Broken,
    /// The response is made.
    Answered,
}

/// A body of which the rest is discarded.
#[derive(Debug)]
pub(crate) struct Drain {
    body: dropshot::Body,
    most: usize,
}

impl Remainder {
    /// Of a request without a body.
    pub(crate) fn nothing() -> Remainder {
        Remainder(None)
    }

    /// Of a request whose body has been dropped, if it has one.
    pub fn dropped(request: &RequestInfo) -> Remainder {
        let headers = request.headers();
        let length = headers.get(CONTENT_LENGTH);
        let has_body =
            headers.contains_key(TRANSFER_ENCODING) || length.is_some_and(|it| it != "0");
        Remainder(has_body.then(|| Arc::new(Mutex::new(State::Broken))))
    }

    /// Of a request with a body.
    pub(crate) fn left() -> (Leaves, Remainder) {
        let state = Arc::new(Mutex::new(State::Needed));
        (Leaves(Arc::clone(&state)), Remainder(Some(state)))
    }

    /// Deals with the rest of the body of `request`, which nothing needs any more. Returns what the response has to
    /// be told: steps 3 and 4.
    pub async fn settle(self, request: &RequestInfo) -> Closing {
        let state = self.0.map(|state| replace(&state, State::Answered));
        // HTTP/2 ends the stream alone.
        let is_http1 = request.version() <= Version::HTTP_11;
        let mut drain = match state {
            Some(State::Left(drain)) => drain,
            Some(State::Broken) => return Closing(is_http1),
            Some(State::Needed | State::Answered) | None => return Closing(false),
        };
        if !is_http1 {
            drain.in_background();
            return Closing(false);
        }
        let is_ordinary = drain.body.size_hint().lower() <= MAX_BYTES as u64;
        if is_ordinary && timeout(ARRIVING, drain.read(MAX_BYTES)).await == Ok(true) {
            return Closing(false);
        }
        drain.in_background();
        Closing(true)
    }
}

/// Whether the connection will be closed after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the response says it"]
pub struct Closing(bool);

impl Closing {
    /// Tells the client.
    pub fn tell(self, headers: &mut HeaderMap) {
        if self.0 {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

impl Leaves {
    /// Leaves the rest of a body to the response, if that is not made yet.
    pub(crate) fn leave(self, drain: Drain) {
        match replace(&self.0, State::Needed) {
            State::Answered => drain.in_background(),
            State::Needed | State::Left(_) | State::Broken => {
                replace(&self.0, State::Left(drain));
            }
        }
    }

    /// Says that there is no rest to be read: reading the body has failed.
    pub(crate) fn leave_broken(self) {
        replace(&self.0, State::Broken);
    }
}

fn replace(state: &Mutex<State>, by: State) -> State {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut state, by)
}

impl Drain {
    /// Drains a body with this limit.
    pub(crate) fn new(body: dropshot::Body, max_bytes: usize) -> Drain {
        let most = DRAIN_BYTES + max_bytes.saturating_sub(MAX_BYTES);
        Drain { body, most }
    }

    /// Discards the rest in the background.
    pub(crate) fn in_background(mut self) {
        // Outside of a runtime there is no connection either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(timeout(DRAIN_TIME, async move {
                self.read(self.most).await;
            }));
        }
    }

    /// Discards the next bytes, and returns whether the body ended within `most` of them.
    async fn read(&mut self, most: usize) -> bool {
        let mut left = most;
        while let Some(frame) = self.body.frame().await {
            let Ok(frame) = frame else {
                return false;
            };
            let read = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => return false,
            }
        }
        true
    }
}
