//! The command line: its commands, and what they print.
//!
//! - Every command takes the settings that it uses ([`crate::settings`]) and no others, and `--json` if it works on the
//!   database. Both are added here, to all commands at once, not in each of them.
//! - Standard output has the answer and nothing else: one JSON value, or text for people. Notes, warnings and failures go to
//!   standard error.
//! - The exit code is 0, 1 when the command failed, or 2 when it was used wrongly, settings included.
//! - Commands open the database themselves, even while a server runs on it, and call the same [`App`](crate::app::App) as
//!   the server does; no rules are implemented here.
//!
//! One file per noun, named as in [`crate::app`]; each has its arguments and one function that runs them.

mod api_key;
mod audit;
mod auth_code;
mod backup;
mod command_error;
mod completions;
mod copy;
mod database;
mod demo;
mod doctor;
mod item;
mod man;
mod member;
mod oauth_client;
mod one_time_link;
mod openapi;
mod output;
mod part;
mod product;
mod progress;
mod record;
mod reload;
mod serve;
mod session;
mod setup_link;
mod share_link;
mod suspend;
mod table;
mod team;
mod user;
mod word;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::settings::Settings;
use crate::settings::sources::{self, Texts};
use command_error::CommandError;
use output::Output;
use reload::Started;

/// The version of this program, with the commit that it was built from (`build.rs`).
const VERSION: &str = env!("VERSION_AND_COMMIT");

/// An invoicing service: product catalogs, and device sessions for a mobile app.
#[derive(Debug, Parser)]
#[command(
    after_help = r#"`invoicing demo` shows everything at once. To run it for real, create a team and a key, then serve:
    invoicing team create --name "Acme"
    invoicing api-key create --team Acme --mode live --scope read-write
    invoicing serve

Every command has its own help: `invoicing api-key create --help`."#
)]
#[command(
    name = "invoicing",
    version = VERSION,
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    Doctor(doctor::Doctor),
    Openapi(openapi::Openapi),
    Copy(copy::Copy),
    #[command(subcommand)]
    Backup(backup::Backup),
    #[command(flatten)]
    OnDatabase(OnDatabase),
    Completions(completions::Completions),
    Man(man::Man),
}

/// What works on the database and takes `--json`.
#[derive(Debug, Subcommand)]
enum OnDatabase {
    SetupLink(setup_link::SetupLink),
    #[command(subcommand)]
    Team(team::Team),
    #[command(subcommand)]
    ApiKey(api_key::ApiKey),
    #[command(subcommand)]
    User(user::User),
    #[command(subcommand)]
    Member(member::Member),
    #[command(subcommand)]
    Product(product::Product),
    #[command(subcommand)]
    OauthClient(oauth_client::OauthClient),
    #[command(subcommand)]
    AuthCode(auth_code::AuthCode),
    #[command(subcommand)]
    Session(session::Session),
    #[command(subcommand)]
    Folder(item::Folder),
    #[command(subcommand)]
    File(item::File),
    #[command(subcommand)]
    Link(share_link::Link),
    #[command(subcommand)]
    Audit(audit::Audit),
}

impl OnDatabase {
    /// Whether it may be the first command, before there is a database.
    fn may_begin(&self) -> bool {
        match self {
            OnDatabase::SetupLink(_) => true,
            OnDatabase::Team(team) => team.may_begin(),
            _ => false,
        }
    }
}

/// Reads the command line of this process and runs it.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let variables = std::env::vars_os().collect();
    let started = match Started::new(command, arguments, variables) {
        Ok(started) => started,
        // Help and version are not failures; clap handles them, exit codes included.
        Err(sources::Error::Usage(error)) => error.exit(),
        Err(error @ sources::Error::Wrong(_)) => {
            return report(CommandError::Usage(error.to_string()));
        }
    };
    let resolved = &started.resolved;
    let settings = Settings::from_matches(&resolved.settings);
    let parsed =
        settings.and_then(|settings| Ok((settings, Cli::from_arg_matches(&resolved.matches)?)));
    let (settings, cli) = parsed.unwrap_or_else(|error| error.exit());
    match run(cli.command, &settings, started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(error),
    }
}

fn run(command: Command, settings: &Settings, started: Started) -> Result<(), CommandError> {
    let resolved = &started.resolved;
    let matches = sources::leaf(&resolved.matches);
    // The server logs them, and `doctor` reports them as findings.
    if !matches!(command, Command::Serve(_) | Command::Doctor(_)) {
        resolved
            .warnings
            .iter()
            .for_each(|warning| output::say(&format!("warning: {warning}")));
    }
    match command {
        Command::Serve(serve) => {
            settings
                .check_for_serving()
                .unwrap_or_else(|error| error.exit());
            serve.run(settings, started)
        }
        Command::Doctor(doctor) => {
            let given = |flag| matches!(matches.try_get_one(flag), Ok(Some(true)));
            let json = given(output::JSON);
            doctor.run(settings, started)?.print(json, true)
        }
        Command::Demo(demo) => {
            let given = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
            if given("database") {
                let why = "the demo makes a database of its own; `invoicing serve` takes yours";
                return Err(CommandError::Usage(why.into()));
            }
            demo.run(settings, given("listen"))
        }
        Command::Openapi(openapi) => openapi.run(),
        Command::Completions(completions) => completions.run(self::command(&Texts::new())),
        Command::Man(man) => man.run(self::command(&Texts::new())),
        Command::Copy(copy) => finish(copy.run(settings), matches),
        Command::Backup(backup) => finish(backup.run(settings), matches),
        Command::OnDatabase(command) => finish(on_database(command, settings), matches),
    }
}

