//! A connection, taken from the pool for one request, and what becomes of it afterwards.
//!
//! A connection goes back to the pool only after a request that succeeded or was refused by a rule. A request that is given
//! up, at its deadline or with its task, leaves a statement running or a transaction open: the server is asked to stop the
//! statement, and then the connection is closed, which ends the transaction. A connection on which something failed that may
//! succeed elsewhere is closed, too: its server may be a standby by now. A commit is not stopped: it keeps the connection, and
//! its slot, until the server answers, is gone, or has lost its place to another. Otherwise a server that answers none, such as
//! one whose synchronous standby is away, would get another connection for each, until it has no more for anybody.
//!
//! If a server was silent for [longer than it may take](SILENCE), the idle connections are closed as well, since they most
//! likely lead to the same server. Not so if it was silent at a commit: it may answer everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object, Pool};
use tokio::time::Instant;

use super::connect::Connector;
use super::preparing::Preparing;
use super::slots::{Slot, Slots};

/// How long a caller waits for an answer, as in SQLite.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// How long asking the server to stop a statement may take. The request travels on a connection of its own, and a pooler
/// makes a second one for it: on a busy machine, two seconds were not enough. No caller waits for it, and nothing else ends
/// a read that waits for a lock. The pool makes another connection meanwhile, so a server that hears nothing may have twice
/// as many from this process as the pool has.
const CANCEL_TIMEOUT: Duration = DEADLINE;

/// How long a statement must go unanswered to show that its server hangs: longer than the four seconds after which a working
/// server gives up a change. A caller that first waited for a connection does not wait that long for an answer, and shows
/// nothing.
const SILENCE: Duration = Duration::from_millis(4_500);

/// Nothing was sent yet, and another request may have the connection.
const UNUSED: u8 = 0;
/// A statement or a transaction is under way.
const BUSY: u8 = 1;
/// The commit is under way, and must not be stopped: promise 5 of the [store](super).
const COMMITTING: u8 = 2;
/// Nothing is under way, and another request may have the connection.
const DONE: u8 = 3;
/// Nothing is under way, but the connection must not be used again.
const SPENT: u8 = 4;

/// A connection of the pool, held by one request.
pub(super) struct Checkout {
    /// `None` only while being dropped.
    connection: Option<Object>,
    state: AtomicU8,
    /// Whether a statement has changed something.
    has_written: AtomicBool,
    begun: Instant,
    /// When the last statement was sent, in milliseconds after `begun`.
    sent: AtomicU64,
    pool: Pool,
    connector: Connector,
    /// The server that it leads to, most likely.
    server: usize,
    slots: Arc<Slots>,
    /// Given back after the connection; `None` only while being dropped.
    slot: Option<Slot>,
}

impl Checkout {
    pub(super) fn new(
        connection: Object,
        slot: Slot,
        pool: Pool,
        connector: Connector,
        slots: Arc<Slots>,
    ) -> Checkout {
        Checkout {
            connection: Some(connection),
            state: AtomicU8::new(UNUSED),
            has_written: AtomicBool::new(false),
            begun: Instant::now(),
            sent: AtomicU64::new(0),
            pool,
            server: connector.server(),
            connector,
            slots,
            slot: Some(slot),
        }
    }

    /// The connection.
    pub(super) fn connection(&self) -> &ClientWrapper {
        // Cannot fail: only `drop` takes it out, and nothing can call this after that.
        self.connection
            .as_ref()
            .expect("a checkout has a connection")
    }

    /// Whether the connection, which takes no changes, is to be replaced.
    pub(super) fn replaces_read_only(&self) -> bool {
        self.connector.replaces_read_only(&self.pool)
    }

    /// Whether statements are prepared.
    pub(super) fn preparing(&self) -> &Preparing {
        self.connector.preparing()
    }

    /// Notes that a statement is about to be sent. Returns whether it is the first.
    pub(super) fn mark_used(&self) -> bool {
        self.state.swap(BUSY, Ordering::Relaxed) == UNUSED
    }

    /// Runs statements that take no values and return nothing.
    ///
    /// # Errors
    /// The server's error, or that it does not answer.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), tokio_postgres::Error> {
        self.is_sent();
        self.connection().batch_execute(statements).await
    }

    /// Notes that something is sent now.
    pub(super) fn is_sent(&self) {
        self.sent.store(self.age(), Ordering::Relaxed);
    }

    /// Milliseconds since the connection was taken.
    fn age(&self) -> u64 {
        // 584 million years fit into 64 bits of milliseconds.
        self.begun.elapsed().as_millis() as u64
    }

    /// Notes that a statement has changed something.
    pub(super) fn mark_written(&self) {
        self.has_written.store(true, Ordering::Relaxed);
    }

    /// Notes that the commit is about to be sent: from here on, the server must not be asked to stop.
    pub(super) fn mark_committing(&self) {
        self.state.store(COMMITTING, Ordering::Relaxed);
    }

    /// Notes that the commit was carried out: another request may have the connection.
    pub(super) fn mark_committed(&self) {
        if self.has_written.load(Ordering::Relaxed) {
            self.slots.answered();
        }
        self.mark_done();
    }

    /// Notes that nothing is under way any more: another request may have the connection.
    pub(super) fn mark_done(&self) {
        self.state.store(DONE, Ordering::Relaxed);
    }

    /// Notes that nothing is under way any more, and that the connection is to be closed.
    pub(super) fn mark_spent(&self) {
        self.state.store(SPENT, Ordering::Relaxed);
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let state = self.state.load(Ordering::Relaxed);
        let Some(connection) = self
            .connection
            .take()
            .filter(|_| ![UNUSED, DONE].contains(&state))
        else {
            return; // Back to the pool.
        };
        let connection = Object::take(connection);
        let silence = Duration::from_millis(self.age() - self.sent.load(Ordering::Relaxed));
        if state == BUSY && silence >= SILENCE {
            self.pool.retain(|_, _| false);
        }
        // Outside of a runtime, nothing can do it: the process ends, and its connections with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if state == COMMITTING
            && let Some(slot) = self.slot.take()
        {
            let (connector, server) = (self.connector.clone(), self.server);
            let slots = Arc::clone(&self.slots);
            let kept = slots.keep(slot);
            let has_written = self.has_written.load(Ordering::Relaxed);
            runtime.spawn(async move {
                tokio::select! {
                    // Answered behind the commit; fails with the connection.
                    answered = connection.batch_execute("") => {
                        if answered.is_ok() && has_written {
                            slots.answered();
                        }
                    }
                    () = connector.leaves(server) => {}
                }
                drop(connection);
                drop(kept);
            });
        } else if state == BUSY && !connection.is_closed() {
            let token = connection.cancel_token();
            let connector = self.connector.clone();
            runtime.spawn(async move {
                let end = async {
                    if connector.cancel(&token).await.is_ok() {
                        // Waits for the statement to end: a pooler drops the request with the connection.
                        let _ = connection.batch_execute("").await;
                    }
                };
                // Whether it was heard makes no difference here: the connection is closed either way.
                let _ = tokio::time::timeout(CANCEL_TIMEOUT, end).await;
            });
        }
    }
}
