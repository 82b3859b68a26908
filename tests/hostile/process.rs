//! The cost of an attack for the server process, as the kernel counts it.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use test_support::service::Service;

/// Longer than a server may take to end, so that one that hangs fails a test.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The process of a server that the test has started.
#[derive(Clone, Copy, Debug)]
pub struct Process(u32);

impl Process {
    /// The process of the test's own server.
    pub fn of(service: &Service) -> Self {
        Self(service.process_id().expect("the server is the test's own"))
    }

    /// From here on, [`Watch::growth`] reports by how much its memory grew at most.
    pub fn watch(self) -> Watch {
        // Resets the kernel's peak value (proc(5), `clear_refs`).
        std::fs::write(format!("/proc/{}/clear_refs", self.0), "5").expect("it is our process");
        Watch {
            process: self,
            before: self.mebibytes("VmRSS"),
            mapped: self.mebibytes("RssFile"),
        }
    }

    /// What it has taken of the cores so far (proc(5), `stat`), in the kernel's ticks of a hundredth of a second.
    pub fn processor_time(self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0));
        let stat = stat.expect("it is our process");
        // The name, in parentheses, may have spaces.
        let (_, behind_name) = stat.rsplit_once(')').expect("it has a name");
        let times = behind_name.split_whitespace().skip(11).take(2);
        let ticks = times.map(|it| it.parse::<u64>().expect("a number"));
        Duration::from_millis(10 * ticks.sum::<u64>())
    }

    /// Asks it to stop, and returns how long that took.
    pub fn stop(self) -> Duration {
        let id = self.0.to_string();
        let begun = Instant::now();
        let sent = Command::new("kill").args(["-s", "TERM", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {id}");
        // After it ends, it stays a zombie until the test waits for it.
        while !self.status("State").starts_with('Z') {
            assert!(begun.elapsed() < EXIT_TIMEOUT, "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        begun.elapsed()
    }

    /// Lets it open this many more files, as `ulimit -n` does: numbers at or above the limit are not
    /// assigned.
    pub fn leave_files(self, count: usize) -> FileLimit {
        let open = self.open_files();
        let mut free = (0..).filter(|number| !open.contains(number));
        let limit = free.nth(count).expect("numbers do not end");
        let status = Command::new("prlimit")
            .arg(format!("--pid={}", self.0))
            .arg(format!("--nofile={limit}:{limit}"))
            .status();
        assert!(status.is_ok_and(|status| status.success()), "prlimit");
        FileLimit {
            process: self,
            limit,
        }
    }

    /// The numbers of its open files.
    fn open_files(self) -> BTreeSet<usize> {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.0)).expect("the server runs");
        files
            .filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok())
            .collect()
    }

    fn mebibytes(self, name: &str) -> f64 {
        let text = self.status(name);
        let kibibytes = text.trim_end_matches(" kB").parse::<f64>();
        kibibytes.unwrap_or_else(|_| panic!("{name}: {text:?}")) / 1024.0
    }

    /// A line of `/proc/PID/status`.
    fn status(self, name: &str) -> String {
        let path = format!("/proc/{}/status", self.0);
        let status = std::fs::read_to_string(path).expect("the server runs");
        let value = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        value
            .unwrap_or_else(|| panic!("no {name} in {status}"))
            .trim()
            .to_owned()
    }
}

/// The memory of a process since a point in time.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    process: Process,
    before: f64,
    /// The pages of files in it, such as of the database.
    mapped: f64,
}

impl Watch {
    /// The peak since then beyond the memory at that time, in MiB.
    pub fn growth(self) -> f64 {
        self.process.mebibytes("VmHWM") - self.before
    }

    /// The same without pages of files, which the system takes back when it needs them.
    pub fn growth_but_for_files(self) -> f64 {
        self.growth() - (self.process.mebibytes("RssFile") - self.mapped)
    }
}

/// A limit on the files of a process.
#[derive(Clone, Copy, Debug)]
pub struct FileLimit {
    process: Process,
    limit: usize,
}

impl FileLimit {
    /// Waits until it cannot open another file.
    pub async fn is_reached(self) {
        let begun = Instant::now();
        loop {
            let free = self.limit - self.process.open_files().range(..self.limit).count();
            if free == 0 {
                return;
            }
            assert!(
                begun.elapsed() < EXIT_TIMEOUT,
                "it could open {free} files more"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
