//! Notices when scripts wait for the disk, which a thread that also serves others must not do.
//!
//! 1. A script that takes [`LONG`] may have waited for the disk, for a core or for another thread. From then on, scripts are
//!    watched for [`WATCHED`]: the system is asked how often it had to read the disk for the thread. To ask each time would
//!    cost as much as a fifth of a read.
//! 2. If that was [found](DiskWaits::found) within this time, other scripts [may wait](DiskWaits::may_come), too.
//! 3. Those of whoever had to wait within [`REMEMBERED`], unless [many](IN_A_ROW) since then had not to, are
//!    [likely](DiskWaits::are_likely) to do so again, if they are of the same [kind](Of): who looks at old products makes
//!    new ones as fast as anybody. Most callers read what is in memory, whatever others do.
//!    Whoever has waited long is so for [many times](TIMES) as long in any case: reads of others are made beside theirs until
//!    they are known.
//! 4. Where one who waits holds up all others, they are [taken](DiskWaits::have_waited) to do so all that time: anybody can
//!    read what is in memory sixteen times, again and again, and each call looks up its key.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::HashMap;
use nix::sys::resource::{UsageWho, getrusage};

use crate::domain::holder::Holder;

/// Many times as long as most scripts take in memory, and as handing one to another thread does.
const LONG: Duration = Duration::from_micros(200);

/// Callers who read what is not in memory have come back within this time.
const WATCHED: Duration = Duration::from_secs(60);

/// Whoever pauses for longer counts as new, and its first reads are made among those of others who had not to wait.
const REMEMBERED: Duration = Duration::from_secs(10);

/// How many in a row show that it was an exception: about one of so many waits among those of others, at most.
const IN_A_ROW: u32 = 16;

/// For how many times as long as one has waited it counts in any case, and for how long at most: a list of products that are
/// all over the disk takes a second, and a few of these, again and again, would keep all turns of the others.
const TIMES: u32 = 50;
const LONGEST: Duration = Duration::from_secs(30);

/// How many of these are remembered at most. Beyond that, the others count as new.
const HOLDERS: usize = 10_000;

/// Whose disk reads are counted.
#[cfg(target_os = "linux")]
const THREAD: UsageWho = UsageWho::RUSAGE_THREAD;
/// Elsewhere all threads count as one: more scripts than necessary seem to wait.
#[cfg(not(target_os = "linux"))]
const THREAD: UsageWho = UsageWho::RUSAGE_SELF;

/// Whose scripts, of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Of {
    /// Those that only read.
    Reads(Holder),
    /// Those that change something.
    Changes(Holder),
}

impl Of {
    pub(super) fn holder(self) -> Holder {
        match self {
            Of::Reads(holder) | Of::Changes(holder) => holder,
        }
    }
}

/// Which scripts wait for the disk. Times are in nanoseconds from the beginning.
#[derive(Debug)]
pub(super) struct DiskWaits {
    begun: Instant,
    /// How often the disk was read for this thread.
    disk_reads: fn() -> i64,
    /// Until when scripts are watched.
    watched: AtomicU64,
    /// Until when some may wait.
    may_come: AtomicU64,
    waited: Mutex<HashMap<Of, Waited>>,
}

/// Those that have waited.
#[derive(Clone, Copy, Debug)]
struct Waited {
    /// When that is forgotten.
    until: u64,
    /// Until when it counts, whatever else they do.
    sure: u64,
    /// How many in a row have not, since then.
    in_a_row: u32,
}

impl DiskWaits {
    pub(super) fn new() -> DiskWaits {
        DiskWaits::counting(disk_reads)
    }

    fn counting(disk_reads: fn() -> i64) -> DiskWaits {
        DiskWaits {
            begun: Instant::now(),
            disk_reads,
            watched: AtomicU64::new(0),
            may_come: AtomicU64::new(0),
            waited: Mutex::default(),
        }
    }

    /// Step 2: whether a script may wait for the disk.
    pub(super) fn may_come(&self) -> bool {
        self.is_before(&self.may_come)
    }

    /// Step 3: whether one of these is likely to.
    pub(super) fn are_likely(&self, of: Of) -> bool {
        let waited = self.waited_lately(of);
        waited.is_some_and(|waited| waited.in_a_row < IN_A_ROW || self.now() < waited.sure)
    }

    /// Step 4: whether one of these has waited, whatever else was read since then.
    pub(super) fn have_waited(&self, of: Of) -> bool {
        self.waited_lately(of).is_some()
    }

    fn waited_lately(&self, of: Of) -> Option<Waited> {
        let waited = self.waited().get(&of).copied();
        waited.filter(|waited| self.now() < waited.until)
    }

    /// Step 1: runs a script, and notes whether it was found to wait for the disk. Also returns that.
    pub(super) fn noticed<T>(&self, of: Of, script: impl FnOnce() -> T) -> (T, bool) {
        let (answer, waited) = self.watched(script);
        match waited {
            Some(took) => self.found(of, took),
            None if self.may_come() => self.not_found(of),
            None => {}
        }
        (answer, waited.is_some())
    }

    /// Runs a script. Also returns how long it took, if it was found to wait for the disk.
    pub(super) fn watched<T>(&self, script: impl FnOnce() -> T) -> (T, Option<Duration>) {
        let before = self.is_before(&self.watched).then(self.disk_reads);
        let came = Instant::now();
        let answer = script();
        let took = came.elapsed();
        if took < LONG {
            return (answer, None);
        }
        self.watched
            .store(self.now() + nanos(WATCHED), Ordering::Relaxed);
        let has_waited = before.is_some_and(|before| (self.disk_reads)() > before);
        (answer, has_waited.then_some(took))
    }

