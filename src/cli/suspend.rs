//! Ctrl-Z suspends a command between two of its steps: within one, it would keep everybody else from writing until it goes on.
//! So it would while it copies the log of SQLite.

use std::sync::{Mutex, OnceLock, PoisonError};

use futures::FutureExt;
use rustix::process::{self, getpid, getsid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::store::Store;

/// What a command does before each step ([`App::before_steps`]). Before the first, Ctrl-Z suspends it at once: it may be
/// asking a question.
///
/// [`App::before_steps`]: crate::app::App::before_steps
pub(super) fn if_asked() -> impl Fn(&Store) + Send + Sync {
    let asked: OnceLock<Option<Mutex<Signal>>> = OnceLock::new();
    move |store| {
        let kind = SignalKind::from_raw(process::Signal::TSTP.as_raw());
        // A system that does not let this wait for the signal suspends the command at once.
        let Some(asked) = asked.get_or_init(|| signal(kind).ok().map(Mutex::new)) else {
            return;
        };
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        // As without this, who has no shell that could continue it is not suspended (`ssh -t HOST invoicing ...`).
        let leads_its_session = getsid(None) == Ok(getpid());
        if asked.recv().now_or_never().is_some() && !leads_its_session {
            // A process may always stop itself.
            store.between_checkpoints(|| {
                let _ = kill_process(getpid(), process::Signal::STOP);
            });
        }
    }
}
