//! Bounds the memory of answers that their peers have not taken yet.
//!
//! hyper asks for an answer's bytes as fast as it can put them somewhere, and a peer may leave them there for as long as it
//! likes: behind a zero window in HTTP/2, or in a socket that is never read. So as long as the bytes are anywhere in the
//! process, they are charged to the caller that asked for them ([`Budget`]):
//!
//! 1. The bytes that hyper gets own their [`Charge`]. It ends when hyper drops them, which is when they are in the socket,
//!    or when the stream or connection is gone.
//! 2. An answer of at most [`WHOLE`] bytes goes to hyper in one piece.
//! 3. Of a larger one hyper gets pieces, each a copy of its own, and has at most [`WINDOW`] bytes at a time. The rest can be
//!    taken back. The last piece waits until all others have gone, so that hyper never believes a stalled answer to be
//!    complete.
//! 4. When no piece of it has gone for [`STALL_LIMIT`], or [longer](OF_DOWNLOAD) if it is part of a download, the rest is given
//!    up: its memory is freed, and the stream or, in HTTP/1, the connection ends when hyper asks for more. It does not ask for
//!    a stream with a zero window, nor for an answer that it has whole: what hyper has of those stays, and stays charged, until
//!    their peer ends the connection or a proxy in front does.
//! 5. An answer that is more than its caller may hold is not sent; a 503 takes its place. One of at most [`PIECE`] bytes
//!    always is sent, since refusing would take as much, and so is one that reports a change: it has been made. A caller
//!    that holds too much already is refused before anything is done ([`super::credential`]).
//!
//! Not counted are bytes that all answers share, such as those of `/docs`; and what hyper copies: over TLS it puts up to 400
//! KiB of an HTTP/1 connection into a buffer of its own, since dropshot's TLS streams do not support vectored writes.
//! Nothing here sees that, or ends it; a proxy in front has to.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use dropshot::Body;
use http_body::{Frame, SizeHint};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::budget::{Budget, Charge};
use crate::domain::holder::{Bearer, Holder};
use crate::traffic::{self, Traffic};

/// The most bytes that hyper gets at once of an answer that is sent in pieces.
const PIECE: usize = 16 * 1024;

/// The most bytes that hyper has at a time of an answer that is sent in pieces.
const WINDOW: usize = 4 * PIECE;

/// The most bytes of an answer that is sent in one piece.
const WHOLE: usize = WINDOW;

/// How long a peer may take less than a [`PIECE`] of an answer.
const STALL_LIMIT: Duration = Duration::from_secs(10);

/// The same for a download, of which little is in memory, and of which a user has one at a time. Linux takes up to 4 MiB and
/// tells of free space when a third of that is free, so the peer may be one that takes twenty kilobytes a second.
const OF_DOWNLOAD: Duration = Duration::from_secs(60);

/// The answers of a server that have not been sent.
#[derive(Clone, Debug)]
pub(super) struct Unsent {
    budget: Arc<Budget>,
    traffic: Arc<Traffic>,
    stall_limit: Duration,
}

impl Unsent {
    /// Returns an empty one, which may hold at most `bytes` bytes in total.
    pub(super) fn new(bytes: usize, traffic: Arc<Traffic>) -> Unsent {
        Unsent {
            budget: Budget::new(bytes),
            traffic,
            stall_limit: STALL_LIMIT,
        }
    }

    /// The same for the pieces of a download.
    pub(super) fn of_download(&self) -> Unsent {
        Unsent {
            stall_limit: OF_DOWNLOAD,
            ..self.clone()
        }
    }

    /// Returns the bytes that have not been taken, and how many may be left.
    pub(super) fn state(&self) -> (usize, usize) {
        self.budget.state()
    }

    /// Returns whether `bearer` may get an answer that is not small.
    pub(super) fn has_room(&self, bearer: impl Into<Bearer>) -> bool {
        self.budget.has_room(bearer)
    }

    /// Returns a body of these bytes, or `None` if `bearer` may not have that many more.
    ///
    /// `under_way` says whether the server waits for the request before it stops, and then for the answer, too.
    pub(super) fn body(
        &self,
        bearer: impl Into<Bearer>,
        bytes: Bytes,
        under_way: bool,
    ) -> Option<Body> {
        let bearer = bearer.into();
        if bytes.len() <= PIECE {
            return Some(self.body_anyway(bearer, bytes, under_way));
        }
        let charge = self.budget.charge(bearer, bytes.len())?;
        Some(self.sent(Some((bearer, charge)), bytes, under_way))
    }

    /// Does the same, whether or not `bearer` may have that many more.
    pub(super) fn body_anyway(
        &self,
        bearer: impl Into<Bearer>,
        bytes: Bytes,
        under_way: bool,
    ) -> Body {
        let bearer = bearer.into();
        if bytes.is_empty() {
            return Body::empty();
        }
        let charge = self.budget.charge_anyway(bearer, bytes.len());
        self.sent(Some((bearer, charge)), bytes, under_way)
    }

    /// Returns a body of bytes that all answers share, which therefore cost nothing to hold.
    pub(super) fn shared_body(&self, bytes: Bytes) -> Body {
        self.sent(None, bytes, false)
    }

