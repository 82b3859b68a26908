//! `invoicing serve`: the server.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, error, info, warn};
use tokio::time::timeout;

use crate::admin::{self, ReplicaState};
use crate::app::App;
use crate::backup::Made;
use crate::domain::password;
use crate::http;
use crate::log::{self, Quotas, Throttle};
use crate::mail::Outbox;
use crate::oidc::Provider;
use crate::pages;
use crate::server::{Ended, STOPPED_AT_ONCE, Server, stopped_again};
use crate::settings::{Database, Origin, Settings};
use crate::start_error::StartError;
use crate::store::{Closing, SCHEMA_VERSION};
use crate::trace::Traces;

use super::command_error::CommandError;
use super::database::open_or_make;
use super::reload::Started;

/// How long the last checkpoint may take, and those who hold the store until then.
const CLOSING: Duration = Duration::from_secs(5);

/// Runs the server until SIGTERM or SIGINT.
///
/// On the first signal, it finishes the requests in progress, for at most 30 seconds; a second signal stops it at once.
/// Behind a load balancer, `--operations-listen` and `--drain-delay` let it stop without a failed request. SIGHUP reloads
/// the certificate, key, log_level and log_format.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
    invoicing serve
    invoicing serve --database sqlite:/srv/invoicing.db --listen 0.0.0.0:8443 \
        --tls-cert cert.pem --tls-key key.pem --public-url https://invoices.example.com
    INVOICING_LOG_LEVEL=warn invoicing serve --config /etc/invoicing.toml

Each request logs one line to standard error, in JSON unless that is a terminal; strangers get twenty a minute."#)]
pub(super) struct Serve {}

impl Serve {
    pub(super) fn run(self, settings: &Settings, started: Started) -> Result<(), CommandError> {
        let (log, written_at_the_end) = log::to_standard_error(settings)?;
        let replica: Arc<ReplicaState> = Arc::default();
        log::panics(&log, Arc::clone(&replica.quotas));
        for warning in &started.resolved.warnings {
            warn!(log, "{warning}");
        }
        warn_if_others_may_read(settings, &log);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let mut closing = None;
        let result = runtime.block_on(async {
            let outbox = outbox(settings, &replica, &log)?;
            let app = open_or_make(settings, |made| tell_of_backup(made, &log)).await?;
            let app = Arc::new(app.mailing_by(outbox));
            closing = Some(app.closing());
            app.look_for_late_commits().await?;
            let quotas = Arc::clone(&replica.quotas);
            let provider = provider(settings)?;
            let context =
                http::Context::new(Arc::clone(&app), settings, Arc::clone(&replica), &log).await;
            let context = context.signing_in_by(provider.clone());
            let traces = traces(settings, &replica, &log)?;
            let context = context.traced_by(traces.clone());
            let server = {
                let api = pages::api(settings.origin())?;
                start(settings, api, context, Arc::clone(&replica), &log)?
            };
            let controls = written_at_the_end.controls();
            let server = server.rereading(move |log| started.reload(&controls, log));
            introduce(&app, settings, &log).await?;
            tokio::spawn(tell_if_unprepared(Arc::clone(&app), log.clone()));
            if let Some(provider) = provider {
                tokio::spawn(warn_if_it_does_not_answer(provider, log.clone()));
            }
            // Last, because a balancer that finds it sends requests.
            let _listener = settings
                .operations_listen
                .map(|address| admin::listen(address, Arc::clone(&app), replica, &log))
                .transpose()?;
            tell_systemd(&log);
            run(server, &app, &quotas, traces, &log).await
        });
        // Abandoned requests must not delay the exit.
        runtime.shutdown_background();
        if !matches!(result, Ok(Ended::AtOnce))
            && let Some(closing) = closing
        {
            wait_until_closed(&closing, &log)?;
        }
        result.map(drop)
    }
}

