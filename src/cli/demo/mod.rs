//! `invoicing demo`: a server with sample data, and requests to try.
//!
//! Everything lies in a temporary folder, which is removed at the end. The requests are printed to standard output as a
//! shell script: everything else is a comment, so that all of it may be pasted at once, and every request stands alone, so
//! that each may be pasted by itself. Log lines go to standard error as usual; those of the start are written first, so that
//! none appears in between.

mod credentials;
mod fault_injection;
mod scenario;
mod seed;
mod sign_in;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use crate::admin::ReplicaState;
use crate::http;
use crate::log;
use crate::pages;
use crate::settings::{Database, Origin, PublicUrl, Settings, Toggle};
use crate::start_error::StartError;

use super::command_error::CommandError;
use super::database::open_or_make;
use super::{output, serve};
use credentials::Credentials;
use fault_injection::FaultInjection;

/// Runs a server on a temporary database and prints requests to try.
///
/// The database has a team with API keys, products, a user with a signed-in device, a file and its links. Paste the requests
/// into another terminal. Ctrl-C ends the demo and removes the database.
///
/// It listens on 127.0.0.1:8080, or on a free port if that is taken; an address given with `--listen` is never replaced.
#[derive(Debug, clap::Args)]
#[command(
    after_help = r#"For your own tests, in CI too, with credentials that never change:
    invoicing demo --fixed --listen 127.0.0.1:8080

A request to the demo may ask for an answer that a healthy server would not give:
    Demo-Answer: 429                         or 500, or 503
    Demo-Answer: 503; times=2; test=NAME     for the first two requests with exactly this value
    Demo-Latency: 1500                       milliseconds, 60000 at most

With --fixed, /demo/authorize sends every app an authorization code at once.

Credentials and everything else: src/cli/demo/testing.md"#
)]
pub(super) struct Demo {
    /// Use the same published ids, API keys and tokens on every start, for tests written against them, and sign the user in
    /// without asking.
    #[arg(long)]
    fixed: bool,
}

impl Demo {
    /// `insisting` means that the address to listen on was chosen explicitly, and must not be replaced.
    pub(super) fn run(self, settings: &Settings, insisting: bool) -> Result<(), CommandError> {
        let folder = tempfile::Builder::new()
            .prefix("invoicing-demo-")
            .tempdir()?;
        let listen = free_address(settings.listen, insisting)?;
        let settings = Settings {
            database: Database::sqlite(folder.path().join("invoicing.db")),
            public_url: public_url(listen),
            origin: Some(origin(listen)),
            listen,
            tls_cert: None,
            tls_key: None,
            hsts: 0,
            // A demo is one process, and stops at once when asked.
            operations_listen: None,
            drain_delay: 0,
            redis: None,
            smtp_url: None,
            mail_from: None,
            // Its user has a password, and is known to no provider.
            password_sign_in: Toggle::On,
            oidc_issuer: None,
            ..settings.clone()
        };
        let (log, _written_at_the_end, begun) = log::to_standard_error_at_once(&settings)?;
        log::panics(&log, Arc::default());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let result = runtime.block_on(async {
            let app = Arc::new(open_or_make(&settings, |_| ()).await?);
            let credentials = match self.fixed {
                true => Credentials::fixed(),
                false => Credentials::drawn(),
            };
            let seed = seed::seed(&app, credentials).await?;
            let mut api = pages::api(settings.origin())?;
            if self.fixed {
                sign_in::register(&mut api, &app, seed.credentials.user)?;
            }
            let replica: Arc<ReplicaState> = Arc::default();
            let quotas = Arc::clone(&replica.quotas);
            let context =
                http::Context::new(Arc::clone(&app), &settings, Arc::clone(&replica), &log)
                    .await
                    .intercepted_by(FaultInjection::default());
            let server =
                serve::start(&settings, api, context, replica, &log)?.stopping_at_hang_up();
            output::print(&scenario::render(
                &settings,
                &seed,
                &std::env::current_exe()?,
            ))?;
            begun.set();
            let ended = serve::run(server, &app, &quotas, None, &log);
            ended.await.map(drop)
        });
        runtime.shutdown_background();
        folder.close()?;
        result
    }
}

/// The address itself if it is free; otherwise, unless `insisting`, one with another port.
///
/// It is needed before the server starts, because links start with it. Another process may take the port in between; then
/// the server reports that it cannot listen.
fn free_address(wanted: SocketAddr, insisting: bool) -> Result<SocketAddr, StartError> {
    let listener = TcpListener::bind(wanted).or_else(|error| match insisting {
        true => Err(error),
        false => TcpListener::bind((wanted.ip(), 0)),
    });
    listener
        .and_then(|listener| listener.local_addr())
        .map_err(|source| StartError::Listen {
            option: "--listen",
            address: wanted,
            source,
        })
}

/// The URL by which this machine reaches a server that listens on `address`.
fn public_url(address: SocketAddr) -> PublicUrl {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let url = format!("http://{}", SocketAddr::new(ip, address.port()));
    // Cannot fail: an address and a port are a URL's authority.
    url.parse().expect("a URL")
}

/// The origin by which a browser on this machine reaches it: a host name, as browsers make no passkeys for an address.
fn origin(address: SocketAddr) -> Origin {
    // Cannot fail: a name and a port are an origin.
    let origin = format!("http://localhost:{}", address.port());
    origin.parse().expect("an origin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_replaced_unless_somebody_insists() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        assert_ne!(free_address(address, false).unwrap().port(), address.port());
        assert!(free_address(address, true).is_err());
        drop(taken);
        assert_eq!(free_address(address, true).unwrap(), address);
    }

    #[test]
    fn an_address_that_means_all_is_reached_by_loopback() {
        let url = |address: &str| public_url(address.parse().unwrap()).to_string();
        assert_eq!(url("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(url("[::]:80"), "http://[::1]:80");
        assert_eq!(url("192.0.2.1:80"), "http://192.0.2.1:80");
    }
}
