//! The faults of a cluster: restarts, the loss of its machine, a standby that takes over.

use std::fs::{read_to_string, remove_file};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Cluster, path};

/// Longer than anything here takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Cluster {
    /// Restarts the server, and waits until it accepts connections again. `mode` is `fast`, which rolls back
    /// what is running, or `immediate`, which leaves that to recovery.
    ///
    /// # Panics
    ///
    /// When the server does not stop or start.
    pub fn restart(&self, mode: &str) {
        self.control(&["restart", "-m", mode]);
    }

    /// Makes a standby, without which this primary acknowledges nothing from now on.
    ///
    /// # Panics
    ///
    /// When the standby does not start, or does not follow.
    pub fn synchronous_standby(&self) -> Cluster {
        let primary = format!("host=127.0.0.1 port={} user=invoicing", self.port);
        let standby = Cluster::make("", &primary);
        // Only now, so that the standby does not inherit the setting from the primary and wait for a standby
        // itself.
        self.ask(
            "postgres",
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
        );
        self.ask("postgres", "SELECT pg_reload_conf()");
        let followers = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait("the standby does not follow", || {
            self.ask("postgres", followers) == "1"
        });
        standby
    }

    /// Has the server wait for the standby of this name before it answers a commit, or for none.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    pub fn wait_for_standby(&self, name: &str) {
        let set = format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'");
        self.ask("postgres", &set);
        self.ask("postgres", "SELECT pg_reload_conf()");
        // The server tells its processes before it makes another.
        let mut shown = (0..1_000).map(|_| self.ask("postgres", "SHOW synchronous_standby_names"));
        assert!(shown.any(|shown| shown == name));
    }

    /// Makes this standby the primary, and waits until it accepts writes.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub fn promote(&self) {
        self.control(&["promote"]);
    }

    /// Ends all processes of the server at once (SIGKILL), as the loss of its machine would. It is not started
    /// again.
    ///
    /// # Panics
    ///
    /// When it is not running.
    pub fn kill(&self) {
        let file = self.folder().join("data/postmaster.pid");
        let text = read_to_string(&file).expect("the server runs");
        let main = self.signal("KILL");
        let process = format!("/proc/{main}/stat");
        let ended = || read_to_string(&process).map_or(true, |stat| stat.contains(") Z "));
        wait("the server does not end", ended);
        // What the kernel keeps for it: line 7 has the key and the id of its System V shared memory.
        let memory = text
            .lines()
            .nth(6)
            .and_then(|line| line.split_whitespace().last());
        let _ = Command::new("ipcrm")
            .args(["-m", memory.unwrap_or_default()])
            .status();
        // The keeper must not mistake another process for the server later.
        remove_file(&file).expect("it was read");
    }

    /// Stops all processes of the server (SIGSTOP): it still accepts connections, but never answers, as if its
    /// machine hung. Dropping the returned value kills it.
    ///
    /// # Panics
    ///
    /// When it is not running.
    pub fn freeze(&self) -> Frozen<'_> {
        self.signal("STOP");
        Frozen(self)
    }

    /// Sends a signal to all processes of the server. Returns the id of the first one.
    fn signal(&self, name: &str) -> String {
        let file = self.folder().join("data/postmaster.pid");
        let text = read_to_string(file).expect("the server runs");
        let main = text.lines().next().unwrap_or_default();
        let children = read_to_string(format!("/proc/{main}/task/{main}/children"));
        let children = children.expect("the server runs");
        let sent = Command::new("kill")
            .args(["-s", name, main])
            .args(children.split_whitespace())
            .status();
        // A child may have ended by itself in between.
        sent.expect("kill can be run");
        main.to_owned()
    }

    /// Runs pg_ctl as the server's user.
    fn control(&self, arguments: &[&str]) {
        let mut command = Command::new("pg_ctl");
        command
            .args(arguments)
            .arg("-D")
            .arg(self.folder().join("data"))
            .arg("-l")
            .arg(self.folder().join("log"))
            .args(["-w", "-t", "60"])
            .env("PATH", path())
            .env("LC_ALL", "C")
            .current_dir(self.folder());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        let output = command.output().expect("pg_ctl can be run");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success(), "pg_ctl {arguments:?}: {said}");
    }
}

/// A server that hangs.
#[derive(Debug)]
pub struct Frozen<'a>(&'a Cluster);

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.0.kill();
    }
}

fn wait(otherwise: &str, until: impl Fn() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !until() {
        assert!(Instant::now() < end, "{otherwise}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
