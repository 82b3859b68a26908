//! Tracks what is under way, so that a server that is asked to stop knows when it can.
//!
//! dropshot waits for every connection to close, and an HTTP/2 connection stays open until its client answers the server's
//! GOAWAY. So what counts here is not which clients are connected, but what they still wait for:
//!
//! 1. a request, from when its caller is checked until its answer is made, and later while a further part of it is made;
//! 2. an answer, until its last byte has been handed to the connection's socket, or given up; that of a stranger, who may take
//!    as long as they like, for [`STUCK`] after the server began to stop;
//! 3. an answer of which no byte has been taken for [`STUCK`] is not waited for, nor is a body that has not arrived and
//!    been checked so long after the server began to stop: its request is refused (503);
//! 4. nor is anything that starts later than [`GRACE`] after the server began to stop, or a client could keep it running by
//!    sending more. Such requests are refused (503), except those of strangers, which cost little.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How long nothing may be under way before the server assumes that nothing more comes. Long enough for bytes that TLS still
/// holds to reach their socket.
const QUIET: Duration = Duration::from_millis(500);

/// How long a peer may leave its answer unread, or a body on the way, while the server waits to stop.
const STUCK: Duration = Duration::from_secs(5);

/// How long after the server began to stop new work is still waited for: a client has to see the GOAWAY first.
const GRACE: Duration = Duration::from_secs(1);

/// How often this is checked.
const STEP: Duration = Duration::from_millis(50);

/// What is under way in a server.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: Arc<()>,
    answers: Arc<()>,
    answers_of_strangers: Arc<()>,
    /// How many pieces of answers to others have been sent or given up.
    sent: AtomicU64,
    /// Whether it is too late to start anything.
    closed: AtomicBool,
    /// Whether it is too late for bodies that are on the way.
    late: watch::Sender<bool>,
}

/// A request under way, until its last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Request(#[expect(dead_code, reason = "it is kept to be dropped")] Arc<()>);

/// A piece of an answer, waiting to be sent.
#[derive(Debug)]
pub(crate) struct Piece {
    /// `None` if it is for a stranger.
    traffic: Option<Arc<Traffic>>,
    #[expect(dead_code, reason = "it is kept to be dropped")]
    counted: Arc<()>,
}

impl Traffic {
    /// Registers a request. Returns `None` if it comes too late.
    pub(crate) fn request(&self) -> Option<Request> {
        self.is_open().then(|| Request(Arc::clone(&self.requests)))
    }

    /// Registers that a further part of an answer is being made.
    pub(crate) fn further_part(&self) -> Request {
        Request(Arc::clone(&self.requests))
    }

    /// Returns how many requests are under way.
    pub(crate) fn requests(&self) -> usize {
        // One reference is our own.
        Arc::strong_count(&self.requests) - 1
    }

