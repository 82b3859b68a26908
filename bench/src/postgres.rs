//! A separate PostgreSQL for each contender that stores there: a throwaway cluster in a temporary folder, with Debian's
//! settings except for its address. Unlike that of the tests, it acknowledges only what is on disk.
//!
//! Its processes count as the contender's: their processor time is part of the cost of a request.

pub mod copy;

use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Uid, User};
use tempfile::TempDir;

use crate::dataset::BoxError;
use crate::process;
use crate::temporary;

/// How long it may take to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const INTERVAL: Duration = Duration::from_millis(50);

const MISSING: &str = "there is no PostgreSQL: no initdb on the PATH or in /usr/lib/postgresql; on Debian, \
     `apt-get install postgresql` brings it, or run without --postgres";

/// A cluster that runs until it is dropped.
#[derive(Debug)]
pub struct Cluster {
    server: Child,
    port: u16,
    /// Removed with everything in it, after the server has ended.
    folder: TempDir,
}

impl Cluster {
    /// Makes a cluster and starts it on a port of 127.0.0.1, and on the cores that the caller is on. `port` finds a
    /// free one, which may not stay free for long: it is called when the cluster is made.
    ///
    /// # Errors
    /// When there is no PostgreSQL, or it does not start; its log is in the message.
    pub fn start(port: impl FnOnce() -> Result<u16, BoxError>) -> Result<Self, BoxError> {
        let binaries = binaries().ok_or(MISSING)?;
        let folder = temporary::folder("invoicing-bench-postgres-")?;
        let user = unprivileged(folder.path())?;
        let (data, log) = (folder.path().join("data"), folder.path().join("log"));
        let command = |program: &str| -> Result<Command, BoxError> {
            let mut command = Command::new(binaries.join(program));
            command.arg("-D").arg(&data).current_dir(folder.path());
            command.env("LC_ALL", "C").stdin(Stdio::null());
            let log = File::options().create(true).append(true).open(&log)?;
            command.stdout(log.try_clone()?).stderr(log);
            if let Some(user) = &user {
                command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
            }
            Ok(command)
        };
        let said = || fs::read_to_string(&log).unwrap_or_default();
        let made = command("initdb")?
            .args(["-U", "invoicing", "-A", "trust", "-E", "UTF8", "--locale=C"])
            .status()?;
        if !made.success() {
            return Err(format!("PostgreSQL makes no cluster: {}", said()).into());
        }
        let port = port()?;
        let server = command("postgres")?
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"])
            .arg("-k")
            .arg(folder.path())
            .spawn()?;
        let mut cluster = Self {
            server,
            port,
            folder,
        };
        cluster.wait()?;
        Ok(cluster)
    }

    /// The address of its only database.
    pub fn url(&self) -> String {
        format!("postgres://invoicing@127.0.0.1:{}/postgres", self.port)
    }

    /// Its first process, the parent of the others.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    fn wait(&mut self) -> Result<(), BoxError> {
        let begin = Instant::now();
        let log = self.folder.path().join("log");
        loop {
            let said = fs::read_to_string(&log)?;
            if said.contains("database system is ready to accept connections") {
                return Ok(());
            }
            if self.server.try_wait()?.is_some() || begin.elapsed() > START_TIMEOUT {
                return Err(format!("PostgreSQL does not start: {said}").into());
            }
            sleep(INTERVAL);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Immediate, but with its shared memory cleaned up. It may already have ended by itself; then there is nothing
        // to do.
        let _ = kill(process::to_pid(self.server.id()), Signal::SIGQUIT);
        let _ = self.server.wait();
    }
}

/// The processor time that the processes of a cluster have used so far, as far as they are still running. `pid` is the
/// first of them.
///
/// # Errors
/// When it has ended.
pub fn processor_time(pid: u32) -> Result<Duration, BoxError> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let children = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok());
    // A process that has just ended did not serve requests: connections stay open.
    let children = children.filter_map(|pid| process::processor_time(pid).ok());
    Ok(process::processor_time(pid)? + children.sum::<Duration>())
}

/// Where its programs are: on the `PATH`, or where Debian keeps them, in the newest version.
fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut debian: Vec<_> = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    debian.sort_unstable_by(|one, other| other.cmp(one));
    let has_all = |folder: &PathBuf| {
        ["initdb", "postgres"]
            .iter()
            .all(|program| folder.join(program).is_file())
    };
    std::env::split_paths(&path).chain(debian).find(has_all)
}

/// The user to run as when this process is root, which PostgreSQL refuses; the folder is given to them.
fn unprivileged(folder: &Path) -> Result<Option<User>, BoxError> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let user = match User::from_name("postgres")? {
        Some(user) => user,
        None => User::from_name("nobody")?.ok_or("there is no user `postgres` or `nobody`")?,
    };
    chown(folder, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
    Ok(Some(user))
}
