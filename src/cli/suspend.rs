//! Ctrl-Z suspends a command between two of its steps: within one, it would keep everybody else from writing until it goes on.
//! So it would while it copies the log of SQLite.

use std::sync::{Mutex, OnceLock, PoisonError};

use futures::FutureExt;
use nix::unistd::{getpgrp, getsid};
use rustix::process::{self, getpid, kill_process};
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
        // As without this, a command in the group of its session's leader is not suspended (`ssh -t HOST invoicing ...`): nobody
        // is there to continue it. A shell that can gives each command a group of its own. In a container, either of them is 0
        // if it began outside.
        let may_be_continued = getsid(None) != Ok(getpgrp());
        if asked.recv().now_or_never().is_some() && may_be_continued {
            // A process may always stop itself.
            store.between_checkpoints(|| {
                let _ = kill_process(getpid(), process::Signal::STOP);
            });
        }
    }
}
