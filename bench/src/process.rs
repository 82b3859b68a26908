//! What the operating system knows about a process: where it runs, and what it has used.
//!
//! Processor time is that of all threads of the process, including those that have ended, in nanoseconds (the process's
//! own clock, not the hundredths of a second of `/proc/PID/stat`).

use std::fs;
use std::io;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

/// Memory of a process, in KiB.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Memory {
    /// The peak of resident memory since [`forget_peak`], including pages of mapped files (`VmHWM`).
    pub peak: u64,
    /// Resident memory without pages of files (`RssAnon`), now or the most of several readings: the kernel keeps no
    /// peak of it.
    pub anonymous: u64,
}

impl Memory {
    /// The greater of two readings.
    pub fn max(self, other: Self) -> Self {
        Self {
            peak: self.peak.max(other.peak),
            anonymous: self.anonymous.max(other.anonymous),
        }
    }
}

impl std::iter::Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            peak: sum.peak + one.peak,
            anonymous: sum.anonymous + one.anonymous,
        })
    }
}

/// The processor time that a process has used so far.
///
/// # Errors
/// When there is no such process.
pub fn processor_time(pid: u32) -> io::Result<Duration> {
    Ok(clock_getcpuclockid(to_pid(pid))?.now()?.into())
}

/// The memory of a process.
///
/// # Errors
/// When there is no such process.
pub fn memory(pid: u32) -> io::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':')
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    };
    Ok(Memory {
        peak: field("VmHWM").unwrap_or(0),
        anonymous: field("RssAnon").unwrap_or(0),
    })
}

/// How often the threads of a process that have not ended went to sleep so far: what `getrusage(2)` calls voluntary
/// context switches.
///
/// # Errors
/// When there is no such process.
pub fn sleeps(pid: u32) -> io::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // It may have ended by now.
        let Ok(status) = fs::read_to_string(thread?.path().join("status")) else {
            continue;
        };
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += count
            .and_then(|count| count.trim().parse::<u64>().ok())
            .unwrap_or(0);
    }
    Ok(sum)
}

/// Resets the peak of a process to its current memory.
///
/// # Errors
/// When there is no such process, or it belongs to another user.
pub fn forget_peak(pid: u32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5") // proc(5): resets the peak, nothing else.
}

/// Pins the calling thread, and anything it starts from now on, to these cores.
///
/// # Errors
/// When a core does not exist or may not be used.
pub fn stay_on(cores: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(*core)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Lets this process, and anything it starts from now on, open as many files as the system allows: a connection is one
/// at either end.
///
/// # Errors
/// Any error of the operating system.
pub fn allow_many_files() -> io::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, most, most)?)
}

/// A process id in the type of the operating system's calls.
pub fn to_pid(pid: u32) -> Pid {
    // The kernel's own limit for process ids is far below.
    Pid::from_raw(i32::try_from(pid).unwrap_or(i32::MAX))
}
