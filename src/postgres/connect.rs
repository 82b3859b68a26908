//! Connects to the server that takes writes.
//!
//! The driver tries several servers itself, but limits only the time for a TCP connection. A server that hangs still accepts
//! connections, sends nothing on them, and would keep every replica from its successor. So each server has `connect_timeout`
//! for all steps to a usable connection, and the one that last gave one is tried first. One of the steps is to [look
//! at](super::preparing) the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deadpool_postgres::Connect;
use futures::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::timeout;
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
}

impl Connector {
    pub(super) fn new(address: &Address, tls: MakeRustlsConnect) -> Connector {
        Connector(Arc::new(Servers {
            servers: address.servers().to_vec(),
            tls,
            preparing: Preparing::new(address.prepares()),
            primary: AtomicUsize::new(0),
        }))
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
        let Servers {
            servers,
            tls,
            primary,
            ..
        } = &*self.0;
        let server = &servers[primary.load(Ordering::Relaxed)];
        cancel(server, token, tls.clone()).await
    }
}

impl Servers {
    /// Tries the servers in turn until one answers, if only with a refusal: the caller has a deadline.
    async fn connect_to_primary(&self) -> Result<(Client, JoinHandle<()>), Error> {
        loop {
            let first = self.primary.load(Ordering::Relaxed);
            let round = self.servers.iter().enumerate().cycle().skip(first);
            let mut refused = None;
            for (number, server) in round.take(self.servers.len()) {
                let connect_timeout = server.get_connect_timeout().copied();
                let connecting = self.connect_to(server);
                match timeout(connect_timeout.unwrap_or(CONNECT_TIMEOUT), connecting).await {
                    Ok(Ok(connected)) => {
                        self.primary.store(number, Ordering::Relaxed);
                        return Ok(connected);
                    }
                    Ok(Err(error)) => refused = Some(error),
                    Err(_) => {}
                }
            }
            if let Some(error) = refused {
                return Err(error);
            }
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

impl Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(self.0.connect_to_primary())
    }
}
