//! The URL that says where a PostgreSQL database is.
//!
//! The driver reads all of it except four parameters, which are taken out first:
//!
//! - `sslmode` (the driver knows neither `verify-ca` nor `verify-full`) and `sslrootcert`: they mean what libpq's
//!   documentation says ("SSL Mode Descriptions"), with one difference. A mode that checks the server needs `sslrootcert`,
//!   because a service has no home directory to look for certificates in.
//! - `prepared_statements`, `true` or `false`, instead of having it [found out](super::preparing).
//! - `pool_size`, the most connections that the process makes.
//!
//! Reserved characters (`@`, `?`, `/` in a password, say) are percent-encoded. A URL with an unencoded `@` where none
//! belongs is refused at once: read one way or the other, part of the password would pass for something that messages show.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// How long it may take until a connection to one server can be used, unless the URL says otherwise: two attempts fit into a
/// deadline.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Connections of one process, unless the URL says otherwise. More do not speed up a server with a few processors, and by
/// default a server admits a hundred.
const POOL_SIZE: usize = 16;

/// More than any server would want to serve.
const LARGEST_POOL: usize = 1_000;

/// How long a server may leave sent data unacknowledged before its connection counts as lost.
const SILENCE: Duration = Duration::from_secs(5);

/// How long a connection says nothing before the system asks whether the server is still there.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);

/// A PostgreSQL database, on one of several servers. It prints without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    config: Config,
    /// The same, for one server each.
    servers: Vec<Config>,
    tls: Tls,
    prepares: Option<bool>,
    pool_size: usize,
}

/// What a server has to prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// Nothing: any server that answers is trusted.
    Unverified,
    /// That one of these authorities has signed its certificate (`verify-ca`).
    Signed(PathBuf),
    /// That, and that the certificate is for the name of the host (`verify-full`).
    SignedForHost(PathBuf),
}

/// What is wrong with a URL; the text says what to write instead, and shows no password.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

impl Address {
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn servers(&self) -> &[Config] {
        &self.servers
    }

    pub(super) fn tls(&self) -> &Tls {
        &self.tls
    }

    /// Whether to prepare statements, if the URL says.
    pub(super) fn prepares(&self) -> Option<bool> {
        self.prepares
    }

    /// How many connections to make at most; at least one.
    pub(crate) fn pool_size(&self) -> usize {
        self.pool_size
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let (mut mode, mut roots, mut prepares, mut pool_size) = (None, None, None, POOL_SIZE);
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        if query.contains('@') || base.matches('@').count() > 1 {
            return Err(wrong(
                "an @ stands where none can; write it as %40, and in a user or password also %3F for ? and %2F for /",
            ));
        }
        let mut url = base.to_owned();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(decoded(value)?)),
                Some(("prepared_statements", value)) => {
                    prepares = Some(value.parse().map_err(|_| {
                        wrong("prepared_statements is neither true nor false; write one of them")
                    })?);
                }
                Some(("pool_size", value)) => pool_size = pool_size_of(value)?,
                _ => {
                    url.push(if url.contains('?') { '&' } else { '?' });
                    url.push_str(pair);
                }
            }
        }
        let (ssl_mode, tls) = tls(mode, roots)?;
        let config = config(&url, ssl_mode)?;
        if config.get_hosts().is_empty() {
            return Err(wrong(
                "the host is missing; write postgres://USER@HOST/DATABASE",
            ));
        }
        if config.get_dbname().is_none() {
            return Err(wrong(
                "the database is missing; write postgres://USER@HOST/DATABASE",
            ));
        }
        let servers = one_by_one(&url);
        let servers = servers.iter().map(|url| self::config(url, ssl_mode));
        Ok(Address {
            config,
            servers: servers.collect::<Result<_, _>>()?,
            tls,
            prepares,
            pool_size,
        })
    }
}

fn pool_size_of(text: &str) -> Result<usize, AddressError> {
    let size = text.parse().ok();
    size.filter(|size| (1..=LARGEST_POOL).contains(size))
        .ok_or_else(|| {
            let range = format!("1 to {LARGEST_POOL}");
            AddressError(format!(
                "pool_size is no number of connections; write one from {range}"
            ))
        })
}

