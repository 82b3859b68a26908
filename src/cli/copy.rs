//! `invoicing copy`: copies one database into another.

use std::time::Instant;

use indicatif::ProgressBar;

use crate::settings::{Database, Settings};
use crate::store::copy::{Copied, CopyError, Progress, Tally, copy};

use super::command_error::CommandError;
use super::output::Output;
use super::progress::bar;
use super::record::Record;

/// Copies everything into a new database, from and to SQLite or PostgreSQL.
///
/// Keys, sessions, cursors and idempotent retries keep working on the copy. The one exception is a refresh whose response
/// was lost in the last 30 seconds: repeating it on the copy ends that session. Everything is copied or nothing: in one
/// transaction, every table is read back and compared before the commit. An error, Ctrl-C or a crash leaves the new database
/// without a row (a file created for the copy is removed, unless the process was killed); the old database is only read.
///
/// The copy shows the moment at which it started. Servers may keep working on the old database, but what they write from
/// then on is not in the new one. So, to move: stop the servers, copy, and start them with the new address.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Example:
    invoicing copy --from sqlite:invoicing.db --to postgres://ada@db.example/invoicing
    invoicing serve --database postgres://ada@db.example/invoicing"#)]
pub(super) struct Copy {
    /// Database to copy; by default, the one that the settings name.
    #[arg(long, value_name = "URL", conflicts_with = "database")]
    from: Option<Database>,
    /// Database to copy to: a file that does not exist yet, or an existing, empty PostgreSQL database.
    #[arg(long, value_name = "URL")]
    to: Database,
}

impl Copy {
    pub(super) async fn run(self, settings: &Settings) -> Result<Output, CommandError> {
        let from = self.from.as_ref().unwrap_or(&settings.database);
        if *from == self.to {
            let why = format!("--from and --to are both {from}; name another database with --to");
            return Err(CommandError::Usage(why));
        }
        let begun = Instant::now();
        let bar = bar();
        let mut show = |progress: Progress| show(&bar, progress);
        let copied = tokio::select! {
            copied = copy(from, &self.to, &mut show) => copied?,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                let why = format!("interrupted; nothing was copied to {}", self.to);
                return Err(CommandError::Failed(why));
            }
        };
        bar.finish_and_clear();
        let (record, tables) = (record(from, &self.to, &copied), tables(&copied));
        let rows = copied.rows();
        // From here on, an interruption would leave the outcome unknown.
        copied.commit().await?;
        let seconds = begun.elapsed().as_secs_f64();
        let record = record
            .with("seconds", (seconds * 1000.0).round() / 1000.0)
            .with("rowsPerSecond", (rows as f64 / seconds) as u64);
        Ok(Output::with_list(record, "tables", tables).with_note(
            "what a server has written to the old database since the copy began is not in the new one",
        ))
    }
}

fn show(bar: &ProgressBar, progress: Progress) {
    let doing = if progress.verifying {
        "verifying"
    } else {
        "copying"
    };
    bar.set_message(format!("{doing} {}", progress.table));
    bar.set_length(progress.total);
    bar.set_position(progress.rows);
}

fn record(from: &Database, to: &Database, copied: &Copied) -> Record {
    Record::default()
        .with_text("id", copied.checksum())
        .with_text("from", from)
        .with_text("to", to)
        .with("rows", copied.rows())
}

fn tables(copied: &Copied) -> Vec<Record> {
    let row = |tally: &Tally| {
        Record::default()
            .with("table", tally.table)
            .with("rows", tally.rows)
            .with_text("checksum", &tally.checksum)
    };
    copied.tables.iter().map(row).collect()
}

impl From<CopyError> for CommandError {
    fn from(error: CopyError) -> Self {
        Self::Failed(error.to_string())
    }
}
