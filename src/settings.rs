//! The settings of the service: one struct, read from four places.
//!
//! [`Settings`] is the only place where a setting is named, typed, described and given its default. Everything else follows
//! from it: `--help`, the `INVOICING_*` variables, the keys of the TOML file and the page below. That works because the
//! struct is a set of clap arguments, and clap can be asked about its arguments. It is longer than files here usually are,
//! since most of it is text for operators: one list that they can read through is worth more than several short ones.
//!
//! How a value is found:
//!
//! 1. The command line is read as it stands, without looking anywhere else ([`sources::resolve`]).
//! 2. `--config`, or `INVOICING_CONFIG`, names the file; without either there is none.
//! 3. Each setting that the command line leaves out takes the text of its variable, otherwise that of
//!    its key in the file. The text is checked by the same parser as the command line's, so that a
//!    value means the same wherever it is written, and the complaint names the variable or the line.
//! 4. A setting given nowhere has the default written at its field.
//!
//! An unknown key in the file is refused: a misspelt setting must not leave a server running with a default that its
//! operator believes they changed. An unknown `INVOICING_*` variable is only warned about, because an environment is shared
//! with other programs.
#![doc = include_str!("settings/page.md")]

mod collector;
mod oidc;
mod origin;
mod origins;
pub mod page;
mod redis;
mod smtp;
pub mod sources;
mod together;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::domain::secret::Secret;

pub use crate::backup::Recipients;
pub use crate::store::Address as Database;
pub use collector::CollectorUrl;
pub(crate) use oidc::is_loopback;
pub use oidc::{Issuer, Oidc};
pub use origin::Origin;
pub use origins::CorsOrigins;
pub use redis::RedisUrl;
pub use smtp::{MailFrom, MailSettings, Security, SmtpUrl};
pub use values::{LogFormat, LogLevel, PublicUrl, Span, Toggle, TrustedProxies};

