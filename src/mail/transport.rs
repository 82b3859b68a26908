//! Talks to the mail server: a connection for each letter.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lettre::Message;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use rustls_native_certs::load_native_certs;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::bounded::Bounded;
use crate::settings::{Security, SmtpUrl};

/// How long the answer to our QUIT is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

/// What to do after an attempt that has failed.
pub(super) enum Failed {
    /// Try again.
    ForNow(String),
    /// Give up.
    ForGood(String),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::ForNow(error.to_string())
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        failed(&error)
    }
}

/// A mail server, and how to be let in.
pub(super) struct Transport {
    host: String,
    port: u16,
    encryption: Encryption,
    /// What we call ourselves.
    name: ClientId,
    credentials: Option<Credentials>,
}

enum Encryption {
    None,
    /// By STARTTLS.
    Upgraded(Box<TlsParameters>),
    Wrapped(TlsConnector, ServerName<'static>),
}

impl Transport {
    /// Returns a transport that calls itself `host`.
    ///
    /// # Errors
    /// When TLS cannot be used, such as without certificates of the system.
    pub(super) fn new(server: &SmtpUrl, host: &str) -> Result<Transport, String> {
        let no_tls = |cause: String| format!("mail cannot be sent by TLS: {cause}");
        let encryption = match server.security() {
            Security::InClear => Encryption::None,
            Security::Required => {
                let parameters = TlsParameters::new(server.host().to_owned());
                let parameters = parameters.map_err(|error| no_tls(cause(&error)))?;
                Encryption::Upgraded(Box::new(parameters))
            }
            Security::Wrapped => {
                let name = ServerName::try_from(server.host().to_owned());
                let name = name.map_err(|error| no_tls(error.to_string()))?;
                Encryption::Wrapped(
                    connector().map_err(|error| no_tls(error.to_string()))?,
                    name,
                )
            }
        };
        let name = match host.trim_matches(['[', ']']).parse() {
            Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
            Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
            Err(_) => ClientId::Domain(host.to_owned()),
        };
        let credentials = server.credentials();
        Ok(Transport {
            host: server.host().to_owned(),
            port: server.port(),
            encryption,
            name,
            credentials: credentials
                .map(|(user, password)| Credentials::new(user.clone(), password.clone())),
        })
    }

    /// Sends a letter.
    ///
    /// # Errors
    /// Why it was not accepted.
    pub(super) async fn send(&self, message: &Message) -> Result<(), Failed> {
        let mut connection = self.connect().await?;
        connection
            .send(message.envelope(), &message.formatted())
            .await?;
        // The letter is accepted, whatever the server answers to our QUIT, and when: otherwise it would be sent once more.
        tokio::spawn(leave(connection));
        Ok(())
    }

    /// Connects, and returns whether the server then answers.
    ///
    /// # Errors
    /// Why not.
    pub(super) async fn check(&self) -> Result<bool, Failed> {
        let mut connection = self.connect().await?;
        let answers = connection.test_connected().await;
        leave(connection).await;
        Ok(answers)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Failed> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let stream: Box<dyn AsyncTokioStream> = match &self.encryption {
            Encryption::Wrapped(connector, name) => {
                let stream = connector.connect(name.clone(), stream).await?;
                Box::new(Bounded::new(stream))
            }
            _ => Box::new(Bounded::new(stream)),
        };
        let mut connection =
            AsyncSmtpConnection::connect_with_transport(stream, &self.name).await?;
        if let Encryption::Upgraded(parameters) = &self.encryption {
            let parameters = TlsParameters::clone(parameters);
            connection.starttls(parameters, &self.name).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

async fn leave(mut connection: AsyncSmtpConnection) {
    _ = timeout(FAREWELL, connection.quit()).await;
}

/// TLS with the system's certificates, as lettre has it for STARTTLS.
fn connector() -> Result<TlsConnector, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(load_native_certs().certs);
    // The provider is named, so that a second one elsewhere in the build makes no difference.
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Returns what to do after an error, and what the log says of it: of an answer the code alone, since it may repeat an
/// address.
fn failed(error: &Error) -> Failed {
    match error.status() {
        Some(code) if error.is_permanent() => {
            Failed::ForGood(format!("the mail server said {code}"))
        }
        Some(code) => Failed::ForNow(format!("the mail server said {code}")),
        // The server does not offer what it has to, such as STARTTLS.
        None if error.is_client() => Failed::ForGood(cause(error)),
        None if error.is_response() => Failed::ForNow(
            "the mail server ended the conversation, or does not speak SMTP".to_owned(),
        ),
        None => Failed::ForNow(cause(error)),
    }
}

fn cause(error: &Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}
