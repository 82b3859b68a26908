//! The log's output to standard error: its least severe level, and its format. Both may change while the server runs, and
//! neither may cost a request a lock.
//!
//! 1. A line below the level is dropped.
//! 2. The others go to the drain of the format: lines of JSON (`lines.rs`), or lines for a person at a terminal. Each drain
//!    is made when it is first needed, with a thread of its own, and stays.
//! 3. At the end of the process, both write what still waits ([`Guard`]).

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use slog::{Drain, Level, Never, OwnedKVList, Record};
use slog_async::{Async, OverflowStrategy};

use super::lines::{self, Lines};
use crate::settings::{LogFormat, LogLevel};

/// How long the process waits for the reader of the log when it exits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Standard error.
pub(super) struct Output(Arc<State>);

struct State {
    /// The least severe level that is written.
    level: AtomicUsize,
    /// Whether lines are formatted for a person.
    for_a_terminal: AtomicBool,
    json: OnceLock<Lines>,
    terminal: OnceLock<Async>,
    /// Guards that write the waiting lines when dropped.
    waiting: Mutex<Vec<Box<dyn Send>>>,
}

impl Output {
    /// # Errors
    /// When the system cannot create a thread to write with.
    pub(super) fn new(level: LogLevel, format: LogFormat) -> io::Result<Self> {
        let state = Arc::new(State {
            level: AtomicUsize::default(),
            for_a_terminal: AtomicBool::default(),
            json: OnceLock::new(),
            terminal: OnceLock::new(),
            waiting: Mutex::default(),
        });
        Controls(Arc::clone(&state)).set(level, format)?;
        Ok(Self(state))
    }
}

impl Drain for Output {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        let state = &self.0;
        if record.level().as_usize() > state.level.load(Ordering::Relaxed) {
            return Ok(()); // step 1
        }
        // Step 2.
        match state.for_a_terminal.load(Ordering::Relaxed) {
            // A drain is never used before it is made. A line that does not fit in the queue is dropped, and counted there.
            true => _ = state.terminal.get().map(|it| it.log(record, values)),
            false => _ = state.json.get().map(|it| it.log(record, values)),
        }
        Ok(())
    }
}

/// Changes the level and the format.
#[derive(Clone)]
pub struct Controls(Arc<State>);

impl Controls {
    /// From now on, writes everything at least as severe as `level`, in `format`.
    ///
    /// # Errors
    /// When the system cannot create a thread to write with; then nothing has changed.
    pub fn set(&self, level: LogLevel, format: LogFormat) -> io::Result<()> {
        let state = &self.0;
        let for_a_terminal = is_for_a_terminal(format);
        // One call at a time, so that no drain is made twice.
        let mut waiting = state.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if for_a_terminal && state.terminal.get().is_none() {
            let decorator = slog_term::TermDecorator::new().stderr().build();
            let lines = slog_term::FullFormat::new(decorator).build().ignore_res();
            let (drain, guard) = Async::new(lines)
                .overflow_strategy(OverflowStrategy::DropAndReport)
                .thread_name("log".into())
                .build_with_guard();
            let _ = state.terminal.set(drain);
            waiting.push(Box::new(guard));
        } else if !for_a_terminal && state.json.get().is_none() {
            let (drain, guard) = lines::in_background(io::stderr())?;
            let _ = state.json.set(drain);
            waiting.push(Box::new(guard));
        }
        drop(waiting);
        let level = least_severe(level).as_usize();
        state.level.store(level, Ordering::Relaxed);
        state
            .for_a_terminal
            .store(for_a_terminal, Ordering::Relaxed);
        Ok(())
    }
}

/// When dropped, writes what still waits, unless nothing reads it for two seconds.
pub struct Guard(Arc<State>);

impl Guard {
    pub(super) fn of(output: &Output) -> Self {
        Self(Arc::clone(&output.0))
    }

    /// The controls of this output.
    pub fn controls(&self) -> Controls {
        Controls(Arc::clone(&self.0))
    }
}

/// Step 3.
impl Drop for Guard {
    fn drop(&mut self) {
        let mut waiting = self
            .0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut *waiting);
        let (sender, written) = channel::<()>();
        // On a separate thread: dropping blocks for as long as nothing reads.
        let ending = Builder::new().name("log-end".into()).spawn(move || {
            drop(waiting);
            drop(sender);
        });
        if ending.is_ok() {
            // An error either way: everything is written, or nothing reads.
            let _ = written.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Whether lines are formatted for a person at a terminal.
pub(super) fn is_for_a_terminal(format: LogFormat) -> bool {
    match format {
        LogFormat::Auto => io::stderr().is_terminal(),
        LogFormat::Json => false,
        LogFormat::Terminal => true,
    }
}

/// The least severe level that is written.
pub(super) fn least_severe(level: LogLevel) -> Level {
    match level {
        LogLevel::Error => Level::Error,
        LogLevel::Warn => Level::Warning,
        LogLevel::Info => Level::Info,
        LogLevel::Debug => Level::Debug,
    }
}
