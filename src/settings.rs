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
    /// Where everything is kept: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`.
    ///
    /// The SQLite file is made when it does not exist; the PostgreSQL database must exist. Many replicas may
    /// share one PostgreSQL, and it may be on several servers (`postgres://USER@HOST-1,HOST-2/DATABASE`): the
    /// one that takes writes is used. `sslmode` is `disable`, `prefer` (the default), `require`, `verify-ca` or
    /// `verify-full`, the last two with `sslrootcert=FILE`. Statements are prepared unless it is found that a pooler
    /// stands in between that may forget them; `prepared_statements=true` or `false` says which it is. `pool_size=N` is how many connections a process makes at most, 16 unless
    /// given: all replicas together, one more during an upgrade, and a few for commands have to fit into PostgreSQL's
    /// `max_connections`. A command may use the database of a running server. Write a password into the variable
    /// or the file: others on the machine can read a command line.
    #[arg(
        long,
        env = "INVOICING_DATABASE",
        hide_env_values = true,
        default_value = "sqlite:invoicing.db",
        value_name = "URL",
        help_heading = heading::DATABASE
    )]
    pub database: Database,

    /// Whether an SQLite file is backed up before a newer release brings its schema up to date: on or off.
    ///
    /// The backup is beside the file and named after its version, such as `invoicing.db.schema-11.zst`. If it cannot be made,
    /// the program does not start, and the file stays as it is. It has everything, and nobody removes it: do so once the new
    /// release has proven itself. `invoicing backup restore` of the release before, or `zstd -d`, makes a database of it again.
    #[arg(
        long,
        env = "INVOICING_BACKUP_BEFORE_UPGRADE",
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = heading::DATABASE
    )]
    pub backup_before_upgrade: Toggle,

    /// Public keys that backups are encrypted to, such as `age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj`, with
    /// commas between.
    ///
    /// None unless given: then a backup is in clear, readable by its owner alone. `age-keygen` makes a key; each of the holders
    /// of a secret key opens a backup alone. Keep the secret keys elsewhere: this machine needs none of them to make backups.
    #[arg(
        long,
        env = "INVOICING_BACKUP_RECIPIENTS",
        default_value = "",
        value_name = "KEY,...",
        hide_default_value = true,
        help_heading = heading::DATABASE
    )]
    pub backup_recipients: Recipients,

    /// Where share links point to: each `url` begins with this.
    ///
    /// An `http` or `https` address without query; a path is kept, a final slash is not. What shows a shared file
    /// there is another program: this one makes and lists links, and answers 404 to their addresses.
    #[arg(
        long,
        env = "INVOICING_PUBLIC_URL",
        default_value = "http://127.0.0.1:8080",
        value_name = "URL",
        help_heading = heading::ADDRESSES
    )]
    pub public_url: PublicUrl,

    /// Where people reach the pages: the scheme, host and port that a browser shows, such as `https://invoices.example.com`.
    ///
    /// `public_url` unless given, if that has no path; otherwise there are no pages. Neither the address that the server
    /// listens on nor a header of a proxy says it. People sign in only by `https`, or by `http` on their own machine
    /// (`http://localhost:8080`).
    #[arg(
        long,
        env = "INVOICING_ORIGIN",
        value_name = "ORIGIN",
        help_heading = heading::ADDRESSES
    )]
    pub origin: Option<Origin>,

    /// Whether people may sign in by a password: on or off.
    ///
    /// `off` leaves passkeys and the OpenID provider (`oidc_issuer`); one of them has to be possible, and passkeys are not where
    /// `origin` has an IP address. Nobody types or sets a password then; those that there are stay, and count again when it is
    /// `on`. A user who has nothing else is found by the email that the provider says is proven. Without a provider, nobody new
    /// comes in: switch passwords off once everybody has a passkey.
    #[arg(
        long,
        env = "INVOICING_PASSWORD_SIGN_IN",
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = heading::SIGN_IN
    )]
    pub password_sign_in: Toggle,

    /// The OpenID provider by which people may sign in: its issuer, such as `https://accounts.example.com`.
    ///
    /// None unless given; goes together with `oidc_client_id` and `oidc_client_secret`. Every character counts, a final slash
    /// too. Register this service there as a confidential client (code flow), with the redirect URI
    /// `https://invoices.example.com/sign-in/callback`, where the first part is `origin`. Its ID tokens should say `email` and
    /// `email_verified`: by these, people accept invitations, and somebody without another way to sign in is found the first
    /// time. Identities of another issuer count for nothing, but stay.
    #[arg(
        long,
        env = "INVOICING_OIDC_ISSUER",
        value_name = "URL",
        help_heading = heading::SIGN_IN
    )]
    pub oidc_issuer: Option<Issuer>,

    /// Who this service is at the OpenID provider.
    #[arg(
        long,
        env = "INVOICING_OIDC_CLIENT_ID",
        value_name = "ID",
        value_parser = oidc::credential,
        help_heading = heading::SIGN_IN
    )]
    pub oidc_client_id: Option<String>,

    /// By what it proves that to the provider.
    ///
    /// Write it into the variable or the file: others on the machine can read a command line.
    #[arg(
        long,
        env = "INVOICING_OIDC_CLIENT_SECRET",
        hide_env_values = true,
        value_name = "SECRET",
        value_parser = oidc::secret,
        help_heading = heading::SIGN_IN
    )]
    pub oidc_client_secret: Option<Secret>,

    /// What people call the provider: the pages say "Sign in with" and this. The host of the issuer unless given.
    #[arg(
        long,
        env = "INVOICING_OIDC_NAME",
        value_name = "NAME",
        value_parser = oidc::name,
        help_heading = heading::SIGN_IN
    )]
    pub oidc_name: Option<String>,

    /// Address and port to listen on; port 0 takes any free one.
    ///
    /// `localhost:8080` is `127.0.0.1:8080`, and `:8080` is `0.0.0.0:8080`. Give that or `[::]:8080` to be reached from other machines, and then `tls_cert` and
    /// `tls_key` too, or a proxy in front that speaks TLS: keys and tokens travel in every request.
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
    /// Goes together with `tls_key`. Both files are read again on SIGHUP; if the new ones cannot be
    /// used, the server says so in its log and keeps the old ones.
    #[arg(long, env = "INVOICING_TLS_CERT", value_name = "FILE", help_heading = heading::TLS)]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the certificate in PEM (PKCS #8, PKCS #1 or SEC 1).
    #[arg(long, env = "INVOICING_TLS_KEY", value_name = "FILE", help_heading = heading::TLS)]
    pub tls_key: Option<PathBuf>,

    /// Seconds for which a browser that was here reaches this host by TLS alone (HSTS); 0 sends no such header.
    ///
    /// Needs `tls_cert` and `tls_key`: where a proxy speaks TLS, the proxy says it. It is the whole host that browsers
    /// remember it of, with all ports, and they cannot be told otherwise in clear; begin with an hour (3600), and end with a
    /// year (31536000) or two. The header comes with every answer to a path that the server has.
    #[arg(
        long,
        env = "INVOICING_HSTS",
        default_value = "0",
        value_name = "SECONDS",
        value_parser = values::whole_number::<0, TWO_YEARS>,
        help_heading = heading::TLS
    )]
    pub hsts: u32,

    /// Address and port that tell operators and balancers about this replica: `/healthz`, `/readyz`,
    /// `/metrics`.
    ///
    /// Off unless given. It speaks no TLS and asks for no credential, so give it an address that only
    /// they reach.
    #[arg(
        long,
        env = "INVOICING_OPERATIONS_LISTEN",
        value_name = "ADDRESS:PORT",
        value_parser = values::address,
        help_heading = heading::ADDRESSES
    )]
    pub operations_listen: Option<SocketAddr>,

    /// Seconds between being asked to stop and stopping, at most 600: `/readyz` is 503 meanwhile, and
    /// requests are answered as ever.
    ///
    /// Give a balancer the time to see it: at least as long as it takes between two checks, as often
    /// as it wants to see one fail.
    #[arg(
        long,
        env = "INVOICING_DRAIN_DELAY",
        default_value = "0",
        value_name = "SECONDS",
        value_parser = values::whole_number::<0, 600>,
        help_heading = heading::LOAD
    )]
    pub drain_delay: u32,

    /// Requests that are worked on at once; another is refused with 503 `unavailable`.
    ///
    /// It bounds what waits for the database. A request whose body is still on the way is not among them;
    /// `transfer_memory` bounds those. How many connections there are is bounded by the files that the process
    /// may open, such as `LimitNOFILE` of systemd. A team or a user may have three quarters of these requests, and all client
    /// addresses without a credential together a quarter.
    #[arg(
        long,
        env = "INVOICING_MAX_CONCURRENT_REQUESTS",
        default_value = "4096",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::LOAD
    )]
    pub max_concurrent_requests: u32,

    /// MiB of memory for what is on its way: requests whose bodies are being received, and as much again for answers
    /// that their clients have not taken yet.
    ///
    /// A request counts for its body and its headers, and for 24 KiB and 300 bytes a header besides, which is what they take.
    /// A team or a user may have a quarter of it while there is room, and a 64th of it whatever others have. All client
    /// addresses without a credential together may have half of it, and a quarter beyond a 64th for each. Beyond
    /// that, requests are refused with 503 `unavailable`. A larger answer than 64 KiB of which
    /// nothing is taken for ten seconds is given up.
    #[arg(
        long,
        env = "INVOICING_TRANSFER_MEMORY",
        default_value = "64",
        value_name = "MIB",
        value_parser = values::whole_number::<1, 65_536>,
        help_heading = heading::LOAD
    )]
    pub transfer_memory: u32,

    /// Whether callers are limited in how often they may call.
    #[arg(
        long,
        env = "INVOICING_RATE_LIMIT",
        default_value = "on",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = heading::RATES
    )]
    pub rate_limit: Toggle,

    /// Requests a second that an API key or a session may make in the long run.
    #[arg(
        long,
        env = "INVOICING_RATE_LIMIT_PER_SECOND",
        default_value = "100",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub rate_limit_per_second: u32,

    /// Requests that an API key or a session may make at once after a pause.
    #[arg(
        long,
        env = "INVOICING_RATE_LIMIT_BURST",
        default_value = "200",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub rate_limit_burst: u32,

    /// Token requests a second that a client address may make in the long run.
    ///
    /// An IPv6 client counts by its /64 network, which is what one customer is usually given.
    #[arg(
        long,
        env = "INVOICING_TOKEN_RATE_LIMIT_PER_SECOND",
        default_value = "10",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub token_rate_limit_per_second: u32,

    /// Token requests that a client address may make at once after a pause.
    #[arg(
        long,
        env = "INVOICING_TOKEN_RATE_LIMIT_BURST",
        default_value = "20",
        value_name = "N",
        value_parser = values::whole_number::<1, MOST_REQUESTS>,
        help_heading = heading::RATES
    )]
    pub token_rate_limit_burst: u32,

    /// Redis that makes rate limits hold across replicas, as `redis://HOST:PORT`, or `rediss://` for TLS.
    ///
    /// Without one, each replica limits on its own. So it does while Redis does not answer, and says so
    /// in its log and metrics. Keys begin with `invoicing:limit:` and expire within seconds; give two
    /// deployments on one Redis a database each (`redis://HOST/1`).
    #[arg(
        long,
        env = "INVOICING_REDIS",
        hide_env_values = true,
        value_name = "URL",
        help_heading = heading::RATES
    )]
    pub redis: Option<RedisUrl>,

    /// Networks of the proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8,::1`.
    ///
    /// The client is then the right-most address of that header that is not in the list. Without a
    /// list, the header is never read: anybody can send one.
    #[arg(
        long,
        env = "INVOICING_TRUSTED_PROXIES",
        default_value = "",
        value_name = "CIDR,...",
        hide_default_value = true,
        help_heading = heading::ADDRESSES
    )]
    pub trusted_proxies: TrustedProxies,

    /// Origins whose pages may call the operations and read the documents from a browser, such as
    /// `https://app.example.com,http://localhost:3000`; `*` for all.
    ///
    /// None unless given, which needs nothing: apps and servers have no origin. What a page holds, everybody who opens it can
    /// read: never put an API key into one. Keep keys on a server of yours that the page asks, or give the page the
    /// access token of the person who signed in. Cookies never count.
    #[arg(
        long,
        env = "INVOICING_CORS_ORIGINS",
        default_value = "",
        value_name = "ORIGIN,...",
        hide_default_value = true,
        help_heading = heading::ADDRESSES
    )]
    pub cors_origins: CorsOrigins,

    /// Mail server that invitations and links to set a password anew are sent by, as `smtps://USER:PASSWORD@HOST`.
    ///
    /// `smtp://USER:PASSWORD@HOST?tls=required` is STARTTLS. The usual ports are 465 and 587; without TLS, only a server on this
    /// machine will do, and no password (`smtp://localhost`, port
    /// 25). The certificate is checked by the authorities that the system trusts. Without this setting, whoever invites is shown
    /// the link, and a password is set anew or an email changed by the command line alone. Goes together with `mail_from`. Write
    /// a password into the variable or the file: others on the machine can read a command line. What a URL cannot hold is written
    /// as `%40`.
    #[arg(
        long,
        env = "INVOICING_SMTP_URL",
        hide_env_values = true,
        value_name = "URL",
        help_heading = heading::MAIL
    )]
    pub smtp_url: Option<SmtpUrl>,

    /// Whom mail is from: `invoices@example.com`, or `Invoices <invoices@example.com>`.
    ///
    /// The mail server has to let this address send. Nobody reads what is answered unless somebody does at this address.
    #[arg(
        long,
        env = "INVOICING_MAIL_FROM",
        value_name = "ADDRESS",
        help_heading = heading::MAIL
    )]
    pub mail_from: Option<MailFrom>,

    /// The least severe message that is logged: error, warn, info or debug.
    ///
    /// A line a request comes with `info`: each of a known caller within its rate limit, of one beyond it the first twenty a
    /// minute, and of strangers the first twenty a minute from one address of wrong credentials, of paths that nothing has, and of
    /// the rest. The others are counted in one line each minute. docs/logs.md says what is in a line. SIGHUP reads this again.
    #[arg(
        long,
        env = "INVOICING_LOG_LEVEL",
        default_value = "info",
        value_name = "LEVEL",
        hide_possible_values = true,
        help_heading = heading::LOG
    )]
    pub log_level: LogLevel,

    /// How a log line looks: json, terminal, or auto, which is terminal on a terminal and json elsewhere.
    ///
    /// SIGHUP reads this again.
    #[arg(
        long,
        env = "INVOICING_LOG_FORMAT",
        default_value = "auto",
        value_name = "FORMAT",
        hide_possible_values = true,
        help_heading = heading::LOG
    )]
    pub log_format: LogFormat,

    /// The collector of OpenTelemetry that is told what requests took, as `http://HOST:4318` (OTLP over HTTP).
    ///
    /// None unless given. `/v1/traces` is added. Headers that the collector asks for, such as a key, are in the variable
    /// `OTEL_EXPORTER_OTLP_HEADERS`. No request waits for it; what it does not take is lost, and the log says so.
    /// docs/traces.md says what is told.
    #[arg(
        long,
        env = "INVOICING_OTLP_ENDPOINT",
        value_name = "URL",
        help_heading = heading::TRACES
    )]
    pub otlp_endpoint: Option<CollectorUrl>,

    /// Which share of all traces is told, from 0 to 1.
    ///
    /// What of a trace is told does not depend on the service that is asked: with the same share everywhere, it is
    /// told whole. A caller can say that its trace is not told, and not that it is.
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
