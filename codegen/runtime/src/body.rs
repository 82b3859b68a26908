//! The body of a request, read within limits.
//!
//! A body is copied into one buffer of its own as it arrives. hyper's frames hold on to the buffer that the
//! connection was read into, so keeping frames of a few bytes would keep all of those buffers. Only a body that
//! arrives whole in its first frame, as nearly all do, is used as it is.
//!
//! A piece of a body, a chunk of HTTP/1 or a frame of HTTP/2, costs about the same whether it has one byte or a
//! thousand. So a body in [very many tiny ones](MANY_PIECES) is refused.
//!
//! What nobody reads of it is [left](crate::remainder) to whoever makes the response.

use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::header::{self, HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout_at};

use crate::rejection::{Cause, RequestError};
use crate::remainder::{Drain, Leaves, Remainder};
use crate::violation::{Violation, constraint};

/// The most bytes that are read of a request body, unless [more are allowed](RequestBody::allowing).
pub const MAX_BYTES: usize = 64 * 1024;

/// How soon after its headers a request body must be complete, unless [more is allowed](RequestBody::allowing).
pub const DEADLINE: Duration = Duration::from_secs(10);

/// How many pieces a body may come in, however small they are.
const MANY_PIECES: usize = 1024;

/// How many bytes each piece has on average, if a body comes in more of them.
const PIECE_BYTES: usize = 16;

/// The pieces that a body has come in so far.
#[derive(Debug, Default)]
struct Pieces {
    number: usize,
    bytes: usize,
}

impl Pieces {
    /// Counts a piece. Returns whether the body may go on.
    fn count(&mut self, bytes: usize) -> bool {
        self.number += 1;
        self.bytes += bytes;
        self.number <= MANY_PIECES + self.bytes / PIECE_BYTES
    }
}

/// A request body that has not been read yet.
#[derive(Debug)]
pub struct RequestBody {
    /// `None` once it has been left.
    body: Option<dropshot::Body>,
    pieces: Pieces,
    /// Whether reading it has failed, so that the rest is not read.
    is_broken: bool,
    /// Where it is left.
    leaves: Option<Leaves>,
    /// Whether the client waits to be told to go on.
    awaits_continue: bool,
    /// When the headers had arrived.
    received: Instant,
    max_bytes: usize,
    deadline: Duration,
}

impl RequestBody {
    /// Creates the body of a request with these headers.
    pub fn new(headers: &HeaderMap, body: dropshot::Body) -> RequestBody {
        let expects = headers.get(header::EXPECT).map(HeaderValue::as_bytes);
        let awaits_continue = expects.is_some_and(|it| it.eq_ignore_ascii_case(b"100-continue"));
        RequestBody {
            body: Some(body),
            pieces: Pieces::default(),
            is_broken: false,
            leaves: None,
            awaits_continue,
            received: Instant::now(),
            max_bytes: MAX_BYTES,
            deadline: DEADLINE,
        }
    }

    /// Sets the limits of the body's size and time.
    #[must_use]
    pub fn allowing(mut self, max_bytes: usize, deadline: Duration) -> RequestBody {
        self.max_bytes = max_bytes;
        self.deadline = deadline;
        self
    }

    /// Has the body left to whoever makes the response, unless it has been read to its end by then.
    pub fn remainder(&mut self) -> Remainder {
        if self.has_ended() {
            return Remainder::nothing();
        }
        let (leaves, remainder) = Remainder::left();
        self.leaves = Some(leaves);
        remainder
    }