/// A URL for each of the servers that `url` names, split where the driver splits it.
fn one_by_one(url: &str) -> Vec<String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (user, rest) = match rest.split_once('@') {
        Some((user, rest)) => (format!("{user}@"), rest),
        None => (String::new(), rest),
    };
    let (hosts, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let hosts = hosts.split(',');
    hosts
        .map(|host| format!("{scheme}://{user}{host}{path}"))
        .collect()
}

/// The driver's reading of a URL, completed.
fn config(url: &str, ssl_mode: SslMode) -> Result<Config, AddressError> {
    let mut config: Config = url.parse().map_err(|error| {
        let cause = crate::causes::causes(&error);
        AddressError(format!("{cause}; write postgres://USER@HOST/DATABASE"))
    })?;
    config.ssl_mode(ssl_mode);
    complete(&mut config);
    Ok(config)
}

/// Sets what the URL leaves out.
fn complete(config: &mut Config) {
    // The service writes, so of several servers it needs the primary; a standby will not do.
    config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    // The driver's default is two hours, in which a server that is gone would look like one that takes its time.
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(KEEPALIVES_IDLE);
    }
    if config.get_application_name().is_none() {
        config.application_name("invoicing");
    }
}

/// The table in libpq's documentation.
fn tls(mode: Option<&str>, roots: Option<PathBuf>) -> Result<(SslMode, Tls), AddressError> {
    match (mode.unwrap_or("prefer"), roots) {
        ("disable", None) => Ok((SslMode::Disable, Tls::Unverified)),
        ("prefer", None) => Ok((SslMode::Prefer, Tls::Unverified)),
        ("require", None) => Ok((SslMode::Require, Tls::Unverified)),
        // Given certificates to check by, libpq checks.
        ("require" | "verify-ca", Some(roots)) => Ok((SslMode::Require, Tls::Signed(roots))),
        ("verify-full", Some(roots)) => Ok((SslMode::Require, Tls::SignedForHost(roots))),
        ("verify-ca" | "verify-full", None) => Err(wrong(
            "sslrootcert is missing; write &sslrootcert=FILE, a PEM file of the authorities to believe, \
             such as /etc/ssl/certs/ca-certificates.crt",
        )),
        ("disable" | "prefer", Some(_)) => Err(wrong(
            "sslrootcert is not looked at with this sslmode; write sslmode=verify-full",
        )),
        (other, _) => Err(AddressError(format!(
            "sslmode={other} is not known; write disable, prefer, require, verify-ca or verify-full"
        ))),
    }
}

fn wrong(text: &str) -> AddressError {
    AddressError(text.to_owned())
}

/// Decodes percent-encoded text.
fn decoded(text: &str) -> Result<String, AddressError> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .map(Cow::into_owned)
        .map_err(|_| wrong("sslrootcert is not UTF-8"))
}

