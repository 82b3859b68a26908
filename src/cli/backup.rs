//! `invoicing backup create`, `verify` and `restore` ([`crate::backup`]).

use std::path::PathBuf;
use std::time::Instant;

use clap::Subcommand;
use clap::builder::RangedU64ValueParser;
use serde_json::Value;
use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

use crate::backup::{self, BackupError, Manifest, Order, Progress, Source, Tally, Watch};
use crate::domain::time::{Clock as _, SystemClock};
use crate::settings::{Database, Settings};

use super::command_error::CommandError;
use super::database::order;
use super::output::Output;
use super::progress::bar;
use super::record::Record;

/// Makes backups while the server runs, checks them, and restores them.
#[derive(Debug, Subcommand)]
pub(super) enum Backup {
    Create(Create),
    Verify(Verify),
    Restore(Restore),
}

/// Backs up the whole database, even while servers run.
///
/// The backup is an SQLite database, whichever engine it was made from, compressed, and encrypted to `backup_recipients` if
/// that is set. It contains everything that was acknowledged before the command started. The file gets its name,
/// `invoicing-2026-11-23T073520.123Z.db.zst` with the time in UTC, once all of it is on disk; a failure before that leaves
/// nothing behind. While the command runs, it takes as much additional disk space as the database.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
    invoicing backup create --to /var/backups/invoicing --keep 14
    invoicing backup create --to /mnt/usb --backup-recipients age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"#)]
pub(super) struct Create {
    /// Existing folder to write the backup to. Give each database its own folder.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    to: PathBuf,
    /// Number of backups to keep in the folder, the new one included; older ones are removed.
    ///
    /// They are removed only once the new one is complete. Files not named like a backup are left alone.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keep: Option<usize>,
    /// Folder for the uncompressed, unencrypted database while the command runs. By default, the backup's folder; for an
    /// encrypted backup, the folder of the SQLite file, or for PostgreSQL the system's temporary folder.
    #[arg(long, value_name = "FOLDER")]
    temporary_folder: Option<PathBuf>,
}

/// Checks that a backup is intact and that this program can read it.
///
/// It checks every byte, table, row and reference. If the backup is not good, the exit code is 1, and the output says why.
/// The backup is unpacked for this, which takes as much disk space as the database.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Example:
    invoicing backup verify invoicing-2026-11-23T073520.123Z.db.zst.age --identity key.txt"#)]
pub(super) struct Verify {
    #[command(flatten)]
    file: File,
}

/// Restores a backup into a new or empty database, SQLite or PostgreSQL.
///
/// Everything is restored or nothing. A database that has rows is refused. A backup of an older release is upgraded.
/// Afterwards, start the server with the same --database. A refresh whose response was lost in the 30 seconds before the
/// backup cannot be repeated: trying it ends that session.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Example:
    invoicing backup restore invoicing-2026-11-23T073520.123Z.db.zst --database sqlite:/var/lib/invoicing/new.db"#)]
pub(super) struct Restore {
    #[command(flatten)]
    file: File,
}

/// Which backup, and how to open it.
#[derive(Debug, clap::Args)]
struct File {
    /// The backup.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File with the secret key of an encrypted backup, as `age-keygen` writes it.
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// Folder to unpack the backup in; by default, the backup's own.
    #[arg(long, value_name = "FOLDER")]
    temporary_folder: Option<PathBuf>,
}

impl From<File> for Source {
    fn from(file: File) -> Source {
        Source {
            path: file.file,
            identity: file.identity,
            temporary_folder: file.temporary_folder,
        }
    }
}

impl Backup {
    pub(super) async fn run(self, settings: &Settings) -> Result<Output, CommandError> {
        match self {
            Backup::Create(create) => create.run(settings).await,
            Backup::Verify(verify) => verify.run().await,
            Backup::Restore(restore) => restore.run(&settings.database).await,
        }
    }
}

