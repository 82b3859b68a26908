//! Notices when reads wait for the disk, which a thread that also serves others must not do.
//!
//! 1. A read that takes [`LONG`] has waited for the disk or for a core. From then on, reads are watched for [`KEPT`]: the
//!    system is asked how often the thread has slept, which it does for the disk only. To ask each time would cost as much as
//!    a fifth of a read.
//! 2. While a read has slept within the last [`KEPT`], others are likely to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::tally::Count;

/// Many times as long as a read takes in memory, and as handing it to another thread does.
const LONG: Duration = Duration::from_micros(200);

/// Until then, callers have come back that read what is not in memory.
const KEPT: Duration = Duration::from_secs(60);

/// Whose sleeping is counted.
#[cfg(target_os = "linux")]
const READER: UsageWho = UsageWho::RUSAGE_THREAD;
/// Elsewhere all threads count as one: more reads than necessary seem to sleep.
#[cfg(not(target_os = "linux"))]
const READER: UsageWho = UsageWho::RUSAGE_SELF;

/// Whether reads wait for the disk.
#[derive(Debug)]
pub(super) struct DiskWaits {
    begun: Instant,
    /// Until when reads are watched, in nanoseconds from the beginning.
    watched: AtomicU64,
    /// Until when they are likely to wait, in the same way.
    likely: AtomicU64,
}

impl DiskWaits {
    pub(super) fn new() -> DiskWaits {
        DiskWaits {
            begun: Instant::now(),
            watched: AtomicU64::new(0),
            likely: AtomicU64::new(0),
        }
    }

    /// Step 2: whether a read is likely to wait for the disk.
    pub(super) fn are_likely(&self) -> bool {
        self.is_before(&self.likely)
    }

    /// Step 1: makes a read, and adds to `slow` if it was found to wait for the disk.
    pub(super) fn noticed<T>(&self, slow: &Count, read: impl FnOnce() -> T) -> T {
        let slept = self.is_before(&self.watched).then(sleeps);
        let came = Instant::now();
        let answer = read();
        if came.elapsed() >= LONG {
            let until = self.now() + KEPT.as_nanos() as u64;
            self.watched.store(until, Ordering::Relaxed);
            if slept.is_some_and(|before| sleeps() > before) {
                self.likely.store(until, Ordering::Relaxed);
                slow.one();
            }
        }
        answer
    }

    fn is_before(&self, end: &AtomicU64) -> bool {
        // As a rule it is 0, and nobody has to ask for the time.
        let end = end.load(Ordering::Relaxed);
        end > 0 && self.now() < end
    }

    fn now(&self) -> u64 {
        // 584 years fit into 64 bits of nanoseconds.
        self.begun.elapsed().as_nanos() as u64
    }
}

/// How often this thread has waited for something.
fn sleeps() -> i64 {
    getrusage(READER).map_or(0, |usage| usage.voluntary_context_switches())
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn reads_that_sleep_are_noticed_from_the_second_one_on() {
        let (waits, slow) = (DiskWaits::new(), Count::default());
        waits.noticed(&slow, || sleep(LONG));
        assert_eq!((waits.are_likely(), slow.get()), (false, 0));
        waits.noticed(&slow, || sleep(LONG));
        assert_eq!((waits.are_likely(), slow.get()), (true, 1));
    }

    #[test]
    fn work_is_no_waiting_however_long_it_takes() {
        let (waits, slow) = (DiskWaits::new(), Count::default());
        for _ in 0..2 {
            waits.noticed(&slow, || {
                let begun = Instant::now();
                while begun.elapsed() < LONG {}
            });
        }
        assert_eq!((waits.are_likely(), slow.get()), (false, 0));
    }
}
