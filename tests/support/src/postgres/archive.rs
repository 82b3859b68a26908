//! A cluster that archives its log, and PostgreSQL's own tools for using that archive: tries out docs/backup.md.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Cluster, path};

/// Longer than anything here takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Relative to the data folder.
const ARCHIVE: &str =
    "-c archive_mode=on -c archive_command='test ! -f ../archive/%f && cp %p ../archive/%f'";

impl Cluster {
    /// A cluster that archives each full segment of its log, into `archive` in its folder.
    ///
    /// # Panics
    ///
    /// As [`start`](Cluster::start).
    pub fn archiving() -> Cluster {
        let cluster = Cluster::start_with(ARCHIVE);
        cluster.run("mkdir", &["archive"]);
        cluster
    }

    /// Copies the whole running cluster, into `base` in its folder.
    ///
    /// # Panics
    ///
    /// When `pg_basebackup` fails.
    pub fn back_up(&self) {
        let port = self.port.to_string();
        let address = ["-h", "127.0.0.1", "-p", &port, "-U", "invoicing"];
        self.run(
            "pg_basebackup",
            &[&["-D", "base", "-c", "fast"][..], &address].concat(),
        );
        self.run("pg_verifybackup", &["base"]);
    }

    /// Archives everything that was written so far.
    ///
    /// # Panics
    ///
    /// When it is not archived within a minute.
    pub fn archive(&self) {
        let segment = self.ask("postgres", "SELECT pg_walfile_name(pg_switch_wal())");
        let archived = self.folder().join("archive").join(segment);
        let end = Instant::now() + TIMEOUT;
        while !archived.exists() {
            assert!(
                Instant::now() < end,
                "{} is not archived",
                archived.display()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Another cluster: the copy that [`back_up`](Cluster::back_up) made, with everything that was archived after it,
    /// up to that time. It accepts writes.
    ///
    /// # Panics
    ///
    /// When it does not start, or does not reach that time.
    pub fn recovered(&self, time: &str) -> Cluster {
        let folder = self.folder().display();
        let options = format!(
            "-c restore_command='cp {folder}/archive/%f %p' -c recovery_target_time='{time}' \
             -c recovery_target_action=promote"
        );
        let base = self.folder().join("base");
        let recovered = Cluster::make_of(&options, "", Some(&base));
        let end = Instant::now() + TIMEOUT;
        while recovered.ask("postgres", "SELECT pg_is_in_recovery()") != "f" {
            assert!(Instant::now() < end, "it does not end its recovery");
            std::thread::sleep(Duration::from_millis(10));
        }
        recovered
    }

    /// Puts a copy of a cluster in the place of a new one, to be recovered at startup.
    pub(super) fn take_over(folder: &Path, base: &Path, user: Option<(u32, u32)>) {
        let copy = "cp -a \"$0\" data && touch data/recovery.signal";
        run(folder, user, "sh", &["-c", copy, &base.to_string_lossy()]);
    }

    /// Runs a program as the server's user, in the folder.
    fn run(&self, program: &str, arguments: &[&str]) {
        run(self.folder(), self.user, program, arguments);
    }
}

fn run(folder: &Path, user: Option<(u32, u32)>, program: &str, arguments: &[&str]) {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("PATH", path())
        .env("LC_ALL", "C")
        .current_dir(folder);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    let output = command.output().expect("it can be run");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

/// Dumps the database at `url` into a file, with `pg_dump`.
///
/// # Panics
///
/// When it fails.
pub fn pg_dump(url: &str, file: &Path) {
    let dump = Command::new("pg_dump")
        .args(["--format=custom", "--file"])
        .arg(file)
        .arg(url)
        .env("PATH", path())
        .status();
    assert!(dump.expect("pg_dump can be run").success());
}

/// Restores that into the empty database at `url`, in one transaction.
///
/// # Panics
///
/// When it fails.
pub fn pg_restore(file: &Path, url: &str) {
    let options = [
        "--exit-on-error",
        "--single-transaction",
        "--no-owner",
        "--dbname",
        url,
    ];
    let restore = Command::new("pg_restore")
        .args(options)
        .arg(file)
        .env("PATH", path())
        .status();
    assert!(restore.expect("pg_restore can be run").success());
}