/// Waits until the store is closed, for as long as that may take, or until a second signal.
fn wait_until_closed(closing: &Closing, log: &Logger) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::select! {
            _ = timeout(CLOSING, closing.closed()) => {}
            () = stopped_again() => warn!(log, "{STOPPED_AT_ONCE}"),
        }
    });
    Ok(())
}

/// Logs where the backup of a file that is about to be upgraded is.
fn tell_of_backup(made: &Made, log: &Logger) {
    info!(
        log, "a backup was made before the schema of the database is brought up to date";
        "file" => %made.path.display(), "schema_version" => made.manifest.schema_version
    );
}

/// The OpenID provider of the settings; it is not contacted yet.
fn provider(settings: &Settings) -> Result<Option<Arc<Provider>>, CommandError> {
    let (Some(oidc), Some(origin)) = (settings.oidc(), settings.origin()) else {
        return Ok(None);
    };
    let provider = Provider::new(oidc, &origin, settings.max_concurrent_requests)
        .map_err(CommandError::Failed)?;
    Ok(Some(Arc::new(provider)))
}

/// The exporter of traces, if a collector is set.
fn traces(
    settings: &Settings,
    replica: &ReplicaState,
    log: &Logger,
) -> Result<Option<Arc<Traces>>, CommandError> {
    let Some(collector) = &settings.otlp_endpoint else {
        return Ok(None);
    };
    let counts = Arc::clone(&replica.metrics.traces);
    let (log, failures) = (log.clone(), Throttle::default());
    let failed = move |error| {
        if let Some(count) = failures.again() {
            warn!(log, "the collector does not take spans"; "error" => error, "count" => count);
        }
    };
    let traces = Traces::start(collector.traces(), settings.trace_ratio, counts, failed);
    traces.map(Arc::new).map(Some).map_err(CommandError::Failed)
}

/// Contacts the provider, so that an operator who mistyped its settings sees it before the first sign-in. Nothing waits for
/// it.
async fn warn_if_it_does_not_answer(provider: Arc<Provider>, log: Logger) {
    if let Err(error) = provider.check().await {
        warn!(
            log, "people cannot sign in by the OpenID provider until it answers";
            "issuer" => provider.issuer(), "error" => %error
        );
    }
}

/// Warns that statements to PostgreSQL are not prepared: at the start, or when it is found later.
async fn tell_if_unprepared(app: Arc<App>, log: Logger) {
    let why = app.unprepared().await;
    warn!(log, "statements are not prepared, as something may stand before PostgreSQL that forgets them"; "error" => why);
}

/// Warns about an existing database file whose mode is wider than that of a new one: a copy, say, or a restored file. The
/// mode is not changed, since it may be intended.
fn warn_if_others_may_read(settings: &Settings, log: &Logger) {
    const OF_OTHERS: u32 = 0o077;
    let Database::Sqlite(path) = &settings.database else {
        return;
    };
    // A missing file gets the right mode when created; other errors are reported when it is opened.
    let Ok(metadata) = std::fs::metadata(path) else {
        return;
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OF_OTHERS != 0 {
        warn!(
            log,
            "other users of this machine may read or write the database file: give it mode 0600";
            "file" => %path.display(), "mode" => format!("{mode:04o}")
        );
    }
}

/// Notifies systemd, if it started this process (`Type=notify`), that the server now answers requests.
fn tell_systemd(log: &Logger) {
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        warn!(log, "systemd could not be told that the server listens"; "error" => %error);
    }
}

/// The outbox for mail, if mail is configured.
fn outbox(
    settings: &Settings,
    replica: &ReplicaState,
    log: &Logger,
) -> Result<Option<Outbox>, CommandError> {
    let Some(origin) = settings.origin().filter(Origin::may_sign_in) else {
        if settings.smtp_url.is_some() {
            warn!(
                log,
                "no mail is sent: it is for the pages, and there are none; give --origin"
            );
        }
        return Ok(None);
    };
    let Some(mail) = settings.mail() else {
        return Ok(None);
    };
    let counts = replica.metrics.mail.clone();
    let outbox = Outbox::new(mail, &origin, counts, log);
    outbox.map(Some).map_err(CommandError::Failed)
}

