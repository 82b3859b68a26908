//! The threads that hash passwords.
//!
//! Hashing must not delay requests. So these threads get only what others leave of the cores, and they are kept for a while,
//! each with the memory of a hash: starting a thread is work for the thread that serves requests, and a thread that returns
//! memory to the system keeps all others from getting any for as long as it waits for a core.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{sleep, timeout};

use crate::domain::Error;

/// How long a hash may take at a spare place. If it takes longer, others leave nothing of the cores.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long a spare place is not used after that.
const CROWDED: Duration = Duration::from_secs(5);

/// How many passwords are hashed at once at most, each in 19 MiB of memory; for those that took too long, twice.
const MOST: usize = 4;

/// How long an idle thread is kept, with its memory.
const KEPT: Duration = Duration::from_secs(10);

/// How much nicer than others the threads are that get a quarter of a core: the system gives 423 parts of it to them where it
/// gives 1024 to a thread of normal priority. With a tenth, and people who sign in waiting for a few others, that took seconds.
const LOW: i32 = 4;

/// The threads, by their share of a core.
#[derive(Debug)]
pub(super) struct Threads {
    spare: Pool,
    low: Pool,
    /// One for each thread that runs only on an otherwise idle core. If no core is idle, it stays taken for long.
    spare_places: Arc<Semaphore>,
}

/// Threads of one priority, started on demand.
#[derive(Debug)]
struct Pool(Option<Runtime>);

/// What a hashing thread gets of a core that others want, too. At normal priority, a request that comes while it hashes
/// would wait some milliseconds until the system takes the core away from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Priority {
    /// Next to nothing (SCHED_IDLE): any other thread that wakes up has the core at once.
    Spare,
    /// A quarter: some passwords are hashed even beside an endless stream of requests, which may have to wait for a moment.
    Low,
}

/// How many passwords are hashed at once, where others leave that many cores.
pub(super) fn places() -> usize {
    cores().min(MOST)
}

fn cores() -> usize {
    let usable = available_parallelism().map_or(1, usize::from);
    match is_under_quota(usable) {
        // What hashing takes on cores that are idle would be missing where others work.
        true => (usable / 2).max(1),
        false => usable,
    }
}

/// Whether the system gives less of the cores to the process than there are for it, such as to a container with `--cpus`.
#[cfg(target_os = "linux")]
fn is_under_quota(usable: usize) -> bool {
    let cores = rustix::thread::sched_getaffinity(None);
    cores.is_ok_and(|cores| cores.count() as usize > usable)
}

#[cfg(not(target_os = "linux"))]
fn is_under_quota(_: usize) -> bool {
    false
}

impl Threads {
    /// Beside others, no more than half of the cores are shared with them.
    pub(super) fn of(places: usize) -> Threads {
        Threads {
            spare: Pool::new(Priority::Spare, places),
            low: Pool::new(Priority::Low, (cores() / 2).clamp(1, places)),
            spare_places: Arc::new(Semaphore::new(places)),
        }
    }

    /// Runs `work`, and returns its result. With a spare place, a thread runs it that uses only idle cores. If that has no
    /// result after [`PATIENCE`], or there is no spare place, a thread that gets at least a little of a core runs it.
    ///
    /// # Errors
    /// [`Error::Internal`] when `work` panics.
    pub(super) async fn carry_out<T: Send + 'static>(
        &self,
        work: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let work = Arc::new(work);
        // Both threads may have a result, and neither waits for it to be taken.
        let (done, mut result) = mpsc::channel(2);
        if let Ok(place) = Arc::clone(&self.spare_places).try_acquire_owned() {
            let place = Arc::new(place);
            self.spare.start(&work, &done, Some(Arc::clone(&place)));
            if let Ok(Some(result)) = timeout(PATIENCE, result.recv()).await {
                return Ok(result);
            }
            // No other hash tries this place for a while.
            tokio::spawn(async move {
                sleep(CROWDED).await;
                drop(place);
            });
        }
        self.low.start(&work, &done, None);
        drop(done);
        let nothing = || Error::internal("a thread that hashes has ended without a hash");
        result.recv().await.ok_or_else(nothing)
    }
}

impl Pool {
    fn new(priority: Priority, threads: usize) -> Pool {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads)
            .thread_keep_alive(KEPT)
            .thread_name("password")
            .on_thread_start(move || priority.apply())
            .build();
        // It has no timer and no sockets, which are all that the system could refuse.
        Pool(Some(runtime.expect("a runtime without drivers")))
    }

    /// Runs `work` on one of the threads, which keeps `place` until it is done.
    fn start<T: Send + 'static>(
        &self,
        work: &Arc<impl Fn() -> T + Send + Sync + 'static>,
        done: &mpsc::Sender<T>,
        place: Option<Arc<OwnedSemaphorePermit>>,
    ) {
        let (work, done) = (Arc::clone(work), done.clone());
        let work = move || {
            let result = work();
            drop(place);
            // The receiver may be gone.
            _ = done.try_send(result);
        };
        if let Some(runtime) = &self.0 {
            runtime.spawn_blocking(work);
        }
    }
}

