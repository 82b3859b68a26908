//! Checkpoints the write-ahead log into the file without holding up commits.
//!
//! A commit appends the pages that it changed to the log. A checkpoint copies the newest version of each page into the file,
//! and the next commit then starts the log anew. The longer the log, the more versions of a page are copied as one; but a
//! commit that checkpoints a long log makes all that wait behind it wait much longer. So the writer leaves most of it to
//! another thread:
//!
//! 1. After each commit the writer checks the length of the log. At every [`CHECKPOINT_PAGES`] pages it wakes the thread.
//! 2. The thread checkpoints what there is on a connection of its own, which neither waits for commits nor holds them up
//!    (`PASSIVE`), and then what was appended meanwhile, until that is [`FINAL_PAGES`]. After each pass it
//!    flushes the file. SQLite does so only in a checkpoint that leaves nothing, which is usually the writer's, and would
//!    then flush everything at once.
//! 3. The writer does the rest after its next commit has been answered. It must: while commits are appended, no other thread
//!    ever finds all of the log copied, and it would grow for ever. If another process writes, too, that waits meanwhile; if
//!    that makes a checkpoint just now, the writer tries again after the next commit.
//! 4. If the thread falls behind the writer by [`BLOCKING_PAGES`], the writer waits for it, or a second for another process,
//!    and does the rest. If that process takes longer, the thread copies what comes meanwhile, as after a long read. What an
//!    earlier process left of the log, or a long read kept from being copied, does not count: it may be of any length.
//! 5. When something is to be forgotten (`pair.rs`), the writer empties the log instead ([`Emptying`]): it does the rest and
//!    truncates the log, since a log that starts anew keeps its old pages until others take their place. That requires that
//!    no reader is using it. Requests are done at once; for other readers no commit is kept waiting, and it is tried again.
//!
//! A long read of one moment of the file, such as `invoicing copy`, keeps checkpoints from going beyond that moment. The log
//! grows meanwhile, and a checkpoint is tried again every [`CHECKPOINT_PAGES`] pages. Once the read is over, the thread copies
//! all of that, and the file of the log becomes short again ([`LONGEST_FILE`]).
//!
//! Nothing here decides what is durable: a commit is, once it is in the log. A machine that stops at any moment of a
//! checkpoint leaves a log from which the next process to open the file starts it again. So an error affects no commit, and
//! is not reported: what was not copied is still in the log.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME, ErrorCode};

use super::connection::wait_for_lock;
use super::counts::Counts;
use crate::domain::Cause;

/// Pages in the log that are worth a checkpoint: 16 MiB. Four times as many would save a create another fiftieth of its
/// cost, and make readers search four times as many.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Pages that the writer copies in about the time of a commit.
const FINAL_PAGES: u32 = 400;

/// How often the thread continues with what was appended meanwhile before it leaves the rest to the writer.
const PASSES: u32 = 4;

/// Pages in the log at which the writer waits for the thread: 128 MiB.
const BLOCKING_PAGES: u32 = 8 * CHECKPOINT_PAGES;

/// Bytes that the log's file keeps when the log starts anew: as many as it gets without a long read. The commit that starts
/// it anew cuts off the rest, which takes 0.4 s for each GiB.
const LONGEST_FILE: i64 = 4096 * (BLOCKING_PAGES + CHECKPOINT_PAGES) as i64;

/// How many milliseconds the writer waits for readers of a log that is to be emptied.
const READERS_TAKE: i32 = 10;

/// How many it waits for another process to commit what it writes, and for readers.
const WRITERS_TAKE: i32 = 50;

/// How long it waits before it tries again to empty the log, or wakes the thread for that again.
const NEXT_TRY: Duration = Duration::from_secs(1);

/// Asks for step 5.
#[derive(Clone)]
pub(super) struct Emptying(Arc<Shared>);

impl Emptying {
    /// Empties the log once the transaction that calls this has committed, or as soon as that can be done, if the
    /// transaction has `forgotten` anything. The first call always does: a process before this one may have forgotten
    /// something, and been killed then.
    pub(super) fn after(&self, forgotten: bool) {
        if forgotten || !self.0.looked_after.swap(true, Ordering::Relaxed) {
            self.0.empty.store(true, Ordering::Relaxed);
        }
    }

    /// Pages in the log after the last commit of this process that changed anything; 0 before the first.
    pub(super) fn log_pages(&self) -> u32 {
        self.0.pages.load(Ordering::Relaxed)
    }

    /// Calls `f` while this process makes no checkpoint.
    pub(super) fn between_checkpoints(&self, f: impl FnOnce()) {
        // It guards no data that a panic could have broken.
        let waits = self.0.checkpointing.lock();
        let _waits = waits.unwrap_or_else(PoisonError::into_inner);
        f();
    }
}