/// Logs the version and the database, what is in it, and what is still to do before the service can be used.
async fn introduce(app: &App, settings: &Settings, log: &Logger) -> Result<(), CommandError> {
    let found = app.found_schema_version();
    info!(
        log, "invoicing {}", super::VERSION;
        "database" => %settings.database, "new" => found == 0, "schema_version" => SCHEMA_VERSION
    );
    if (1..SCHEMA_VERSION).contains(&found) {
        info!(
            log, "the schema of the database was brought up to date";
            "from" => found, "to" => SCHEMA_VERSION
        );
    }
    if settings.origin().is_some_and(|it| it.may_sign_in()) && settings.mail().is_none() {
        let instead = match app.switched_on().password {
            true => {
                "passwords are set anew and emails changed by `invoicing user reset-link` and `invoicing user set-email`"
            }
            false => "emails are changed by `invoicing user set-email`",
        };
        info!(
            log,
            "no mail is sent: invitations are shown to whoever makes them, and {instead}; smtp_url and mail_from change that"
        );
    }
    let elsewhere = app.count_passkeys_elsewhere().await?;
    if elsewhere > 0 {
        warn!(
            log,
            "passkeys that were made at another host than that of the origin do not count, and their users cannot sign in by them";
            "passkeys" => elsewhere, "origin" => app.origin().unwrap_or("none")
        );
    }
    let overview = app.overview().await?;
    info!(
        log, "in the database";
        "team" => overview.has_team, "api_key" => overview.has_api_key, "user" => overview.has_user
    );
    if let Some(next) = overview.next_steps() {
        info!(log, "to do next: {next}");
    }
    Ok(())
}

/// Starts a server for `api`, and logs where its documentation is.
pub(super) fn start(
    settings: &Settings,
    api: http::Api,
    context: http::Context,
    replica: Arc<ReplicaState>,
    log: &Logger,
) -> Result<Server<http::Context>, StartError> {
    replica.metrics.declare(&api.operations);
    if settings.origin().is_some() && settings.switched_on().password {
        tokio::task::spawn_blocking(password::load_tables);
    }
    let traces = context.traces();
    let (api, methods) = (api.endpoints, api.methods);
    let server = Server::start(settings, api, methods, context, replica, traces, log)?;
    info!(log, "documentation, to read and to try"; "docs" => format!("{}/docs", server.url()));
    Ok(server)
}

/// Serves until the process is asked to stop, and runs the background tasks alongside. Returns whether it was asked twice.
pub(super) async fn run(
    server: Server<http::Context>,
    app: &App,
    quotas: &Quotas,
    traces: Option<Arc<Traces>>,
    log: &Logger,
) -> Result<Ended, CommandError> {
    let mut ended = tokio::select! {
        ended = server.run() => ended,
        () = app.run_background_tasks(log) => Ok(Ended::InTurn),
        () = quotas.tell_each_minute(log) => Ok(Ended::InTurn),
    };
    quotas.tell(log);
    if ended != Ok(Ended::AtOnce) {
        tokio::select! {
            () = tell_the_last(app, traces, log) => {}
            () = stopped_again() => {
                warn!(log, "{STOPPED_AT_ONCE}");
                ended = ended.map(|_| Ended::AtOnce);
            }
        }
    }
    ended.map_err(CommandError::Failed)
}

/// Sends and writes what is still pending.
async fn tell_the_last(app: &App, traces: Option<Arc<Traces>>, log: &Logger) {
    app.finish_mail().await;
    if let Err(failure) = app.record_uses().await {
        error!(log, "the last uses of keys and sessions were not recorded"; "error" => failure.causes());
    }
    if let Some(traces) = traces {
        traces.finish().await;
    }
}
