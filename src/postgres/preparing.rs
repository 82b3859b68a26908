//! Finds out whether statements can be prepared: promise 6 of the [store](super).
//!
//! A prepared statement is kept by the one server process that prepared it, under a name that the driver counts up: `s0`,
//! `s1` in every process of the service. A pooler that hands each transaction to any free process, and does not follow these
//! names, would have one replica run what another has prepared. So unless the address says which it is, nothing is prepared
//! until this is found out:
//!
//! 1. A server greets each connection with the number of the process that serves it, for use in cancel requests. A pooler in
//!    between makes up numbers of its own, as it has to know whom to cancel. So each new connection is checked:
//!    `pg_backend_pid()` has to be the number in its greeting.
//! 2. A pooler may pass on the greeting of the process by which it let the connection in (pgagroal does), and may happen to
//!    hand the connection to that process as long as no other is free. So at the start, two open connections take turns, in
//!    transactions that overlap and others that do not: whichever process a pooler hands out, the first, the one used last,
//!    or the one idle for the longest, one connection then finds the other's process.
//! 3. The server also keeps the plan of a prepared statement, even one made for a table that was nearly empty: to read all
//!    of it. Until the server looks at the table again, which may take a minute, each change would read all that earlier
//!    ones have written. So where statements are prepared, the server is told to use an index wherever there is one.
//!    (Creates in a new database took 1,500 us of processor time each after some seconds, and 170 this way.) With that, a
//!    table without an index seems so costly that the server would compile a statement that reads it each time it is run
//!    (JIT): 30 ms of processor time for each `/readyz`. So that is switched off too; no statement here is long enough to
//!    gain by it. If the address says that statements are prepared, another client may get the connection next, and nothing
//!    is set.
//! 4. Anything that contradicts this later, on any connection, ends it for all of them, for good: a process that did not
//!    greet the connection, a statement that was forgotten, a name that is taken.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::io::{self, AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Client, Error, SimpleQueryMessage};

/// How long a process that starts waits for this to be found out.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a cancel request begins with, after its length.
const CANCEL: [u8; 4] = 80_877_102_u32.to_be_bytes();

/// A query whose answer says which process gave it.
const WHO: &str = "SELECT pg_backend_pid()";

/// Step 3.
const USE_INDEXES: &str = "SET enable_seqscan = off; SET jit = off";

const PASSED_ON: &str = "connections are not served by the processes that greeted them";
const FORGOTTEN: &str = "a prepared statement was forgotten, or its name was taken";
const ALONE: &str = "there was no second connection to find out with";

/// Whether statements are prepared, by all connections of a pool.
#[derive(Clone)]
pub(super) struct Preparing(Arc<watch::Sender<State>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// As the address says, whatever is found.
    Said(bool),
    /// Not prepared until this is found out.
    Open,
    /// Nothing stands in between, as far as was found out.
    Direct,
    /// Something stands in between, or may.
    Never(&'static str),
}

impl Preparing {
    /// What the address says, if anything.
    pub(super) fn new(said: Option<bool>) -> Preparing {
        let state = said.map_or(State::Open, State::Said);
        Preparing(Arc::new(watch::Sender::new(state)))
    }

    /// Whether statements are prepared now.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.state(), State::Said(true) | State::Direct)
    }

    /// Waits until it is found that statements cannot be prepared though the address does not say so, and returns why.
    pub(super) async fn given_up(&self) -> &'static str {
        let mut states = self.0.subscribe();
        loop {
            if let State::Never(why) = *states.borrow_and_update() {
                return why;
            }
            // Cannot fail: this holds the other end.
            let _ = states.changed().await;
        }
    }

    /// Step 1, then step 3, for a new connection.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) async fn look_at(&self, connection: &Client) -> Result<(), Error> {
        if self.is_sought() && served_by(connection, WHO).await? != greeted_by(connection).await {
            self.give_up(PASSED_ON);
        }
        match self.state() {
            State::Direct => connection.batch_execute(USE_INDEXES).await,
            State::Said(_) | State::Open | State::Never(_) => Ok(()),
        }
    }

    /// Step 2, with a connection of the pool and another made for this. The first goes back to the pool, unless something
    /// may be left open in it.
    pub(super) async fn find_out(
        &self,
        one: Object,
        another: impl Future<Output = Result<Client, Error>>,
    ) {
        if !self.is_sought() {
            return;
        }
        let found = timeout(PATIENCE, async { are_apart(&one, &another.await?).await });
        match found.await {
            Ok(Ok(true)) => {
                self.settle(State::Direct);
                if one.batch_execute(USE_INDEXES).await.is_ok() {
                    return;
                }
            }
            Ok(Ok(false)) => self.give_up(PASSED_ON),
            Ok(Err(_)) | Err(_) => self.give_up(ALONE),
        }
        drop(Object::take(one));
    }

    /// Step 4, for an error from a prepared statement.
    pub(super) fn doubt(&self, error: &Error) {
        let found = error.code();
        if found == Some(&SqlState::INVALID_SQL_STATEMENT_NAME)
            || found == Some(&SqlState::DUPLICATE_PSTATEMENT)
        {
            self.give_up(FORGOTTEN);
        }
    }

    fn state(&self) -> State {
        *self.0.borrow()
    }

    /// Whether what is found makes a difference.
    fn is_sought(&self) -> bool {
        matches!(self.state(), State::Open | State::Direct)
    }

    fn give_up(&self, why: &'static str) {
        self.settle(State::Never(why));
    }

    /// Keeps what the address said, and what was given up.
    fn settle(&self, found: State) {
        self.0.send_if_modified(|state| {
            let is_new = matches!(state, State::Open | State::Direct) && *state != found;
            if is_new {
                *state = found;
            }
            is_new
        });
    }
}