/// Waits for an answer and prints it.
fn finish(
    answer: impl Future<Output = Result<Output, CommandError>>,
    matches: &ArgMatches,
) -> Result<(), CommandError> {
    let given = |flag| matches!(matches.try_get_one(flag), Ok(Some(true)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime
        .block_on(answer)?
        .print(given(output::JSON), given(output::UTC))
}

async fn on_database(command: OnDatabase, settings: &Settings) -> Result<Output, CommandError> {
    let backed_up = |made: &crate::backup::Made| {
        let (database, path) = (&settings.database, made.path.display());
        output::say(&format!(
            "note: {database} is brought up to date; the backup that was made of it before is {path}"
        ));
    };
    let app = match &command {
        command if command.may_begin() => {
            let app = database::open_or_make(settings, backed_up).await?;
            if app.found_schema_version() == 0 {
                output::say(&format!("note: made a new database, {}", settings.database));
            }
            app
        }
        _ => database::open(settings, backed_up).await?,
    };
    let app = &app.before_steps(suspend::if_asked());
    match command {
        OnDatabase::SetupLink(command) => command.run(app).await,
        OnDatabase::Team(command) => command.run(app).await,
        OnDatabase::ApiKey(command) => command.run(app).await,
        OnDatabase::User(command) => command.run(app).await,
        OnDatabase::Member(command) => command.run(app).await,
        OnDatabase::Product(command) => command.run(app).await,
        OnDatabase::OauthClient(command) => command.run(app).await,
        OnDatabase::AuthCode(command) => command.run(app).await,
        OnDatabase::Session(command) => command.run(app).await,
        OnDatabase::Folder(command) => command.run(app).await,
        OnDatabase::File(command) => command.run(app).await,
        OnDatabase::Link(command) => command.run(app).await,
        OnDatabase::Audit(command) => command.run(app).await,
    }
}

/// Prints why a command failed.
fn report(error: CommandError) -> ExitCode {
    let (text, code) = match error {
        CommandError::Failed(text) => (text, 1),
        CommandError::Usage(text) => (text, 2),
    };
    for line in text.lines() {
        output::say(&format!("error: {line}"));
    }
    ExitCode::from(code)
}

/// The whole command line, with `texts` in place of the settings' defaults.
fn command(texts: &Texts) -> clap::Command {
    complete(Cli::command(), texts, "")
}

/// Adds settings and `--json` to every command below `command`, showing only what concerns it.
fn complete(command: clap::Command, texts: &Texts, path: &str) -> clap::Command {
    if command.has_subcommands() {
        return command.mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            complete(below, texts, path.trim_start())
        });
    }
    let command = match path {
        "serve" | "demo" | "openapi" | "completions" | "man" | "product export" => command,
        "copy" | "doctor" | "product import" => command.arg(output::json_flag()),
        _ => command.arg(output::json_flag()).arg(output::utc_flag()),
    };
    let own: Vec<_> = command
        .get_arguments()
        .map(|arg| arg.get_id().clone())
        .collect();
    let takes = takes(path);
    sources::complete(command, texts, takes).mut_args(|arg| {
        if own.contains(arg.get_id()) || path == "serve" {
            return arg;
        }
        // The page's text about the setting would bury the command's own.
        let arg = arg.long_help(Resettable::Reset);
        // The demo takes it only to refuse it with a better message.
        let hidden = path == "demo" && arg.get_id() == "database"
            || path != "backup create" && is_of_upgrades(arg.get_id().as_str());
        arg.hide(hidden)
    })
}

/// Which settings a command takes: returns a test of their names.
fn takes(path: &str) -> fn(&str) -> bool {
    match path {
        "serve" | "doctor" => |_| true,
        "demo" => |name| {
            !matches!(
                name,
                "public_url"
                    | "origin"
                    | "tls_cert"
                    | "tls_key"
                    | "hsts"
                    | "operations_listen"
                    | "drain_delay"
                    | "backup_before_upgrade"
                    | "backup_recipients"
                    | "redis"
                    | "smtp_url"
                    | "mail_from"
            )
        },
        "openapi" | "completions" | "man" | "backup verify" => |_| false,
        "copy" | "backup restore" => |name| matches!(name, "database" | "config"),
        "backup create" => |name| matches!(name, "database" | "config" | "backup_recipients"),
        "setup-link" | "user invite" | "user reset-link" => {
            |name| opening(name) || matches!(name, "public_url" | "origin")
        }
        "link create" | "link list" | "link show" => |name| opening(name) || name == "public_url",
        _ => opening,
    }
}

/// Whether a setting decides which database is opened, or what is done before it is upgraded.
fn opening(name: &str) -> bool {
    matches!(name, "database" | "config") || is_of_upgrades(name)
}

/// Whether a setting only matters when a database is upgraded, which few commands ever do.
fn is_of_upgrades(name: &str) -> bool {
    matches!(name, "backup_before_upgrade" | "backup_recipients")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command(&Texts::new()).debug_assert();
    }
}
