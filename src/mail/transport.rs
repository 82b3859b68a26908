//! How the mail server is spoken to.

use std::error::Error as _;
use std::net::IpAddr;
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, Tokio1Executor};

use crate::settings::{Security, SmtpUrl};

/// What to do after an attempt that has failed.
pub(super) enum Failed {
    /// To try again.
    ForNow(String),
    /// Nothing.
    ForGood(String),
}

/// A connection for each letter; we call ourselves by `host`.
///
/// # Errors
/// When the system's certificates cannot be read.
pub(super) fn transport(
    server: &SmtpUrl,
    host: &str,
    attempt: Duration,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, String> {
    let parameters = || {
        TlsParameters::new(server.host().to_owned())
            .map_err(|error| format!("mail cannot be sent by TLS: {}", cause(&error)))
    };
    let tls = match server.security() {
        Security::InClear => Tls::None,
        Security::Required => Tls::Required(parameters()?),
        Security::Wrapped => Tls::Wrapper(parameters()?),
    };
    let name = match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => ClientId::Ipv4(address),
        Ok(IpAddr::V6(address)) => ClientId::Ipv6(address),
        Err(_) => ClientId::Domain(host.to_owned()),
    };
    let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server.host())
        .port(server.port())
        .tls(tls)
        .hello_name(name)
        .timeout(Some(attempt));
    let builder = match server.credentials() {
        Some((user, password)) => {
            builder.credentials(Credentials::new(user.clone(), password.clone()))
        }
        None => builder,
    };
    Ok(builder.build())
}

/// What to do after an error, and what the log says of it: the code alone of an answer, which may repeat an address.
pub(super) fn failed(error: &Error) -> Failed {
    match error.status() {
        Some(code) if error.is_permanent() => {
            Failed::ForGood(format!("the mail server said {code}"))
        }
        Some(code) => Failed::ForNow(format!("the mail server said {code}")),
        // What the server would have to offer, such as STARTTLS, it does not.
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