    /// Refuses a body by its declared length, before any of it is read.
    ///
    /// # Errors
    /// 413.
    pub fn check_declared_length(&self) -> Result<(), RequestError> {
        let declared = self
            .body
            .as_ref()
            .map_or(0, |body| body.size_hint().lower());
        if declared > self.max_bytes as u64 {
            Err(RequestError::too_large(self.max_bytes))
        } else {
            Ok(())
        }
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// 408 if it takes too long ([`DEADLINE`]), 413 if it has too many bytes ([`MAX_BYTES`]), 400 if it is
    /// incomplete, or comes in more than 1,024 pieces that have fewer than 16 bytes on average.
    pub async fn read(&mut self) -> Result<Bytes, RequestError> {
        self.awaits_continue = false;
        let deadline = self.deadline;
        timeout_at(self.received + deadline, self.collect())
            .await
            .unwrap_or_else(|_| Err(RequestError::timeout(deadline.as_secs())))
    }

    /// Collects all pieces in one buffer.
    async fn collect(&mut self) -> Result<Bytes, RequestError> {
        let mut whole = Vec::new();
        while let Some(data) = self.next().await? {
            let length = whole.len() + data.len();
            if length > self.max_bytes {
                return Err(RequestError::too_large(self.max_bytes));
            }
            if whole.is_empty() && self.has_ended() {
                return Ok(data);
            }
            make_room(&mut whole, length, self.max_bytes);
            whole.extend_from_slice(&data);
        }
        Ok(whole.into())
    }

    /// Returns the body as a stream, within the same limits as [`read`](RequestBody::read). The part that is not
    /// read is left.
    ///
    /// # Errors
    /// As for [`read`](RequestBody::read); the stream ends after one.
    pub fn stream(mut self) -> impl Stream<Item = Result<Bytes, RequestError>> + Send {
        self.awaits_continue = false;
        let end = self.received + self.deadline;
        let left = self.max_bytes;
        futures::stream::try_unfold((self, left), move |(mut body, left)| async move {
            let next = timeout_at(end, body.next()).await;
            let seconds = body.deadline.as_secs();
            let data = match next.unwrap_or_else(|_| Err(RequestError::timeout(seconds)))? {
                Some(data) => data,
                None => return Ok(None),
            };
            match left.checked_sub(data.len()) {
                Some(left) => Ok(Some((data, (body, left)))),
                None => Err(RequestError::too_large(body.max_bytes)),
            }
        })
    }

    /// The next piece, if there is one.
    async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        let Some(body) = &mut self.body else {
            return Ok(None);
        };
        while let Some(frame) = body.frame().await {
            // The connection broke, or the framing of the body is wrong.
            let Ok(frame) = frame else {
                self.is_broken = true;
                return Err(refused("must arrive completely"));
            };
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            if !self.pieces.count(bytes) {
                self.is_broken = true;
                return Err(refused("must not come in thousands of tiny pieces"));
            }
            // A frame without data is a trailer, which nothing here reads.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    fn has_ended(&self) -> bool {
        self.body
            .as_ref()
            .is_none_or(hyper::body::Body::is_end_stream)
    }

    /// Returns the most memory that reading it takes: the declared length, or else the limit.
    pub fn expected_bytes(&self) -> usize {
        let declared = self
            .body
            .as_ref()
            .map_or(Some(0), |body| body.size_hint().upper());
        let max = self.max_bytes;
        declared.map_or(max, |bytes| {
            usize::try_from(bytes).map_or(max, |bytes| bytes.min(max))
        })
    }
}

/// Makes room for `length` more bytes. The buffer doubles, so that many tiny frames cost no more than their number,
/// but never grows beyond the limit.
fn make_room(whole: &mut Vec<u8>, length: usize, max_bytes: usize) {
    if length > whole.capacity() {
        let capacity = length.next_power_of_two().clamp(1024, max_bytes);
        whole.reserve_exact(capacity - whole.len());
    }
}

fn refused(message: &'static str) -> RequestError {
    RequestError {
        cause: Cause::Body,
        violations: Violation::new("", constraint::JSON, message).into(),
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(body) = self.body.take() else { return };
        if body.is_end_stream() {
            return;
        }
        let drain =
            (!self.is_broken && !self.awaits_continue).then(|| Drain::new(body, self.max_bytes));
        match (self.leaves.take(), drain) {
            (Some(leaves), Some(drain)) => leaves.leave(drain),
            (Some(leaves), None) => leaves.leave_broken(),
            (None, Some(drain)) => drain.in_background(),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of `number` pieces of `bytes` each.
    fn in_pieces(number: usize, bytes: usize) -> RequestBody {
        let piece = Bytes::from("x".repeat(bytes));
        let frames = std::iter::repeat_n(piece, number).map(hyper::body::Frame::data);
        let frames = futures::stream::iter(frames.map(Ok::<_, std::io::Error>));
        let body = dropshot::Body::wrap(http_body_util::StreamBody::new(frames));
        RequestBody::new(&HeaderMap::new(), body)
    }

    #[tokio::test]
    async fn a_body_comes_in_a_thousand_pieces_of_any_size_and_more_that_are_larger() {
        for (number, bytes) in [(MANY_PIECES, 1), (MAX_BYTES / PIECE_BYTES, PIECE_BYTES)] {
            let read = in_pieces(number, bytes).read().await;
            assert_eq!(read.map(|it| it.len()), Ok(number * bytes));
        }
        let most = MANY_PIECES + MANY_PIECES / (PIECE_BYTES - 1);
        assert!(in_pieces(most, 1).read().await.is_ok());
        for (number, bytes) in [(most + 1, 1), (60_000, 1), (MANY_PIECES + 1, 0)] {
            let mut body = in_pieces(number, bytes);
            let refused = body.read().await.expect_err("too many pieces");
            assert_eq!(refused.cause, Cause::Body, "{number} of {bytes}");
            assert!(body.is_broken, "the rest is not read");
        }
    }

    #[tokio::test]
    async fn a_stream_of_tiny_pieces_ends_with_an_error() {
        use futures::StreamExt;
        let pieces: Vec<_> = in_pieces(60_000, 1).stream().collect().await;
        let (last, read) = pieces.split_last().expect("pieces");
        assert!(read.len() <= MANY_PIECES + read.len() / PIECE_BYTES);
        assert!(last.is_err() && read.iter().all(Result::is_ok));
    }

    fn of(bytes: usize) -> RequestBody {
        let body = dropshot::Body::from("x".repeat(bytes));
        RequestBody::new(&HeaderMap::new(), body)
    }

    #[test]
    fn a_body_is_expected_to_take_what_it_declares_or_what_it_may_have() {
        assert_eq!(of(0).expected_bytes(), 0);
        assert_eq!(of(5).expected_bytes(), 5);
        assert_eq!(of(MAX_BYTES + 1).expected_bytes(), MAX_BYTES);
        let endless =
            futures::stream::pending::<Result<hyper::body::Frame<Bytes>, std::io::Error>>();
        let endless = dropshot::Body::wrap(http_body_util::StreamBody::new(endless));
        let endless = RequestBody::new(&HeaderMap::new(), endless);
        assert_eq!(endless.expected_bytes(), MAX_BYTES);
    }
}
