//! A log whose lines are written at once until something has begun, so that what is printed next comes behind them; from
//! then on they are queued, because a request must not wait for a reader of the log.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slog::{Drain, Level, Logger, Never, OwnedKVList, Record};

use super::json;

/// Where lines go, before and after the beginning.
pub(super) struct Beginning {
    /// The least severe level that is written before it.
    pub(super) level: Level,
    pub(super) before: Logger,
    pub(super) after: Logger,
    pub(super) begun: Begun,
}

/// Says when it is that something has begun.
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
        // What cannot be written is lost: there is no other place to say so.
        let _ = io::stderr().write_all(&json::line(record, values));
        Ok(())
    }
}