/// Whether each of two connections is served by the process that greeted it, whichever begins and ends a transaction first.
async fn are_apart(one: &Client, other: &Client) -> Result<bool, Error> {
    const BEGIN: &str = "BEGIN READ ONLY; SELECT pg_backend_pid()";
    const ALL: &str = "BEGIN READ ONLY; SELECT pg_backend_pid(); ROLLBACK";
    const END: &str = "SELECT pg_backend_pid(); ROLLBACK";
    let own = (greeted_by(one).await, greeted_by(other).await);
    if own.0 == own.1 {
        return Ok(false);
    }
    let (one, other) = ((one, own.0), (other, own.1));
    for ((connection, own), statements) in [
        (other, BEGIN),
        (one, ALL),
        (other, END),
        (one, BEGIN),
        (other, ALL),
        (one, END),
        // By now the process idle for longer is the other's.
        (one, ALL),
        (other, ALL),
    ] {
        if served_by(connection, statements).await? != own {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of the process that answered one of these statements.
async fn served_by(connection: &Client, statements: &str) -> Result<Option<i32>, Error> {
    let answers = connection.simple_query(statements).await?;
    Ok(answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    }))
}

/// The process that greeted a connection. The driver reveals it in cancel requests alone.
async fn greeted_by(connection: &Client) -> Option<i32> {
    told(&connection.cancel_token()).await
}

async fn told(token: &CancelToken) -> Option<i32> {
    let mut said = Vec::new();
    token
        .cancel_query_raw(Listener(&mut said), Unencrypted)
        .await
        .ok()?;
    let (rest, [process, _key]) = said.as_chunks::<4>().0.split_last_chunk()?;
    let is_request = rest.last() == Some(&CANCEL);
    is_request.then(|| i32::from_be_bytes(*process))
}

/// Receives what the driver sends to a server in a cancel request, and makes it send that unencrypted.
struct Listener<'a>(&'a mut Vec<u8>);

/// Encrypts nothing, as all of it stays in this process.
struct Unencrypted;

impl<'a> TlsConnect<Listener<'a>> for Unencrypted {
    type Stream = Listener<'a>;
    type Error = Infallible;
    type Future = Ready<Result<Listener<'a>, Infallible>>;

    fn connect(self, listener: Listener<'a>) -> Self::Future {
        ready(Ok(listener))
    }
}

impl TlsStream for Listener<'_> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Listener<'_> {
    /// Agrees to encryption if the driver asks for it: the driver gives up if it requires encryption and gets none.
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(&b"S"[..buffer.remaining().min(1)]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Listener<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
