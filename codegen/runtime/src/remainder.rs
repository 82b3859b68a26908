//! What is left of the body of a request that is answered.
//!
//! If a server responds without having read the body, and then closes the connection, the client's system discards
//! the response together with what could not be sent. And a proxy that was not told of the close sends the next
//! request there, which may be another client's. So:
//!
//! 1. Nothing is done if the body has been read to its end.
//! 2. Nothing is read if the client waits for `100 Continue` and has not been told to go on: it sends no body until
//!    then (RFC 9110, section 10.1.1), and reading would tell it to. The response says that the connection will be
//!    closed.
//! 3. Otherwise the rest is read and discarded: at most [`DRAIN_BYTES`], plus as many as the body's limit exceeds
//!    [`MAX_BYTES`], in at most [`DRAIN_PIECES`], for at most [`DRAIN_TIME`].
//! 4. A response of HTTP/1 waits for that as long as the rest of an ordinary body takes that has been sent already
//!    ([`ARRIVING`]). If the end has not come by then, the response says that the connection will be closed, and the
//!    rest is read in the background, or not at all if as many others are already as may be at once ([`DRAINS`]).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use dropshot::RequestInfo;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING};
use http::{Response, Version};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::body::MAX_BYTES;

/// The most bytes that are drained of an unread body.
pub const DRAIN_BYTES: usize = 256 * 1024;

/// The longest time for which an unread body is drained.
pub const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The most pieces that are drained of an unread body: enough for one of several MiB in packets of the usual size. A
/// piece costs about the same however small it is.
const DRAIN_PIECES: usize = 4096;

/// The most bodies that are drained in the background at once. Each may keep the half a megabyte that hyper has read ahead.
const DRAINS: usize = 64;

/// Room for as many.
static ROOM: Semaphore = Semaphore::const_new(DRAINS);

/// How long a response waits for the end of a body.
const ARRIVING: Duration = Duration::from_millis(20);

/// What will be left of a request's body, for whoever makes the response.
#[derive(Debug)]
#[must_use = "the body stays on the connection"]
pub struct Remainder(Option<Arc<Shared>>);

/// Where a body is left that is not needed any more.
#[derive(Debug)]
pub(crate) struct Leaves(Arc<Shared>);

#[derive(Debug)]
struct Shared(Mutex<State>);

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
    /// How many pieces more are read.
    pieces: usize,
    /// How many bytes more are read.
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
        Remainder(has_body.then(|| Arc::new(Shared(Mutex::new(State::Broken)))))
    }

    /// Of a request with a body.
    pub(crate) fn left() -> (Leaves, Remainder) {
        let state = Arc::new(Shared(Mutex::new(State::Needed)));
        (Leaves(Arc::clone(&state)), Remainder(Some(state)))
    }

    /// Deals with the rest of the body of `request`, to which nothing is left to do but to send the response, and has
    /// the response tell the client: steps 3 and 4.
    pub async fn settle<B>(self, request: &RequestInfo, response: &mut Response<B>) {
        if self.closes(request).await {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
    }

    /// Whether the connection will be closed after the response.
    async fn closes(self, request: &RequestInfo) -> bool {
        let state = self.0.map(|state| state.replace(State::Answered));
        // Over HTTP/2 only the stream ends.
        let is_http1 = request.version() <= Version::HTTP_11;
        let mut drain = match state {
            Some(State::Left(drain)) => drain,
            Some(State::Broken) => return is_http1,
            Some(State::Needed | State::Answered) | None => return false,
        };
        let is_ordinary = drain.body.size_hint().lower() <= MAX_BYTES as u64;
        if is_http1 && is_ordinary {
            let left = drain.most - MAX_BYTES;
            if timeout(ARRIVING, drain.read(left)).await == Ok(true) {
                return false;
            }
        }
        drain.in_background();
        is_http1
    }
}

impl Leaves {
    /// Leaves the rest of a body to the response, if that is not made yet.
    pub(crate) fn leave(self, drain: Drain) {
        let mut state = self.0.lock();
        match *state {
            State::Answered => drain.in_background(),
            _ => *state = State::Left(drain),
        }
    }