/// Everything that can be set, with its default.
///
/// The first paragraph of a field's documentation is what `-h` prints; `--help` and the settings page
/// print all of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Settings {
    /// Database to use: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    ///
    /// An SQLite file is created if it does not exist; a PostgreSQL database must exist. Many replicas may share one
    /// PostgreSQL database, which may be on several servers (`postgres://USER@HOST-1,HOST-2/DATABASE`): the one that accepts
    /// writes is used. `sslmode` is `disable`, `prefer` (the default), `require`, `verify-ca` or `verify-full`, the last two
    /// with `sslrootcert=FILE`. Statements are prepared unless a pooler that may forget them is detected in between;
    /// `prepared_statements=true` or `false` overrides the detection. `pool_size=N` is the maximum number of connections per
    /// process, 16 by default; the connections of all replicas, of one more during an upgrade, and a few for commands have
    /// to fit into PostgreSQL's `max_connections`. Commands may use the database of a running server. Put a password into
    /// the variable or the file, not on the command line, which others on the machine can read.
    #[arg(
        long,
        env = "INVOICING_DATABASE",
        hide_env_values = true,
        default_value = "sqlite:invoicing.db",
        value_name = "URL",
        help_heading = heading::DATABASE
    )]
    pub database: Database,

    /// Whether to back up an SQLite file before a newer release upgrades its schema: on or off.
    ///
    /// The backup is next to the file and named after its schema version, such as `invoicing.db.schema-11.zst`. If it cannot
    /// be made, the program does not start, and the file stays as it is. The backup contains everything, and is never
    /// removed automatically: delete it once the new release has proven itself. `invoicing backup restore` of the previous
    /// release, or `zstd -d`, turns it back into a database.
    #[arg(
        long,
        env = "INVOICING_BACKUP_BEFORE_UPGRADE",
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = heading::DATABASE
    )]
    pub backup_before_upgrade: Toggle,

    /// Public keys to encrypt backups to, separated by commas, such as
    /// `age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj`.
    ///
    /// By default there are none: backups are then not encrypted, but readable only by their owner. `age-keygen` creates a
    /// key; any one of the secret keys opens a backup. Keep the secret keys elsewhere: this machine does not need them to
    /// make backups.
    #[arg(
        long,
        env = "INVOICING_BACKUP_RECIPIENTS",
        default_value = "",
        value_name = "KEY,...",
        hide_default_value = true,
        help_heading = heading::DATABASE
    )]
    pub backup_recipients: Recipients,

    /// Base URL of share links: each `url` starts with this.
    ///
    /// An `http` or `https` URL without a query; a path is kept, a final slash is not. Another program shows the shared
    /// files there: this one creates and lists links, and answers 404 to their addresses. Give that program another host
    /// than `origin`: what it shows could act with the cookies of the pages.
    #[arg(
        long,
        env = "INVOICING_PUBLIC_URL",
        default_value = "http://127.0.0.1:8080",
        value_name = "URL",
        help_heading = heading::ADDRESSES
    )]
    pub public_url: PublicUrl,

    /// Where people reach the pages: scheme, host and port as browsers show them, such as `https://invoices.example.com`.
    ///
    /// By default, `public_url` if that has no path; otherwise there are no pages. It is never taken from the address that
    /// the server listens on or from a proxy's header. People can sign in only over `https`, or over `http` on their own
    /// machine (`http://localhost:8080`).
    #[arg(
        long,
        env = "INVOICING_ORIGIN",
        value_name = "ORIGIN",
        help_heading = heading::ADDRESSES
    )]
    pub origin: Option<Origin>,

    /// Whether people may sign in with a password: on or off.
    ///
    /// `off` leaves passkeys and the OpenID provider (`oidc_issuer`). One of them has to be possible, and passkeys are not
    /// if the host of `origin` is an IP address. Passwords can then be neither used nor set; existing ones are kept, and
    /// work again once this is `on`. A user with no other way to sign in is found by the email that the provider has
    /// verified. Without a provider, no new users can join, so switch passwords off once everyone has a passkey.
    #[arg(
        long,
        env = "INVOICING_PASSWORD_SIGN_IN",
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = heading::SIGN_IN
    )]
    pub password_sign_in: Toggle,

    /// Issuer of the OpenID provider that people may sign in with, such as `https://accounts.example.com`.
    ///
    /// None by default. Set it together with `oidc_client_id` and `oidc_client_secret`. Every character counts, a final
    /// slash too. Register this service with the provider as a confidential client (code flow), with the redirect URI
    /// `https://invoices.example.com/sign-in/callback`, where the first part is `origin`. The provider's ID tokens should
    /// contain `email` and `email_verified`: people need them to accept invitations, and a user with no other way to sign in
    /// is found by them the first time. Identities of another issuer are kept, but do not count.
    #[arg(
        long,
        env = "INVOICING_OIDC_ISSUER",
        value_name = "URL",
        help_heading = heading::SIGN_IN
    )]
    pub oidc_issuer: Option<Issuer>,

    /// Client id of this service at the OpenID provider.
    #[arg(
        long,
        env = "INVOICING_OIDC_CLIENT_ID",
        value_name = "ID",
        value_parser = oidc::credential,
        help_heading = heading::SIGN_IN
    )]
    pub oidc_client_id: Option<String>,

    /// Client secret of this service at the OpenID provider.
    ///
    /// Put it into the variable or the file, not on the command line, which others on the machine can read.
    #[arg(
        long,
        env = "INVOICING_OIDC_CLIENT_SECRET",
        hide_env_values = true,
        value_name = "SECRET",
        value_parser = oidc::secret,
        help_heading = heading::SIGN_IN
    )]
    pub oidc_client_secret: Option<Secret>,

    /// Name of the provider, shown as "Sign in with NAME" on the pages; by default, the host of the issuer.
    #[arg(
        long,
        env = "INVOICING_OIDC_NAME",
        value_name = "NAME",
        value_parser = oidc::name,
        help_heading = heading::SIGN_IN
    )]
    pub oidc_name: Option<String>,

    /// Address and port to listen on; port 0 picks any free one.
    ///
    /// `localhost:8080` is `127.0.0.1:8080`, and `:8080` is `0.0.0.0:8080`. To be reachable from other machines, use that or
    /// `[::]:8080`, and then `tls_cert` and `tls_key` too, or a proxy in front that speaks TLS: every request carries keys
    /// or tokens.
    #[arg(
        long,
        env = "INVOICING_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS:PORT",
        value_parser = values::address,
        help_heading = heading::ADDRESSES
    )]
    pub listen: SocketAddr,

    /// Certificate chain in PEM, the server's own certificate first.
    ///
    /// Set it together with `tls_key`. Both files are read again on SIGHUP; if the new ones cannot be used, the server logs
    /// that and keeps the old ones.
    #[arg(long, env = "INVOICING_TLS_CERT", value_name = "FILE", help_heading = heading::TLS)]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate in PEM (PKCS #8, PKCS #1 or SEC 1).
    #[arg(long, env = "INVOICING_TLS_KEY", value_name = "FILE", help_heading = heading::TLS)]
    pub tls_key: Option<PathBuf>,

    /// Seconds for which browsers may reach this host only over TLS (HSTS); 0 sends no such header, except with pages.
    ///
    /// Pages send a year if `origin` is `https`, whatever this says. A number needs `tls_cert` and `tls_key`: behind a proxy
    /// that speaks TLS, let the proxy send the header. Browsers remember it for the whole host, with all ports, and it
    /// cannot be taken back over plain HTTP: start with an hour (3600), and end with a year (31536000) or two. Every response
    /// to a path that the server has carries the header.
    #[arg(
        long,
        env = "INVOICING_HSTS",
        default_value = "0",
        value_name = "SECONDS",
        value_parser = values::whole_number::<0, TWO_YEARS>,
        help_heading = heading::TLS
    )]
    pub hsts: u32,

    /// Address and port for the health and metrics of this replica: `/healthz`, `/readyz`, `/metrics`.
    ///
    /// Off by default. There is no TLS and no authentication, so use an address that only operators and load balancers can
    /// reach.
    #[arg(
        long,
        env = "INVOICING_OPERATIONS_LISTEN",
        value_name = "ADDRESS:PORT",
        value_parser = values::address,
        help_heading = heading::ADDRESSES
    )]
    pub operations_listen: Option<SocketAddr>,

    /// Seconds to keep serving after a signal to stop, at most 600; meanwhile `/readyz` is 503.
    ///
    /// Requests are answered as usual. Give a load balancer enough time to notice: at least the time between two checks,
    /// times the number of checks that it wants to see fail.
    #[arg(
        long,
        env = "INVOICING_DRAIN_DELAY",
        default_value = "0",
        value_name = "SECONDS",
        value_parser = values::whole_number::<0, 600>,
        help_heading = heading::LOAD
    )]
    pub drain_delay: u32,

    /// Requests to process at once; any further one is refused with 503 `unavailable`.
    ///
    /// This bounds what waits for the database. Requests whose bodies are still arriving do not count; `transfer_memory`
    /// bounds those. The number of connections is bounded by the files that the process may open, such as by `LimitNOFILE`
    /// of systemd. A team or a user may have three quarters of these requests, and all client addresses without a credential
    /// together a quarter, of which the addresses of one site (IPv6 /48, IPv4 /24) have half at most.
    #[arg(
        long,
        env = "INVOICING_MAX_CONCURRENT_REQUESTS",
        default_value = "4096",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::LOAD
    )]
    pub max_concurrent_requests: u32,

    /// MiB of memory for requests being received, and as much again for responses being sent.
    ///
    /// A request takes the size of its body and headers, plus 24 KiB, plus 300 bytes per header. A response counts until its
    /// client has taken it. A team or a user may have a quarter of the memory while there is room, and a 64th of it whatever
    /// others have. All client addresses without a credential together may have half of it; one of them goes beyond a 64th
    /// only while all of them together stay within a quarter. Beyond that, requests are refused with 503 `unavailable`. A
    /// response larger than 64 KiB is abandoned if the client takes nothing of it for ten seconds, a download after a minute.
    #[arg(
        long,
        env = "INVOICING_TRANSFER_MEMORY",
        default_value = "64",
        value_name = "MIB",
        value_parser = values::whole_number::<1, 65_536>,
        help_heading = heading::LOAD
    )]
    pub transfer_memory: u32,

    /// Whether to limit the rate of requests per caller: on or off.
    #[arg(
        long,
        env = "INVOICING_RATE_LIMIT",
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = heading::RATES
    )]
    pub rate_limit: Toggle,

    /// Requests per second that an API key or a session may make in the long run.
    #[arg(
        long,
        env = "INVOICING_RATE_LIMIT_PER_SECOND",
        default_value = "100",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub rate_limit_per_second: u32,

    /// Requests that an API key or a session may make in a burst, after a pause.
    #[arg(
        long,
        env = "INVOICING_RATE_LIMIT_BURST",
        default_value = "200",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub rate_limit_burst: u32,

    /// Token requests per second that a client address may make in the long run.
    ///
    /// IPv6 clients are counted by /64 network, which is what one customer is usually given.
    #[arg(
        long,
        env = "INVOICING_TOKEN_RATE_LIMIT_PER_SECOND",
        default_value = "10",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub token_rate_limit_per_second: u32,

    /// Token requests that a client address may make in a burst, after a pause.
    #[arg(
        long,
        env = "INVOICING_TOKEN_RATE_LIMIT_BURST",
        default_value = "20",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub token_rate_limit_burst: u32,

    /// Redis that shares rate limits between replicas, as `redis://HOST:PORT`, or `rediss://` for TLS.
    ///
    /// Without one, each replica limits on its own. It also does so while Redis does not answer, and reports that in its log
    /// and metrics. Keys start with `invoicing:limit:` and expire within seconds; give two deployments on one Redis separate
    /// databases (`redis://HOST/1`).
    #[arg(
        long,
        env = "INVOICING_REDIS",
        hide_env_values = true,
        value_name = "URL",
        help_heading = heading::RATES
    )]
    pub redis: Option<RedisUrl>,

    /// Networks of the proxies whose `X-Forwarded-For` is trusted, such as `10.0.0.0/8,::1`.
    ///
    /// The client is then the right-most address in that header that is not in the list. Without a list, the header is never
    /// read, since anyone can send one.
    #[arg(
        long,
        env = "INVOICING_TRUSTED_PROXIES",
        default_value = "",
        value_name = "CIDR,...",
        hide_default_value = true,
        help_heading = heading::ADDRESSES
    )]
    pub trusted_proxies: TrustedProxies,

    /// Origins whose pages may call the API and read its documents from a browser, such as
    /// `https://app.example.com,http://localhost:3000`; `*` for all.
    ///
    /// None by default. Apps and servers do not need this, since they have no origin. Anyone who opens a page can read what
    /// it contains, so never put an API key into one. Keep keys on a server of yours that the page calls, or give the page
    /// the access token of the person who signed in. Cookies never count.
    #[arg(
        long,
        env = "INVOICING_CORS_ORIGINS",
        default_value = "",
        value_name = "ORIGIN,...",
        hide_default_value = true,
        help_heading = heading::ADDRESSES
    )]
    pub cors_origins: CorsOrigins,

    /// Mail server for invitations and password reset links, as `smtps://USER:PASSWORD@HOST`.
    ///
    /// `smtp://USER:PASSWORD@HOST?tls=required` uses STARTTLS. The default ports are 465 and 587. Without TLS, the server
    /// has to be on this machine, and there can be no password (`smtp://localhost`, port 25). The certificate is checked
    /// against the authorities that the system trusts. Without this setting, invitation links are shown to the person who
    /// invites, and passwords are reset and emails changed only on the command line. Set it together with `mail_from`. Put a
    /// password into the variable or the file, not on the command line, which others on the machine can read. Percent-encode
    /// what a URL cannot hold: `%40` for @.
    #[arg(
        long,
        env = "INVOICING_SMTP_URL",
        hide_env_values = true,
        value_name = "URL",
        help_heading = heading::MAIL
    )]
    pub smtp_url: Option<SmtpUrl>,

    /// Sender of mail: `invoices@example.com`, or `Invoices <invoices@example.com>`.
    ///
    /// The mail server has to let this address send. Replies go to this address; the service does not read them.
    #[arg(
        long,
        env = "INVOICING_MAIL_FROM",
        value_name = "ADDRESS",
        help_heading = heading::MAIL
    )]
    pub mail_from: Option<MailFrom>,

    /// Least severe level to log: error, warn, info or debug.
    ///
    /// With `info`, requests are logged, one line each: all requests of a known caller within its rate limit, and the first
    /// twenty a minute beyond it; of strangers, for each address, the first twenty a minute with wrong credentials, the
    /// first twenty for paths that do not exist, and the first twenty of all others. The rest are counted in one line each
    /// minute. docs/logs.md describes the lines. This setting is reloaded on SIGHUP.
    #[arg(
        long,
        env = "INVOICING_LOG_LEVEL",
        default_value = "info",
        value_name = "LEVEL",
        hide_possible_values = true,
        help_heading = heading::LOG
    )]
    pub log_level: LogLevel,

    /// Format of log lines: json, terminal, or auto (terminal on a terminal, json elsewhere).
    ///
    /// This setting is reloaded on SIGHUP.
    #[arg(
        long,
        env = "INVOICING_LOG_FORMAT",
        default_value = "auto",
        value_name = "FORMAT",
        hide_possible_values = true,
        help_heading = heading::LOG
    )]
    pub log_format: LogFormat,

    /// OpenTelemetry collector to export traces of requests to, as `http://HOST:4318` (OTLP over HTTP).
    ///
    /// None by default. `/v1/traces` is appended. Headers that the collector requires, such as a key, go into the variable
    /// `OTEL_EXPORTER_OTLP_HEADERS`. No request waits for the collector; what it does not accept is lost, and the log says
    /// so. docs/traces.md describes what is exported.
    #[arg(
        long,
        env = "INVOICING_OTLP_ENDPOINT",
        value_name = "URL",
        help_heading = heading::TRACES
    )]
    pub otlp_endpoint: Option<CollectorUrl>,

    /// Share of all traces to export, from 0 to 1.
    ///
    /// Every service makes the same choice for a trace: if all have the same share, a trace is exported whole. A caller can
    /// opt its trace out, but not in.
    #[arg(
        long,
        env = "INVOICING_TRACE_RATIO",
        default_value = "1",
        value_name = "SHARE",
        value_parser = collector::share,
        help_heading = heading::TRACES
    )]
    pub trace_ratio: f64,
}

