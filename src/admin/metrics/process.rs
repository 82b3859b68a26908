//! The process and the build, under the names that all Prometheus clients use
//! (<https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>).
//!
//! Linux describes a process in `/proc/self/stat` (proc_pid_stat(5)): one line of numbers, after the name of the program in
//! parentheses. If there is no such file, or no file descriptor left to open it with, these series are missing.

use std::fs;
use std::str::FromStr;

use nix::sys::resource::{Resource, getrlimit};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Unit;
use rustix::param::{clock_ticks_per_second, page_size};

use super::page::Page;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Build {
    version: &'static str,
    commit: &'static str,
}

/// Shows the version and commit of this program.
pub(super) fn show_build(page: &mut Page<'_>) {
    let build = Build {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("COMMIT"),
    };
    let help = "The version, and the commit that it was built from if that is known";
    page.metric("build", None, help, Info::new(build));
}

/// Shows when the certificate ends, in Unix time.
pub(super) fn show_certificate(page: &mut Page<'_>, end: u64) {
    let help = "When the certificate ends, in Unix time; 0 where the server does not speak TLS";
    let name = "tls_certificate_end_timestamp";
    page.gauge(name, Some(Unit::Seconds), help, end);
}

/// Shows the state of the process.
pub(super) fn show(page: &mut Page<'_>) {
    if let Some(status) = fs::read_to_string("/proc/self/stat")
        .ok()
        .and_then(Status::of)
    {
        status.show(page);
    }
    if let Some(open) = open_files() {
        let help = "Files and connections that are open";
        page.gauge("process_open_fds", None, help, open);
    }
    if let Ok((most, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let help = "As many may be open";
        page.gauge("process_max_fds", None, help, most);
    }
}

/// The fields of a process that matter here, as proc_pid_stat(5) numbers them.
struct Status {
    /// Fields 14 and 15: in ticks, in user mode and in kernel mode.
    processor_time: u64,
    /// Field 20.
    threads: u64,
    /// Field 22: in ticks since boot.
    started: u64,
    /// Field 23: in bytes.
    virtual_memory: u64,
    /// Field 24: in pages.
    resident_pages: u64,
}

impl Status {
    fn of(line: String) -> Option<Status> {
        // The name may contain anything, parentheses too.
        let (_, behind_the_name) = line.rsplit_once(')')?;
        let fields: Vec<_> = behind_the_name.split_ascii_whitespace().collect();
        // The first of them is field 3.
        let field = |number: usize| fields.get(number - 3).and_then(|it| u64::from_str(it).ok());
        Some(Status {
            processor_time: field(14)? + field(15)?,
            threads: field(20)?,
            started: field(22)?,
            virtual_memory: field(23)?,
            resident_pages: field(24)?,
        })
    }

    fn show(&self, page: &mut Page<'_>) {
        let seconds = |ticks: u64| ticks as f64 / clock_ticks_per_second() as f64;
        page.metric(
            "process_cpu",
            Some(Unit::Seconds),
            "Processor time that the process has taken",
            ConstCounter::new(seconds(self.processor_time)),
        );
        page.gauge(
            "process_resident_memory",
            Some(Unit::Bytes),
            "Memory that the process has, with what it has mapped of the database file",
            self.resident_pages * page_size() as u64,
        );
        page.gauge(
            "process_virtual_memory",
            Some(Unit::Bytes),
            "Addresses that the process has taken, whether or not there is memory behind them",
            self.virtual_memory,
        );
        page.gauge(
            "process_threads",
            None,
            "Threads of the process",
            self.threads,
        );
        if let Some(boot) = machine_started() {
            page.metric(
                "process_start_time",
                Some(Unit::Seconds),
                "When the process began, in Unix time",
                ConstGauge::new(boot as f64 + seconds(self.started)),
            );
        }
    }
}

/// The boot time of the machine, in seconds of Unix time.
fn machine_started() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// How many files are open. Since Linux 6.2 that is the size of their folder, so none has to be opened.
fn open_files() -> Option<u64> {
    let length = fs::metadata("/proc/self/fd").ok()?.len();
    match length {
        // The folder itself is open while it is read.
        0 => Some((fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1)),
        length => Some(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_found_behind_any_name() {
        let line = "7 (in) voi) cing) S 1 7 7 0 -1 4194560 9 8 7 6 150 50 3 2 20 0 12 0 4711 5000000 321 18446744073709551615";
        let status = Status::of(line.to_owned()).unwrap();
        assert_eq!(status.processor_time, 200);
        assert_eq!((status.threads, status.started), (12, 4711));
        assert_eq!(
            (status.virtual_memory, status.resident_pages),
            (5_000_000, 321)
        );
        assert!(Status::of("7 (short) S 1".to_owned()).is_none());
    }
}