impl Create {
    async fn run(self, settings: &Settings) -> Result<Output, CommandError> {
        let begun = Instant::now();
        let order = Order {
            temporary_folder: self.temporary_folder,
            ..order(settings)
        };
        let folder = self.to.clone();
        let made = watched(move |watch| backup::create(&order, &folder, watch)).await?;
        let removed = match self.keep {
            Some(count) => backup::keep(&made.path, count, SystemClock.now()),
            None => Ok(Vec::new()),
        };
        let record = record(&made.manifest)
            .with_text("path", made.path.display())
            .with("bytes", made.bytes)
            .with("encrypted", !settings.backup_recipients.is_empty())
            .with("removed", removed.as_ref().map_or(0, Vec::len))
            .with("seconds", seconds(begun));
        let output = Output::with_list(record, "tables", tables(&made.manifest.tables));
        let output = match backup::others_may(&self.to) {
            Some(what) => {
                let folder = self.to.display();
                output.with_note(format!("others may {what}: chmod 0700 {folder}"))
            }
            None => output,
        };
        Ok(match removed {
            Ok(_) if !made.path.exists() => {
                output.with_note("as many newer ones have come meanwhile, so it was removed, too")
            }
            Ok(_) => output,
            Err(error) => output.failing(format!(
                "the backup was made, but older ones could not be removed: {error}"
            )),
        })
    }
}

impl Verify {
    async fn run(self) -> Result<Output, CommandError> {
        let begun = Instant::now();
        let source = Source::from(self.file);
        let path = source.path.display().to_string();
        let verified = watched(move |watch| backup::verify(&source, watch)).await?;
        let problems = &verified.problems;
        let record = record(&verified.manifest)
            .with_text("path", &path)
            .with("good", problems.is_empty())
            .with("problems", Value::from(problems.clone()))
            .with("sampled", verified.sampled)
            .with("seconds", seconds(begun));
        let output = Output::with_list(record, "tables", tables(&verified.manifest.tables));
        Ok(match problems.is_empty() {
            true => output,
            false => output.failing(format!(
                "the backup {path} is not good: {}. Use another one",
                problems.join("; ")
            )),
        })
    }
}

impl Restore {
    async fn run(self, to: &Database) -> Result<Output, CommandError> {
        let begun = Instant::now();
        let (source, target) = (Source::from(self.file), to.clone());
        let restored = watched(move |watch| backup::restore(&source, &target, watch)).await?;
        let row = |tally: &crate::store::copy::Tally| {
            Record::default()
                .with("table", tally.table)
                .with("rows", tally.rows)
                .with_text("checksum", &tally.checksum)
        };
        let record = record(&restored.manifest)
            .with_text("database", to)
            .with("seconds", seconds(begun));
        let tables = restored.tables.iter().map(row).collect();
        Ok(Output::with_list(record, "tables", tables))
    }
}

/// Runs `work` on a blocking thread, with a progress bar; Ctrl-C or SIGTERM stops it.
async fn watched<T: Send + 'static>(
    work: impl FnOnce(&Watch) -> Result<T, BackupError> + Send + 'static,
) -> Result<T, CommandError> {
    let bar = bar();
    let shown = bar.clone();
    let watch = Watch::new(move |progress: Progress| {
        shown.set_message(progress.doing);
        shown.set_length(progress.total);
        shown.set_position(progress.done);
    });
    let stopping = watch.clone();
    // The signal by which systemd stops it.
    let mut terminated = signal(SignalKind::terminate())?;
    let ended = async {
        tokio::select! { it = ctrl_c() => it, _ = terminated.recv() => Ok(()) }
    };
    let mut work = tokio::task::spawn_blocking(move || work(&watch));
    let done = tokio::select! {
        done = &mut work => done,
        ended = ended => {
            ended?;
            stopping.stop();
            // Waits until it has cleaned up.
            work.await
        }
    };
    bar.finish_and_clear();
    let done = done.map_err(|failure| CommandError::Failed(failure.to_string()))?;
    Ok(done?)
}

fn record(manifest: &Manifest) -> Record {
    Record::default()
        .with_text("id", &manifest.id)
        .with_time("madeAt", manifest.made_at)
        .with_text("madeBy", &manifest.made_by)
        .with("schemaVersion", manifest.schema_version)
        .with("rows", manifest.rows())
}

fn tables(tallies: &[Tally]) -> Vec<Record> {
    let row = |tally: &Tally| {
        Record::default()
            .with_text("table", &tally.table)
            .with("rows", tally.rows)
            .with_text("checksum", &tally.checksum)
    };
    tallies.iter().map(row).collect()
}

/// Rounded to a thousandth.
fn seconds(begun: Instant) -> f64 {
    (begun.elapsed().as_secs_f64() * 1000.0).round() / 1000.0
}

impl From<BackupError> for CommandError {
    fn from(error: BackupError) -> Self {
        Self::Failed(error.to_string())
    }
}