    /// Says that the body will not be read to its end.
    pub(crate) fn leave_broken(self) {
        self.0.replace(State::Broken);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, by: State) -> State {
        std::mem::replace(&mut *self.lock(), by)
    }
}

impl Drain {
    /// Drains a body with this limit.
    pub(crate) fn new(body: dropshot::Body, max_bytes: usize) -> Drain {
        let most = DRAIN_BYTES + max_bytes.saturating_sub(MAX_BYTES);
        Drain {
            body,
            pieces: DRAIN_PIECES,
            most,
        }
    }

    /// Discards the rest in the background, if there is room.
    pub(crate) fn in_background(self) {
        self.within(&ROOM);
    }

    fn within(mut self, room: &'static Semaphore) {
        // Outside of a runtime there is no connection either.
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && let Ok(taken) = room.try_acquire()
        {
            runtime.spawn(timeout(DRAIN_TIME, async move {
                self.read(0).await;
                drop(taken);
            }));
        }
    }

    /// Discards the next bytes, while at least `left` are still to be read. Returns whether the body has ended.
    async fn read(&mut self, left: usize) -> bool {
        while let Some(frame) = self.body.frame().await {
            let Ok(frame) = frame else {
                return false;
            };
            let read = frame.data_ref().map_or(0, Bytes::len);
            let most = self.most.checked_sub(read);
            let pieces = self.pieces.checked_sub(1);
            let (Some(most), Some(pieces)) = (most, pieces) else {
                return false;
            };
            (self.most, self.pieces) = (most, pieces);
            if most < left {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::mpsc::{self, UnboundedSender};
    use hyper::body::Frame;

    use super::*;

    fn drain(bytes: usize, max_bytes: usize) -> Drain {
        let body = dropshot::Body::from("x".repeat(bytes));
        Drain::new(body, max_bytes)
    }

    #[tokio::test]
    async fn as_much_more_is_drained_as_a_body_may_have_beyond_the_usual() {
        for (max_bytes, most) in [
            (1, DRAIN_BYTES),
            (MAX_BYTES, DRAIN_BYTES),
            (MAX_BYTES + 1, DRAIN_BYTES + 1),
        ] {
            assert!(drain(most, max_bytes).read(0).await, "{max_bytes}");
            assert!(!drain(most + 1, max_bytes).read(0).await, "{max_bytes}");
        }
    }

    #[tokio::test]
    async fn no_more_pieces_are_drained_of_a_body_that_may_be_large() {
        let drain = |number| {
            let piece = Bytes::from_static(b"x");
            let pieces =
                std::iter::repeat_with(move || Ok::<_, std::io::Error>(Frame::data(piece.clone())));
            let body = futures::stream::iter(pieces.take(number));
            let body = dropshot::Body::wrap(http_body_util::StreamBody::new(body));
            Drain::new(body, 5 * 1024 * 1024)
        };
        assert!(drain(DRAIN_PIECES).read(0).await);
        assert!(!drain(DRAIN_PIECES + 1).read(0).await);
    }

    #[tokio::test]
    async fn no_more_bodies_are_drained_at_once_than_there_is_room_for() {
        static ROOM: Semaphore = Semaphore::const_new(2);
        let drained = || {
            let (sender, pieces) = mpsc::unbounded::<std::io::Result<Frame<Bytes>>>();
            let body = dropshot::Body::wrap(http_body_util::StreamBody::new(pieces));
            Drain::new(body, MAX_BYTES).within(&ROOM);
            sender
        };
        let bodies = [drained(), drained(), drained()];
        let are_dropped = bodies.each_ref().map(UnboundedSender::is_closed);
        assert_eq!(are_dropped, [false, false, true]);
        drop(bodies);
        let room = timeout(10 * DRAIN_TIME, ROOM.acquire_many(2)).await;
        assert!(matches!(room, Ok(Ok(_))));
    }

    #[test]
    fn a_body_is_left_to_the_response_until_that_is_made() {
        let (leaves, remainder) = Remainder::left();
        let state = remainder.0.unwrap();
        leaves.leave(drain(1, MAX_BYTES));
        assert!(matches!(state.replace(State::Answered), State::Left(_)));
        Leaves(Arc::clone(&state)).leave(drain(1, MAX_BYTES));
        assert!(matches!(state.replace(State::Needed), State::Answered));
    }
}
