//! `invoicing doctor`: checks everything that a server needs, for the operator who is called at night.
//!
//! 1. It takes the settings of `serve`, and checks the same things with the same code. It changes nothing, and works while a
//!    server runs. Redis is probed with a bucket that expires within a millisecond, as by a server.
//! 2. All checks run at once. One that takes longer than [`CHECK_TIMEOUT`], or panics, is itself a finding, and hides no
//!    other.
//! 3. Each check reports the state, what was found and, unless it is good, what to do. No secret is in it.
//! 4. A warning leaves the exit code at 0, since the service works; a bad finding makes it 1.
//!
//! One file per group of checks. The checks see what the calling user sees, so run it as the user that the server runs as.

mod clock;
mod database;
mod files;
mod finding;
mod network;
mod people;
mod services;

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};

use super::command_error::CommandError;
use super::output::Output;
use super::reload::Started;
use crate::settings::Settings;
use finding::{Finding, State};

/// How long a check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks everything that a server needs, and says how to fix what is wrong.
///
/// It checks settings, files, disk, database, clock, TLS, addresses, Redis, mail server, OpenID provider, collector and
/// limits. It changes nothing, and can run while a server does. Run it as the server's user, with the server's settings and
/// limits. The exit code is 1 if a check is bad; a warning leaves it at 0.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
    invoicing doctor --config /etc/invoicing.toml
    invoicing doctor --json | jq '.[] | select(.state != "good")'"#)]
pub(super) struct Doctor {}

/// What is checked.
struct Subject {
    settings: Settings,
    started: Started,
}

impl Doctor {
    pub(super) fn run(self, settings: &Settings, started: Started) -> Result<Output, CommandError> {
        let settings = settings.clone();
        let subject = Arc::new(Subject { settings, started });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let findings = runtime.block_on(examine(&subject));
        // A pending name lookup, say, must not delay the exit.
        runtime.shutdown_background();
        let bad = findings.iter().filter(|it| it.state == State::Bad).count();
        let lines = findings.iter().map(Finding::lines).collect::<String>();
        let records = findings.iter().map(Finding::record).collect();
        let output = Output::told(lines, records);
        Ok(match bad {
            0 => output,
            1 => output.failing("1 check is bad"),
            _ => output.failing(format!("{bad} checks are bad")),
        })
    }
}

/// Step 2: the findings of all checks, in the order in which they are listed here.
async fn examine(subject: &Arc<Subject>) -> Vec<Finding> {
    let s = || Arc::clone(subject);
    let blocking = |check, look: fn(&Subject) -> Vec<Finding>| {
        let subject = s();
        let looked = tokio::task::spawn_blocking(move || look(&subject));
        patiently(check, looked.boxed())
    };
    let waiting = |check, looks: BoxFuture<'static, Vec<Finding>>| {
        patiently(check, tokio::spawn(looks).boxed())
    };
    let checks: Vec<BoxFuture<'_, Vec<Finding>>> = vec![
        blocking("settings", files::settings),
        blocking("settings-file", files::settings_file),
        blocking("database-file", files::database),
        blocking("disk", files::disk),
        waiting("database", database::reachable(s()).boxed()),
        blocking("content", database::content),
        waiting("connections", database::connections(s()).boxed()),
        waiting("people", people::people(s()).boxed()),
        waiting("clock", clock::clock(s()).boxed()),
        blocking("tls", files::tls),
        blocking("listen", network::listen),
        blocking("origin", network::origin),
        blocking("proxies", network::proxies),
        blocking("descriptors", network::descriptors),
        waiting("redis", services::redis(s()).boxed()),
        waiting("mail", services::mail(s()).boxed()),
        waiting("provider", services::provider(s()).boxed()),
        waiting("collector", services::collector(s()).boxed()),
    ];
    join_all(checks).await.into_iter().flatten().collect()
}

/// The findings of a check, or of its timeout.
fn patiently<'a>(
    check: &'static str,
    looks: BoxFuture<'a, Result<Vec<Finding>, tokio::task::JoinError>>,
) -> BoxFuture<'a, Vec<Finding>> {
    async move {
        match tokio::time::timeout(CHECK_TIMEOUT, looks).await {
            Ok(Ok(findings)) => findings,
            Ok(Err(_)) => {
                let to_do = "tell whoever makes this program, with what stands above";
                vec![Finding::bad(check, "the check itself failed", to_do)]
            }
            Err(_) => {
                let found = format!("no answer within {} seconds", CHECK_TIMEOUT.as_secs());
                let to_do = "look whether what it asks runs, can be reached, and is not overloaded";
                vec![Finding::bad(check, found, to_do)]
            }
        }
    }
    .boxed()
}