    /// Notes that one of these, which `took` so long, has waited for the disk.
    pub(super) fn found(&self, of: Of, took: Duration) {
        let now = self.now();
        self.may_come.store(now + nanos(WATCHED), Ordering::Relaxed);
        self.remember(of, now, took);
    }

    /// Notes that one of these had not to wait.
    fn not_found(&self, of: Of) {
        if let Some(waited) = self.waited().get_mut(&of) {
            waited.in_a_row = waited.in_a_row.saturating_add(1);
        }
    }

    fn remember(&self, of: Of, now: u64, took: Duration) {
        let mut waited = self.waited();
        if waited.len() >= HOLDERS && !waited.contains_key(&of) {
            waited.retain(|_, waited| now < waited.until);
        }
        if waited.len() < HOLDERS || waited.contains_key(&of) {
            let sure = now + nanos((TIMES * took).min(LONGEST));
            let before = waited.get(&of).map_or(0, |waited| waited.sure);
            let sure = sure.max(before);
            let until = sure.max(now + nanos(REMEMBERED));
            let in_a_row = 0;
            waited.insert(
                of,
                Waited {
                    until,
                    sure,
                    in_a_row,
                },
            );
        }
    }

    fn is_before(&self, end: &AtomicU64) -> bool {
        // It is 0 until the first script that takes long, and nobody has to ask for the time.
        let end = end.load(Ordering::Relaxed);
        end > 0 && self.now() < end
    }

    fn now(&self) -> u64 {
        nanos(self.begun.elapsed())
    }

    fn waited(&self) -> MutexGuard<'_, HashMap<Of, Waited>> {
        // Nothing panics while it is locked.
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 584 years fit into 64 bits of nanoseconds.
fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// A page of the mapped file that was not in memory, or what was read in another way.
fn disk_reads() -> i64 {
    getrusage(THREAD).map_or(0, |usage| usage.major_page_faults() + usage.block_reads())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread::sleep;

    use uuid::Uuid;

    use super::*;

    thread_local! {
        static READS: Cell<i64> = const { Cell::new(0) };
    }

    fn team(number: u128) -> Of {
        Of::Reads(Holder::Team(Uuid::from_u128(number)))
    }

    #[test]
    fn scripts_that_wait_for_the_disk_are_noticed_from_the_second_one_on() {
        let waits = DiskWaits::counting(|| READS.get());
        let wait = || {
            sleep(LONG);
            READS.set(READS.get() + 1);
        };
        for found in [false, true] {
            assert_eq!(waits.noticed(team(1), wait), ((), found));
            assert_eq!(waits.may_come(), found);
        }
        assert!(waits.are_likely(team(1)));
        assert!(!waits.are_likely(team(2)));
        assert!(!waits.are_likely(Of::Changes(team(1).holder())));
    }

    #[test]
    fn whoever_waits_once_and_then_not_for_long_is_unlikely_to_but_has_waited() {
        let waits = DiskWaits::counting(|| READS.get());
        waits.found(team(1), Duration::ZERO);
        for _ in 1..IN_A_ROW {
            waits.noticed(team(1), || ());
            assert!(waits.are_likely(team(1)));
        }
        waits.found(team(1), Duration::ZERO);
        for _ in 0..IN_A_ROW {
            assert!(waits.are_likely(team(1)));
            waits.noticed(team(1), || ());
        }
        assert!(!waits.are_likely(team(1)));
        assert!(waits.have_waited(team(1)));
        assert!(waits.may_come());
    }

    #[test]
    fn whoever_waits_long_is_likely_to_for_fifty_times_as_long_whatever_else_is_read() {
        let waits = DiskWaits::counting(|| READS.get());
        waits.found(team(1), Duration::from_secs(60));
        waits.found(team(2), Duration::from_millis(1));
        waits.found(team(1), Duration::ZERO);
        for number in [1, 2] {
            for _ in 0..IN_A_ROW {
                waits.noticed(team(number), || ());
            }
        }
        sleep(Duration::from_millis(60));
        assert!(waits.are_likely(team(1)));
        assert!(!waits.are_likely(team(2)));
    }

    #[test]
    fn waiting_for_anything_else_is_none_however_long_it_takes() {
        let waits = DiskWaits::counting(|| READS.get());
        for _ in 0..2 {
            assert_eq!(waits.noticed(team(1), || sleep(LONG)), ((), false));
        }
        assert!(!waits.may_come());
    }

    #[test]
    fn what_is_read_from_a_file_in_memory_is_no_waiting() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, vec![1; 1 << 20]).unwrap();
        let waits = DiskWaits::new();
        for _ in 0..10 {
            let read = || {
                sleep(LONG);
                std::fs::read(&file).unwrap().len()
            };
            assert_eq!(waits.noticed(team(1), read), (1 << 20, false));
        }
    }

    #[test]
    fn so_many_are_remembered_at_most_and_those_of_before_are_forgotten() {
        let waits = DiskWaits::new();
        for number in 0..2 * HOLDERS as u128 {
            waits.remember(team(number), 0, LONG);
        }
        assert!(waits.are_likely(team(0)));
        assert_eq!(waits.waited().len(), HOLDERS);
        waits.remember(team(2 * HOLDERS as u128), nanos(REMEMBERED), LONG);
        assert_eq!(waits.waited().len(), 1);
    }
}