    /// Returns whether work that starts now is waited for.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Relaxed)
    }

    /// Waits for a body. Returns `None` if it comes too late.
    pub(crate) async fn body<T>(&self, body: impl Future<Output = T>) -> Option<T> {
        // Made only for a body that is not there yet. The sender lives as long as `self`.
        let late = async { drop(self.late.subscribe().wait_for(|late| *late).await) };
        tokio::select! {
            biased;
            body = body => Some(body),
            () = late => None,
        }
    }

    /// Registers a piece of an answer that waits to be sent.
    pub(crate) fn piece(self: &Arc<Self>) -> Piece {
        Piece {
            traffic: Some(Arc::clone(self)),
            counted: Arc::clone(&self.answers),
        }
    }

    /// Registers a piece of an answer that waits to be sent to a stranger.
    pub(crate) fn piece_for_stranger(&self) -> Piece {
        Piece {
            traffic: None,
            counted: Arc::clone(&self.answers_of_strangers),
        }
    }

    /// Waits until nothing is under way.
    pub(crate) async fn settled(&self) {
        let begun = Instant::now();
        let (mut seen, mut since) = (self.sent.load(Ordering::Relaxed), Instant::now());
        loop {
            sleep(STEP).await;
            if begun.elapsed() >= GRACE {
                self.closed.store(true, Ordering::Relaxed);
            }
            if begun.elapsed() >= STUCK {
                self.late.send_replace(true);
            }
            let sent = self.sent.load(Ordering::Relaxed);
            // One reference of each is our own.
            let requests = Arc::strong_count(&self.requests) > 1;
            let answers = Arc::strong_count(&self.answers) > 1
                || Arc::strong_count(&self.answers_of_strangers) > 1 && begun.elapsed() < STUCK;
            if requests || sent != seen {
                (seen, since) = (sent, Instant::now());
            } else if since.elapsed() >= if answers { STUCK } else { QUIET } {
                return;
            }
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if let Some(traffic) = &self.traffic {
            traffic.sent.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how long it takes until nothing is under way.
    async fn settled(traffic: &Traffic) -> Duration {
        let start = Instant::now();
        traffic.settled().await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_server_settles_within_a_second() {
        assert!(settled(&Traffic::default()).await < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_waited_for_however_long_it_takes() {
        let traffic = Traffic::default();
        let request = traffic.request().unwrap();
        let end = async {
            sleep(Duration::from_secs(20)).await;
            drop(request);
        };
        let (took, ()) = tokio::join!(settled(&traffic), end);
        assert_eq!(took.as_secs(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for_and_one_that_comes_is() {
        let traffic = Traffic::default();
        let request = traffic.request().unwrap();
        let bodies = async {
            let comes = traffic.body(sleep(STUCK - STEP)).await;
            let never = traffic.body(std::future::pending::<()>()).await;
            drop(request);
            (comes, never)
        };
        let (took, bodies) = tokio::join!(settled(&traffic), bodies);
        assert_eq!(bodies, (Some(()), None));
        assert_eq!(took.as_secs(), STUCK.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_further_part_of_an_answer_is_waited_for_when_it_is_too_late_for_requests() {
        let traffic = Traffic::default();
        let made = async {
            for _ in 0..2 {
                let part = traffic.further_part();
                sleep(Duration::from_secs(3)).await;
                drop(part);
                assert!(traffic.request().is_none());
            }
        };
        let (took, ()) = tokio::join!(settled(&traffic), made);
        assert_eq!(took.as_secs(), 6);
    }

    #[tokio::test(start_paused = true)]
    async fn who_keeps_asking_does_not_keep_a_server_from_stopping() {
        let traffic = Traffic::default();
        let asking = async {
            while let Some(request) = traffic.request() {
                sleep(STEP).await;
                drop(request);
            }
            // A refused one.
            std::future::pending().await
        };
        let took = tokio::select! {
            took = settled(&traffic) => took,
            () = asking => Duration::MAX,
        };
        assert_eq!(took.as_secs(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stranger_who_takes_an_answer_slowly_is_waited_for_a_few_seconds() {
        let traffic = Arc::new(Traffic::default());
        let slowly = async {
            let mut piece = traffic.piece_for_stranger();
            loop {
                sleep(Duration::from_secs(1)).await;
                let next = traffic.piece_for_stranger();
                drop(std::mem::replace(&mut piece, next));
            }
        };
        let took = tokio::select! {
            took = settled(&traffic) => took,
            () = slowly => Duration::MAX,
        };
        assert_eq!(took.as_secs(), STUCK.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_waited_for_while_its_peer_takes_of_it() {
        let traffic = Arc::new(Traffic::default());
        let mut piece = traffic.piece();
        let peer = async {
            for _ in 0..5 {
                sleep(Duration::from_secs(4)).await;
                let next = traffic.piece();
                drop(std::mem::replace(&mut piece, next));
            }
        };
        let (took, ()) = tokio::join!(settled(&traffic), peer);
        // The last piece is left where it is.
        assert_eq!(took.as_secs(), 5 * 4 + STUCK.as_secs());
    }
}
