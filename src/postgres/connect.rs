//! Connects to the server that takes writes.
//!
//! The driver tries several servers itself, but limits only the time for a TCP connection. A server that hangs still accepts
//! connections, sends nothing on them, and would keep every replica from its successor. So each server has `connect_timeout`
//! for all steps to a usable connection, and the one that last gave one is tried first. One of the steps is to [look
//! at](super::preparing) the connection.
//!
//! A server that takes no writes is a standby, which may lag behind, or a primary whose operator has set
//! `default_transaction_read_only`. The latter can still be read (docs/decisions.md, X88), if there is no other server that may
//! have taken its place. A session may stay read-only for as long as it lasts. So when one has refused a change, it is
//! replaced if the last new connection took changes, with all idle ones from before these were taken again. If the last one
//! took none either, a new one is made outside of the pool, once a second, to find out whether changes are taken again.

use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Connect, Pool};
use futures::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::{CancelToken, Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;
use super::address::CONNECT_TIMEOUT;
use super::cancel::cancel;
use super::preparing::Preparing;
use crate::domain::Cause;

/// Makes the connections of the pool.
#[derive(Clone)]
pub(super) struct Connector(Arc<Servers>);

struct Servers {
    servers: Vec<Config>,
    tls: MakeRustlsConnect,
    preparing: Preparing,
    /// The server that took writes at the last connect.
    primary: AtomicUsize,
    read_only: Mutex<ReadOnly>,
}

/// What is known about connections that take no changes.
#[derive(Default)]
struct ReadOnly {
    /// Whether the last connection was one.
    was_last: bool,
    /// When a connection took changes after others had taken none.
    over_since: Option<std::time::Instant>,
    /// When a new connection was last made to find out whether it takes changes.
    tried: Option<Instant>,
}

/// How often it is found out whether a new connection takes changes.
const TRIED_EVERY: Duration = Duration::from_secs(1);

impl Connector {
    pub(super) fn new(address: &Address, tls: MakeRustlsConnect) -> Connector {
        Connector(Arc::new(Servers {
            servers: address.servers().to_vec(),
            tls,
            preparing: Preparing::new(address.prepares()),
            primary: AtomicUsize::new(0),
            read_only: Mutex::default(),
        }))
    }

    /// Whether a connection of `pool` that takes no changes is to be replaced. If so, the idle ones that may take none have
    /// been closed.
    pub(super) fn replaces_read_only(&self, pool: &Pool) -> bool {
        let (was_last, over_since) = {
            let read_only = self.0.read_only();
            (read_only.was_last, read_only.over_since)
        };
        if was_last {
            self.try_again();
        } else if let Some(over_since) = over_since {
            pool.retain(|_, connection| connection.created >= over_since);
        }
        !was_last
    }

    /// Finds out whether a new connection takes changes, unless that was tried within the last second.
    fn try_again(&self) {
        let now = Instant::now();
        let mut read_only = self.0.read_only();
        if read_only.tried.is_none_or(|at| now - at >= TRIED_EVERY) {
            read_only.tried = Some(now);
            let connector = self.clone();
            // The last of the servers may be the one that answers; and a moment for one that can only be read.
            let patience =
                self.0.servers.iter().map(time_to_connect).sum::<Duration>() + CONNECT_TIMEOUT;
            // The connection notes it; an error shows in the requests that follow.
            tokio::spawn(async move { timeout(patience, connector.another()).await });
        }
    }

    /// The number of the server that took writes at the last connect.
    pub(super) fn server(&self) -> usize {
        self.0.primary.load(Ordering::Relaxed)
    }

    /// Waits until that is another one, and tries once a second, if there are others.
    pub(super) async fn leaves(&self, server: usize) {
        while self.server() == server {
            if self.0.servers.len() > 1 {
                self.try_again();
            }
            sleep(TRIED_EVERY).await;
        }
    }

    /// Whether statements are prepared on these connections.
    pub(super) fn preparing(&self) -> &Preparing {
        &self.0.preparing
    }

    /// A connection outside of the pool.
    pub(super) async fn another(&self) -> Result<Client, Error> {
        let (client, _) = self.0.connect_to_primary().await?;
        Ok(client)
    }

    /// Asks the server to stop what `token` stands for. A server that has lost its place to another is not asked.
    pub(super) async fn cancel(&self, token: &CancelToken) -> Result<(), Cause> {
        let Servers { servers, tls, .. } = &*self.0;
        let server = &servers[self.server()];
        cancel(server, token, tls.clone()).await
    }
}

impl Servers {
    fn read_only(&self) -> MutexGuard<'_, ReadOnly> {
        // Nothing panics while it is locked.
        self.read_only
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries the servers in turn until one answers, if only with a refusal: the caller has a deadline.
    async fn connect_to_primary(&self) -> Result<(Client, JoinHandle<()>), Error> {
        loop {
            let first = self.primary.load(Ordering::Relaxed);
            let round = self.servers.iter().enumerate().cycle().skip(first);
            let mut refused = None;
            for (number, server) in round.take(self.servers.len()) {
                match timeout(time_to_connect(server), self.connect_to(server)).await {
                    Ok(Ok(connected)) => {
                        self.primary.store(number, Ordering::Relaxed);
                        let mut read_only = self.read_only();
                        if read_only.was_last {
                            read_only.was_last = false;
                            read_only.over_since = Some(std::time::Instant::now());
                        }
                        drop(read_only);
                        return Ok(connected);
                    }
                    // A standby that is tried next must not hide that the primary has no slot left.
                    Ok(Err(_)) if refused.as_ref().is_some_and(has_no_slot) => {}
                    Ok(Err(error)) => refused = Some(error),
                    Err(_) => {}
                }
            }
            if let Some(error) = refused {
                return self.connect_to_read(error).await;
            }
        }
    }

    /// Connects to the only server if it refused writes, with `error`, but is no standby.
    async fn connect_to_read(&self, error: Error) -> Result<(Client, JoinHandle<()>), Error> {
        let [only] = &*self.servers else {
            return Err(error);
        };
        if !is_read_only(&error) {
            return Err(error);
        }
        let mut server = only.clone();
        server.target_session_attrs(TargetSessionAttrs::Any);
        let connecting = async {
            let connected = self.connect_to(&server).await?;
            let is_standby = "SELECT pg_is_in_recovery()";
            let row = connected.0.query_typed_one(is_standby, &[]).await?;
            Ok((row.try_get(0)?, connected))
        };
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok((false, connected))) => {
                self.read_only().was_last = true;
                Ok(connected)
            }
            Ok(Err(error)) => Err(error),
            Ok(Ok((true, _))) | Err(_) => Err(error),
        }
    }

    async fn connect_to(&self, server: &Config) -> Result<(Client, JoinHandle<()>), Error> {
        let (client, connection) = server.connect(self.tls.clone()).await?;
        // How it ends shows in the statements that use it.
        let driver = tokio::spawn(async { drop(connection.await) });
        self.preparing.look_at(&client).await?;
        Ok((client, driver))
    }
}

fn time_to_connect(server: &Config) -> Duration {
    server
        .get_connect_timeout()
        .copied()
        .unwrap_or(CONNECT_TIMEOUT)
}

/// Whether the server refused another connection because it has none left.
pub(super) fn has_no_slot(error: &Error) -> bool {
    error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS)
}

/// Whether the driver refused a server that takes no writes.
fn is_read_only(error: &Error) -> bool {
    let cause = error.source().and_then(|it| it.downcast_ref::<io::Error>());
    cause.is_some_and(|it| it.kind() == io::ErrorKind::PermissionDenied)
}

impl Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(self.0.connect_to_primary())
    }
}