/// The writer's side of the log.
pub(super) struct Checkpointer {
    shared: Arc<Shared>,
    /// Wakes the thread; `None` only while being dropped.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// How long the log was after the previous commit; `None` until this process has changed something.
    before: Option<u32>,
    /// How much of it an earlier process left, or a long read kept from being copied, until it starts anew.
    left: u32,
    /// The number of pages at which the next checkpoint is due.
    next: u32,
    /// When emptying the log last failed.
    tried: Option<Instant>,
    /// When the thread was last woken to copy what is to be emptied: if a long read is in its way, it is woken again later.
    woken: Option<Instant>,
}

/// What the writer and the thread share.
#[derive(Default)]
struct Shared {
    /// Pages in the log after the last commit of this process that changed anything; 0 before the first, however many
    /// there are.
    pages: AtomicU32,
    /// Whether a long read has kept much from being copied, and it has not been since.
    held_back: AtomicBool,
    /// Whether it is the writer's turn: step 3.
    rest: AtomicBool,
    /// Whether the log is to be emptied: step 5.
    empty: AtomicBool,
    /// Whether emptying was ever asked for.
    looked_after: AtomicBool,
    /// Held while this process makes a checkpoint.
    checkpointing: Mutex<()>,
    counts: Arc<Counts>,
}

impl Checkpointer {
    /// Takes the log of `connection` over from SQLite, and starts the thread on `own`, another connection to the same
    /// `file`. The caller keeps `file` open until the last connection is closed: closing it ends all locks that this process
    /// has on the file (`fcntl_locking(2)`).
    pub(super) fn start(
        connection: &mut Connection,
        own: Connection,
        file: Arc<File>,
        counts: &Arc<Counts>,
    ) -> Result<Checkpointer, Cause> {
        let shared = Arc::new(Shared {
            counts: Arc::clone(counts),
            ..Shared::default()
        });
        let limit = "journal_size_limit";
        connection.pragma_update_and_check(None, limit, LONGEST_FILE, |_| Ok(()))?;
        let told = Arc::clone(&shared);
        // Replaces SQLite's own hook, which makes a checkpoint at every thousand pages.
        connection.wal_hook(Some(move |_: &mut Wal, pages: i32| {
            told.pages
                .store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (wake, woken) = sync_channel(1);
        let its = Arc::clone(&shared);
        let thread = Builder::new()
            .name("sqlite-log".into())
            .spawn(move || checkpoint_when_woken(&own, &file, &woken, &its))?;
        Ok(Checkpointer {
            shared,
            wake: Some(wake),
            thread: Some(thread),
            before: None,
            left: 0,
            next: CHECKPOINT_PAGES,
            tried: None,
            woken: None,
        })
    }

    /// For callers that have something to be forgotten.
    pub(super) fn emptying(&self) -> Emptying {
        Emptying(Arc::clone(&self.shared))
    }

    /// Steps 1, 3, 4 and 5, after each commit on `connection`.
    pub(super) fn committed(&mut self, connection: &mut Connection) {
        let pages = self.shared.pages.load(Ordering::Relaxed);
        if pages > 0 {
            match self.before {
                None => self.left = pages,
                // The log started anew.
                Some(before) if pages < before => (self.left, self.next) = (0, CHECKPOINT_PAGES),
                Some(_) => {}
            }
            self.before = Some(pages);
        }
        let held_back = self.shared.held_back.load(Ordering::Relaxed);
        if held_back {
            self.left = pages;
        }
        let due = pages >= self.next;
        if due {
            self.next = pages + CHECKPOINT_PAGES;
        }
        let is_over = |at: Option<Instant>| at.is_none_or(|at| at.elapsed() >= NEXT_TRY);
        let to_empty = self.shared.empty.load(Ordering::Relaxed) && is_over(self.tried);
        let rest = self.shared.rest.swap(false, Ordering::Relaxed);
        let far_behind = due && pages - self.left >= BLOCKING_PAGES;
        let few_left = self.before.is_some() && pages <= FINAL_PAGES;
        if rest || far_behind || (to_empty && few_left) {
            let shared = Arc::clone(&self.shared);
            let checkpointing = &shared.checkpointing;
            // As above.
            let _waited = checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
            let begun = Instant::now();
            let done = match to_empty {
                true => self.empty(connection),
                false => self.checkpoint_rest(connection, far_behind),
            };
            shared.counts.writer_checkpoints.took(begun.elapsed());
            shared.counts.failed_checkpoints.add(u64::from(!done));
        } else if (due || (to_empty && is_over(self.woken)))
            && let Some(wake) = &self.wake
        {
            // A thread that is already busy, or has panicked, is not woken.
            let _ = wake.try_send(());
            if to_empty {
                self.woken = Some(Instant::now());
            }
        }
    }
}

impl Checkpointer {
    /// Steps 3 and 4. Returns whether everything is copied that readers do not keep.
    fn checkpoint_rest(&mut self, connection: &mut Connection, far_behind: bool) -> bool {
        let begun = Instant::now();
        let mut done = checkpoint(connection);
        while done == Err(NotCopied::Busy) && far_behind && begun.elapsed() < NEXT_TRY {
            std::thread::sleep(Duration::from_millis(1));
            done = checkpoint(connection);
        }
        match done {
            // While another process commits, there is more each time: it has to wait for this (`FULL`).
            Ok((length, copied)) if length == copied => {
                checkpoint_waiting::<WRITERS_TAKE>(connection, CheckpointMode::FULL)
            }
            Ok(_) => true,
            Err(NotCopied::Busy) => {
                match far_behind {
                    // Its checkpoint takes long. The thread copies what comes meanwhile, as after a long read.
                    true => self.shared.held_back.store(true, Ordering::Relaxed),
                    // After the next commit, then.
                    false => self.shared.rest.store(true, Ordering::Relaxed),
                }
                false
            }
            Err(NotCopied::Failed) => false,
        }
    }

    /// Step 5, once few pages are left to copy. Returns whether the log is empty.
    fn empty(&mut self, connection: &mut Connection) -> bool {
        let done = checkpoint_waiting::<READERS_TAKE>(connection, CheckpointMode::TRUNCATE);
        self.tried = (!done).then(Instant::now);
        if done {
            self.shared.empty.store(false, Ordering::Relaxed);
        }
        done
    }
}

/// Waits for the thread to end before the file is closed.
impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // Its panic, if any, was reported when it happened.
        }
    }
}