/// The headings that group the settings in every help text, apart from a command's own arguments.
mod heading {
    pub(super) const DATABASE: &str = "Database and settings";
    pub(super) const ADDRESSES: &str = "Addresses";
    pub(super) const SIGN_IN: &str = "Sign-in";
    pub(super) const TLS: &str = "TLS";
    pub(super) const LOAD: &str = "Load";
    pub(super) const RATES: &str = "Rate limits";
    pub(super) const MAIL: &str = "Mail";
    pub(super) const LOG: &str = "Log";
    pub(super) const TRACES: &str = "Traces";
}

/// More than a machine can answer, and small enough for exact arithmetic in nanoseconds.
const MOST_REQUESTS: u32 = 1_000_000;

/// The longest that browsers may be asked to remember HSTS: what their preload lists ask for.
const TWO_YEARS: u32 = 63_072_000;

/// Certificate and key files of a server that speaks TLS.
#[derive(Clone, Copy, Debug)]
pub struct TlsFiles<'a> {
    /// The certificate chain in PEM.
    pub certificate: &'a std::path::Path,
    /// Its private key in PEM.
    pub key: &'a std::path::Path,
}

impl Settings {
    /// Returns the settings that [`sources::resolve`] has found.
    ///
    /// # Errors
    /// None in practice: each setting was checked where it was found.
    pub fn from_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        <Self as clap::FromArgMatches>::from_arg_matches(matches)
    }
}
