//! One connection, taken from the pool for one request, and what becomes of it afterwards.
//!
//! A connection goes back to the pool only when nothing is under way on it. A request that is given up, at
//! its deadline or with its task, leaves a statement running or a transaction open: such a connection is
//! closed, which ends the transaction, after the server was asked to stop the statement.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long the wish to stop a statement may take to reach the server.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Nothing is under way.
const IDLE: u8 = 0;
/// A statement or a transaction is.
const BUSY: u8 = 1;
/// The commit is, which must not be stopped: promise 5 of the [store](super).
const COMMITTING: u8 = 2;

/// A connection of the pool in the hands of one request.
pub(super) struct Lease {
    /// `None` only while being dropped.
    connection: Option<Object>,
    state: AtomicU8,
    tls: MakeRustlsConnect,
}

impl Lease {
    pub(super) fn new(connection: Object, tls: MakeRustlsConnect) -> Lease {
        Lease {
            connection: Some(connection),
            state: AtomicU8::new(BUSY),
            tls,
        }
    }

    /// The connection. There is none only while the lease is being dropped.
    pub(super) fn connection(&self) -> Option<&ClientWrapper> {
        self.connection.as_deref()
    }

    /// From here on, nobody may ask the server to stop.
    pub(super) fn is_committing(&self) {
        self.state.store(COMMITTING, Ordering::Relaxed);
    }

    /// Nothing is under way any more: another request may have the connection.
    pub(super) fn is_done(&self) {
        self.state.store(IDLE, Ordering::Relaxed);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let state = self.state.load(Ordering::Relaxed);
        let Some(connection) = self.connection.take().filter(|_| state != IDLE) else {
            return; // Back to the pool.
        };
        let connection = Object::take(connection);
        // Outside of a runtime there is nobody to do it: the process ends, and its connections with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if state == BUSY && !connection.is_closed() {
            let cancel = connection.cancel_token();
            let tls = self.tls.clone();
            runtime.spawn(async move {
                // As good as it gets: the statement has a limit of its own on the server.
                let _ = tokio::time::timeout(CANCEL_TIMEOUT, cancel.cancel_query(tls)).await;
                drop(connection);
            });
        }
    }
}