/// The thread, until the writer is gone.
fn checkpoint_when_woken(own: &Connection, file: &File, woken: &Receiver<()>, shared: &Shared) {
    while let Ok(()) = woken.recv() {
        // As above.
        let _checkpointing = shared
            .checkpointing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        checkpoint_most(own, file, shared);
    }
}

/// Step 2.
fn checkpoint_most(own: &Connection, file: &File, shared: &Shared) {
    for _ in 0..PASSES {
        let begun = Instant::now();
        // Linux reports an error to each open file once, so SQLite finds it again.
        let done = checkpoint(own).ok();
        let done = done.filter(|_| file.sync_data().is_ok());
        let counts = &shared.counts;
        counts.background_checkpoints.took(begun.elapsed());
        let Some((length, copied)) = done else {
            counts.failed_checkpoints.one();
            return;
        };
        if length.saturating_sub(copied) > CHECKPOINT_PAGES {
            shared.held_back.store(true, Ordering::Relaxed);
            // The writer would copy all of it if the read ended now.
            return;
        }
        let appended = shared.pages.load(Ordering::Relaxed).saturating_sub(copied);
        if appended <= FINAL_PAGES {
            break;
        }
    }
    // Not before: copying what was held back takes a while, in which much may be appended.
    shared.held_back.store(false, Ordering::Relaxed);
    shared.rest.store(true, Ordering::Relaxed);
}

/// Why a checkpoint copied nothing, or not all that it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotCopied {
    /// Another process is making one.
    Busy,
    /// The disk fails or is full.
    Failed,
}

/// Copies what is in the log and no reader needs where it is. Returns how many pages the log has, and how many of them are
/// copied.
fn checkpoint(connection: &Connection) -> Result<(u32, u32), NotCopied> {
    let done = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE);
    let (length, copied) = done.map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy) => NotCopied::Busy,
        _ => NotCopied::Failed,
    })?;
    let pages = |it: i32| u32::try_from(it).map_err(|_| NotCopied::Failed);
    Ok((pages(length)?, pages(copied)?))
}

/// A checkpoint that waits for others, so many times a millisecond: first for who writes, and then, while nobody can write, for
/// readers. Returns whether it could do everything.
fn checkpoint_waiting<const TRIES: i32>(connection: &mut Connection, mode: CheckpointMode) -> bool {
    let wait = |tries| {
        std::thread::sleep(Duration::from_millis(1));
        tries < TRIES
    };
    // Fails only for calls from inside SQLite, which this is not.
    let waiting = connection.busy_handler(Some(wait));
    let done = connection.wal_checkpoint_v2(DEFAULT_NAME, mode);
    let restored = connection.busy_handler(Some(wait_for_lock));
    waiting.and(done).and(restored).is_ok()
}

#[cfg(test)]
mod tests;
