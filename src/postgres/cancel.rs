//! Asks the server to stop a statement, on a connection of its own.
//!
//! The driver closes that connection as soon as it has sent the request. pgbouncer up to 1.19.0 exits if the connection is
//! closed before it has passed the request on, and all its clients lose their connections (its pull request 846). So the
//! connection stays open until the server closes it, as in libpq; that is also the sign that the request was heard.

use futures::future::join3;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, copy, duplex, sink, split};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{CancelToken, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::domain::Cause;

/// More than a handshake has in flight at once.
const ROOM: usize = 1 << 14;

/// Asks the first of the servers in `server` to stop what `token` stands for, and waits until it has heard.
pub(super) async fn cancel(
    server: &Config,
    token: &CancelToken,
    tls: MakeRustlsConnect,
) -> Result<(), Cause> {
    let port = server.get_ports().first().copied().unwrap_or(5432);
    let name = match server.get_hosts().first() {
        Some(Host::Unix(folder)) => {
            let socket = UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")));
            return say(socket.await?, "", token, tls).await;
        }
        Some(Host::Tcp(name)) => name,
        None => "",
    };
    let socket = match server.get_hostaddrs().first() {
        Some(address) => TcpStream::connect((*address, port)).await?,
        None => TcpStream::connect((name, port)).await?,
    };
    say(socket, name, token, tls).await
}

/// Lets the driver talk through a pipe, which it may close, while `server` stays open.
async fn say(
    server: impl AsyncRead + AsyncWrite,
    name: &str,
    token: &CancelToken,
    mut tls: MakeRustlsConnect,
) -> Result<(), Cause> {
    let (driver, pipe) = duplex(ROOM);
    let tls = MakeTlsConnect::<DuplexStream>::make_tls_connect(&mut tls, name)?;
    let (mut from_server, mut to_server) = split(server);
    let (mut from_driver, mut to_driver) = split(pipe);
    let heard = async {
        // Fails if the driver has gone before the server went silent.
        let _ = copy(&mut from_server, &mut to_driver).await;
        copy(&mut from_server, &mut sink()).await
    };
    let said = token.cancel_query_raw(driver, tls);
    let carried = copy(&mut from_driver, &mut to_server);
    let (said, carried, heard) = join3(said, carried, heard).await;
    said?;
    carried.and(heard)?;
    Ok(())
}