/// The URL without its password and options, for messages.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.config.get_ports();
        for (number, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let port = ports.get(number).or(ports.first()).unwrap_or(&5432);
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "{comma}[{name}]:{port}")?,
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                Host::Unix(path) => write!(f, "{comma}{}:{port}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    fn refused(text: &str) -> String {
        text.parse::<Address>().expect_err(text).to_string()
    }

    #[test]
    fn an_address_prints_its_hosts_and_no_password() {
        let text = "postgres://ada:secret@db-1,db-2:5433,[::1]/invoicing?connect_timeout=3&sslmode=require";
        let found = address(text);
        let printed = "postgres://ada@db-1:5432,db-2:5433,[::1]:5432/invoicing";
        assert_eq!(format!("{found} {found:?}"), format!("{printed} {printed}"));
        assert_eq!(
            found.config.get_connect_timeout(),
            Some(&Duration::from_secs(3))
        );
    }

    #[test]
    fn a_server_that_is_gone_is_noticed_within_seconds_unless_the_url_says_when() {
        let idle = |query| {
            address(&format!("postgres://h/d{query}"))
                .config
                .get_keepalives_idle()
        };
        let found = ["", "?keepalives_idle=60"].map(idle);
        assert_eq!(found, [KEEPALIVES_IDLE, Duration::from_secs(60)]);
        assert_eq!(
            address("postgres://h/d").config.get_tcp_user_timeout(),
            Some(&SILENCE)
        );
    }

    #[test]
    fn a_pool_has_sixteen_connections_unless_the_url_says_how_many() {
        let pool = |query: &str| address(&format!("postgres://h/d?{query}")).pool_size;
        let sizes = ["", "pool_size=1", "connect_timeout=3&pool_size=1000"].map(pool);
        assert_eq!(sizes, [16, 1, 1000]);
    }

    #[test]
    fn whether_statements_are_prepared_is_said_by_the_url_or_found_out() {
        let prepares = |query: &str| address(&format!("postgres://h/d?{query}")).prepares;
        let said = ["", "prepared_statements=true", "prepared_statements=false"].map(prepares);
        assert_eq!(said, [None, Some(true), Some(false)]);
    }

    #[test]
    fn the_server_that_takes_writes_is_meant_where_there_are_several() {
        let found = address("postgresql://a,b/invoicing");
        assert_eq!(
            found.config.get_target_session_attrs(),
            TargetSessionAttrs::ReadWrite
        );
    }

    #[test]
    fn each_server_has_all_of_the_url_but_the_other_servers() {
        let found = address("postgres://ada:s,e/c@a,[::1]:5433/invoicing?connect_timeout=3");
        let one = |url| address(url).config;
        assert_eq!(
            found.servers,
            [
                one("postgres://ada:s,e/c@a/invoicing?connect_timeout=3"),
                one("postgres://ada:s,e/c@[::1]:5433/invoicing?connect_timeout=3"),
            ]
        );
        let socket = address("postgres:///invoicing?host=/run/postgresql");
        assert_eq!(socket.servers, [socket.config]);
    }

    #[test]
    fn sslmode_means_what_libpq_says() {
        let roots = || PathBuf::from("/etc/ca s.pem");
        for (query, mode, tls) in [
            ("", SslMode::Prefer, Tls::Unverified),
            ("sslmode=disable", SslMode::Disable, Tls::Unverified),
            ("sslmode=require", SslMode::Require, Tls::Unverified),
            (
                "sslmode=require&sslrootcert=/etc/ca%20s.pem",
                SslMode::Require,
                Tls::Signed(roots()),
            ),
            (
                "sslrootcert=/etc/ca%20s.pem&sslmode=verify-ca",
                SslMode::Require,
                Tls::Signed(roots()),
            ),
            (
                "sslmode=verify-full&keepalives=1&sslrootcert=/etc/ca%20s.pem",
                SslMode::Require,
                Tls::SignedForHost(roots()),
            ),
        ] {
            let found = address(&format!("postgres://h/d?{query}"));
            assert_eq!(
                (found.config.get_ssl_mode(), found.tls),
                (mode, tls),
                "{query}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, part) in [
            ("postgres://", "host is missing"),
            ("postgres://ada:secret@h", "database is missing"),
            (
                "postgres://ada:secret@h/d?sslmode=verify-full",
                "sslrootcert=FILE",
            ),
            (
                "postgres://ada:secret@h/d?sslrootcert=x",
                "sslmode=verify-full",
            ),
            ("postgres://ada:secret@h/d?sslmode=yes", "not known"),
            ("postgres://ada:secret@h/d?colour=red", "colour"),
            (
                "postgres://ada:secret@h/d?prepared_statements=yes",
                "true nor false",
            ),
            ("postgres://ada:secret@h:port/d", "port"),
            ("postgres://h/d?pool_size=0", "from 1 to 1000"),
            ("postgres://h/d?pool_size=1001", "from 1 to 1000"),
            ("postgres://h/d?pool_size=many", "from 1 to 1000"),
            ("postgres://ada:p@secret@h/d", "%40"),
            ("postgres://ada:se?cret=secret@h/d", "%40"),
        ] {
            let said = refused(text);
            assert!(
                said.contains(part) && !said.contains("secret"),
                "{text}: {said}"
            );
        }
    }
}