impl Drop for Pool {
    /// Does not wait for the threads.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Priority {
    /// Sets the priority of this thread. If that is not allowed, hashing works all the same.
    fn apply(self) {
        // On other systems it would apply to the whole process.
        #[cfg(target_os = "linux")]
        {
            use thread_priority::NormalThreadSchedulePolicy::Idle;
            use thread_priority::{
                ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
                thread_native_id,
            };
            let idle = || {
                let (lowest, policy) = (ThreadPriority::Min, ThreadSchedulePolicy::Normal(Idle));
                set_thread_priority_and_policy(thread_native_id(), lowest, policy)
            };
            if self == Priority::Low || idle().is_err() {
                let _ = rustix::process::nice(LOW);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[cfg(target_os = "linux")]
    fn policy() -> (Priority, i32) {
        use thread_priority::NormalThreadSchedulePolicy::Idle;
        use thread_priority::{ThreadSchedulePolicy, thread_schedule_policy};
        let priority = match thread_schedule_policy().unwrap() {
            ThreadSchedulePolicy::Normal(Idle) => Priority::Spare,
            _ => Priority::Low,
        };
        (priority, rustix::process::nice(0).unwrap())
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_password_is_hashed_at_a_low_priority_that_nothing_else_has() {
        let (threads, before) = (Threads::of(1), policy());
        let (of_work, _) = threads.carry_out(policy).await.unwrap();
        assert_eq!(of_work, Priority::Spare);
        let taken = threads.spare_places.acquire().await.unwrap();
        let of_work = threads.carry_out(policy).await.unwrap();
        assert_eq!(of_work, (Priority::Low, (before.1 + LOW).min(19)));
        drop(taken);
        assert_eq!(policy(), before);
        let blocking = tokio::task::spawn_blocking(policy).await.unwrap();
        assert_eq!(blocking, before);
    }

    #[tokio::test]
    async fn where_others_leave_nothing_of_the_cores_a_password_is_hashed_all_the_same() {
        let threads = Threads::of(1);
        let (go_on, gate) = std::sync::mpsc::channel::<()>();
        let (gate, begun) = (Mutex::new(gate), AtomicU32::new(0));
        // The first thread gets nothing of a core until it may go on.
        let stuck = move || {
            let number = begun.fetch_add(1, Ordering::SeqCst);
            if number == 0 {
                gate.lock().unwrap().recv().unwrap();
            }
            number
        };
        assert_eq!(threads.carry_out(stuck).await.unwrap(), 1);
        // As long as it is stuck, no other hash tries its place.
        assert_eq!(threads.spare_places.available_permits(), 0);
        assert_eq!(threads.carry_out(|| 2).await.unwrap(), 2);
        tokio::time::pause();
        tokio::time::advance(CROWDED).await;
        assert_eq!(threads.spare_places.available_permits(), 0);
        tokio::time::resume();
        go_on.send(()).unwrap();
        let ended = threads.spare_places.acquire();
        drop(timeout(PATIENCE * 40, ended).await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn where_others_leave_nothing_of_the_cores_half_of_them_are_shared() {
        let threads = Threads::of(MOST);
        let _crowded = threads
            .spare_places
            .acquire_many(MOST as u32)
            .await
            .unwrap();
        let (at_once, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let work = move || {
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            at_once.fetch_sub(1, Ordering::SeqCst);
            most.load(Ordering::SeqCst)
        };
        let all = futures::future::join_all((0..MOST).map(|_| threads.carry_out(work.clone())));
        let most = all.await.into_iter().map(Result::unwrap).max();
        // They need not have been at it all at once.
        assert!(
            most <= Some((cores() / 2).clamp(1, MOST) as u32),
            "{most:?}"
        );
    }

    #[tokio::test]
    async fn a_thread_is_kept_for_the_next_password() {
        let threads = Threads::of(1);
        let thread = || std::thread::current().id();
        let first = threads.carry_out(thread).await.unwrap();
        assert_eq!(threads.carry_out(thread).await.unwrap(), first);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_the_place_is_free() {
        let threads = Threads::of(1);
        let failed = threads.carry_out(|| panic!("of this test")).await;
        assert!(matches!(failed, Err(Error::Internal(_))));
        assert_eq!(threads.carry_out(|| 1).await.unwrap(), 1);
    }
}
