//! Answers that are too large to be made at once, such as an export of a catalog: the rest is made while the beginning is on
//! its way.
//!
//! 1. A handler answers with the beginning, and leaves the [`Rest`] with it: a stream of pieces.
//! 2. The next piece is made when hyper asks for more than it has. Each piece is an answer of its own to
//!    [`unsent`](super::unsent): it is charged to its caller until it has gone, and, if it is itself sent in pieces, is
//!    given up when it stalls. So all but the last should be large.
//! 3. A piece that cannot be made, or is more than its caller may hold, ends the stream or connection early, which shows a
//!    client that something is missing; but not over HTTP/1.0, where every answer like this ends that way.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use dropshot::Body;
use futures::StreamExt;
use futures::stream::{BoxStream, Stream};
use http_body::Frame;

use super::unsent::Unsent;
use crate::domain::holder::Bearer;

type Pieces = BoxStream<'static, Result<Bytes, BrokenOff>>;

/// A piece cannot be made. The code that makes the pieces logs why.
#[derive(Debug, thiserror::Error)]
#[error("the rest of the answer cannot be made")]
pub(crate) struct BrokenOff;

/// What follows the bytes of an answer, in its extensions.
#[derive(Clone)]
pub(crate) struct Rest(Arc<Mutex<Option<Pieces>>>);

impl Rest {
    /// Returns the rest that consists of these pieces.
    pub(crate) fn new(
        pieces: impl Stream<Item = Result<Bytes, BrokenOff>> + Send + 'static,
    ) -> Rest {
        Rest(Arc::new(Mutex::new(Some(pieces.boxed()))))
    }

    /// Returns a body of `beginning`, and then these pieces.
    pub(super) fn after(
        self,
        beginning: Body,
        unsent: &Unsent,
        bearer: Bearer,
        under_way: bool,
    ) -> Body {
        // It is taken once.
        let pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(pieces) = pieces else {
            return beginning;
        };
        Body::wrap(Growing {
            current: Some(beginning),
            pieces: Mutex::new(pieces),
            unsent: unsent.clone(),
            bearer,
            under_way,
        })
    }
}

/// The caller leaves too much of other answers unread.
#[derive(Debug, thiserror::Error)]
#[error("the caller has too many answers that it does not take")]
struct TooMuchUnread;

/// A body that grows while it is sent.
struct Growing {
    current: Option<Body>,
    /// In a lock because a body has to be `Sync`; nothing else takes it.
    pieces: Mutex<Pieces>,
    unsent: Unsent,
    bearer: Bearer,
    under_way: bool,
}

impl http_body::Body for Growing {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        loop {
            if let Some(current) = &mut self.current {
                match std::task::ready!(Pin::new(current).poll_frame(context)) {
                    Some(frame) => return Poll::Ready(Some(frame)),
                    None => self.current = None,
                }
            }
            let pieces = self.pieces.get_mut();
            let pieces = pieces.unwrap_or_else(PoisonError::into_inner);
            match std::task::ready!(pieces.poll_next_unpin(context)) {
                Some(Ok(piece)) => {
                    let body = self.unsent.body(self.bearer, piece, self.under_way);
                    match body {
                        Some(body) => self.current = Some(body),
                        None => return Poll::Ready(Some(Err(TooMuchUnread.into()))),
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::BodyExt;
    use uuid::Uuid;

    use super::*;
    use crate::domain::holder::Holder;

    const HOLDER: Holder = Holder::User(Uuid::nil());

    fn growing(unsent: &Unsent, pieces: Vec<Result<Bytes, BrokenOff>>) -> Body {
        let beginning = unsent.body_anyway(HOLDER, Bytes::from_static(b"begin "), false);
        Rest::new(stream::iter(pieces)).after(beginning, unsent, HOLDER.into(), false)
    }

    fn unsent() -> Unsent {
        Unsent::new(1024 * 1024, Arc::default())
    }

    #[tokio::test]
    async fn the_pieces_follow_the_beginning_in_their_order() {
        let large = Bytes::from(vec![b'x'; 60_000]);
        let pieces = vec![Ok("one ".into()), Ok(large.clone()), Ok(Bytes::new())];
        let body = growing(&unsent(), pieces);
        let all = body.collect().await.unwrap().to_bytes();
        assert_eq!(all, [b"begin one ", &large[..]].concat());
    }

    #[tokio::test]
    async fn a_piece_that_cannot_be_made_breaks_the_answer_off() {
        let body = growing(&unsent(), vec![Ok("one".into()), Err(BrokenOff)]);
        assert!(body.collect().await.is_err());
    }

    #[tokio::test]
    async fn whoever_leaves_too_much_unread_gets_no_further_piece() {
        let unsent = unsent();
        let large = Bytes::from(vec![b'x'; 200_000]);
        let body = growing(&unsent, vec![Ok(large.clone())]);
        let unread = unsent.body_anyway(HOLDER, large, false);
        assert!(body.collect().await.is_err());
        drop(unread);
    }
}
