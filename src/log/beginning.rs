//! A log whose lines are written at once until startup is over, so that anything printed next comes after them; from then on
//! they are queued, because a request must not wait for a reader of the log.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slog::{Drain, Level, Logger, Never, OwnedKVList, Record};

use super::json;

/// Sends lines to one logger before startup is over, and to another after.
pub(super) struct Beginning {
    /// The least severe level that is written before.
    pub(super) level: Level,
    pub(super) before: Logger,
    pub(super) after: Logger,
    pub(super) begun: Begun,
}

/// Marks when startup is over.
#[derive(Clone, Default)]
pub struct Begun(Arc<AtomicBool>);

impl Begun {
    /// Queues lines from now on.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drain for Beginning {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        match self.begun.0.load(Ordering::Relaxed) {
            true => Drain::log(&self.after, record, values),
            false if record.level().is_at_least(self.level) => {
                Drain::log(&self.before, record, values)
            }
            false => Ok(()),
        }
    }
}

/// Writes lines of JSON to standard error, at once.
pub(super) struct JsonAtOnce;

impl Drain for JsonAtOnce {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), Never> {
        // A failed write is lost: there is nowhere else to report it.
        let _ = io::stderr().write_all(&json::line(record, values));
        Ok(())
    }
}