    fn sent(&self, charged: Option<(Bearer, Charge)>, bytes: Bytes, under_way: bool) -> Body {
        let (bearer, charge) = charged.unzip();
        let traffic = (under_way || self.traffic.is_open()).then(|| Arc::clone(&self.traffic));
        if bytes.len() <= WHOLE {
            let piece = Piece {
                bytes,
                _charge: charge,
                _under_way: traffic.as_ref().map(|it| waited_for(it, bearer)),
                answer: None,
            };
            return Body::from(Bytes::from_owner(piece));
        }
        let answer = Arc::new(UnsentAnswer {
            bearer,
            budget: Arc::clone(&self.budget),
            traffic,
            stall_limit: self.stall_limit,
            state: Mutex::new(State {
                rest: bytes,
                charge,
                watch: None,
                given_up: false,
                with_hyper: 0,
                moved_at: Instant::now(),
                waker: None,
            }),
        });
        Body::wrap(Pieces(answer))
    }
}

/// Has the server wait for a piece before it stops.
fn waited_for(traffic: &Arc<Traffic>, bearer: Option<Bearer>) -> traffic::Piece {
    match bearer.map(|it| it.holder) {
        None | Some(Holder::Address(_) | Holder::Strangers) => traffic.piece_for_stranger(),
        Some(_) => traffic.piece(),
    }
}

/// Bytes that hyper has, and their charge.
struct Piece {
    bytes: Bytes,
    _charge: Option<Charge>,
    _under_way: Option<traffic::Piece>,
    /// The answer that it is a piece of.
    answer: Option<Arc<UnsentAnswer>>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(answer) = &self.answer {
            answer.piece_has_gone(self.bytes.len());
        }
    }
}

/// An answer that is sent in pieces.
struct UnsentAnswer {
    /// Who is charged for the pieces; `None` if all answers share the bytes.
    bearer: Option<Bearer>,
    budget: Arc<Budget>,
    /// Counts its pieces, unless it started too late for that.
    traffic: Option<Arc<Traffic>>,
    stall_limit: Duration,
    state: Mutex<State>,
}

struct State {
    /// What hyper does not have yet.
    rest: Bytes,
    /// For all of the answer, until hyper has all of it.
    charge: Option<Charge>,
    /// The task that checks whether it has stalled.
    watch: Option<AbortHandle>,
    given_up: bool,
    /// How many bytes hyper has.
    with_hyper: usize,
    /// When hyper last dropped some.
    moved_at: Instant,
    /// Woken when hyper can get more, or the answer is given up.
    waker: Option<Waker>,
}

impl UnsentAnswer {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn piece_has_gone(&self, bytes: usize) {
        let mut state = self.state();
        state.with_hyper -= bytes;
        state.moved_at = Instant::now();
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Step 4. Returns when to check again; `None` if it has been given up.
    fn give_up_if_stuck(&self) -> Option<Instant> {
        let mut state = self.state();
        let end = state.moved_at + self.stall_limit;
        if Instant::now() < end {
            return Some(end);
        }
        state.given_up = true;
        let (rest, charge) = (std::mem::take(&mut state.rest), state.charge.take());
        let waker = state.waker.take();
        drop(state);
        drop((rest, charge));
        if let Some(waker) = waker {
            waker.wake();
        }
        None
    }
}

/// Ends the task that watches it.
impl Drop for UnsentAnswer {
    fn drop(&mut self) {
        if let Some(watch) = self.state().watch.take() {
            watch.abort();
        }
    }
}

/// Gives an answer up once it stalls, unless it is gone before.
async fn watch(answer: std::sync::Weak<UnsentAnswer>, mut next: Instant) {
    loop {
        tokio::time::sleep_until(next).await;
        let Some(answer) = answer.upgrade() else {
            return;
        };
        match answer.give_up_if_stuck() {
            Some(later) => next = later,
            None => return,
        }
    }
}

/// The body of an answer that is sent in pieces.
struct Pieces(Arc<UnsentAnswer>);

/// The peer has taken nothing for too long.
#[derive(Debug, thiserror::Error)]
#[error("the peer has not taken the answer")]
struct GivenUp;

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = GivenUp;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, GivenUp>>> {
        let answer = &self.0;
        let mut state = answer.state();
        if state.given_up {
            return Poll::Ready(Some(Err(GivenUp)));
        }
        let length = state.rest.len().min(PIECE);
        if length == 0 {
            return Poll::Ready(None);
        }
        let is_last = length == state.rest.len();
        let has_room = match is_last {
            true => state.with_hyper == 0,
            false => state.with_hyper + length <= WINDOW,
        };
        // From the first piece on: with a zero window, hyper does not ask for the next one.
        if state.watch.is_none()
            // Outside of a runtime there is no connection either.
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let first = Instant::now() + answer.stall_limit;
            let watch = runtime.spawn(watch(Arc::downgrade(answer), first));
            state.watch = Some(watch.abort_handle());
        }
        if !has_room {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        let slice = state.rest.split_to(length);
        let piece = Piece {
            bytes: match answer.bearer {
                // A copy, because a slice would keep all of the answer.
                Some(_) => Bytes::copy_from_slice(&slice),
                None => slice,
            },
            _charge: answer
                .bearer
                .map(|bearer| answer.budget.charge_anyway(bearer, length)),
            _under_way: answer
                .traffic
                .as_ref()
                .map(|it| waited_for(it, answer.bearer)),
            answer: Some(Arc::clone(answer)),
        };
        state.with_hyper += length;
        let all = is_last.then(|| (std::mem::take(&mut state.rest), state.charge.take()));
        drop(state);
        drop(all);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        let state = self.0.state();
        state.rest.is_empty() && !state.given_up
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.state().rest.len() as u64)
    }
}

#[cfg(test)]
mod tests;
