//! Retries requests within their deadline: promises 2 to 5 of the [store](super).
//!
//! A caller's change that meets a lock gives its connection back after a moment, and tries again, now among the few that may
//! wait for one a little longer; and so on. Otherwise a few callers, each with changes that wait for a lock that another of
//! them keeps for seconds, such as an import's, could have all connections between them, or all that changes may have. What ends
//! a right then waits longer before it gives its connection back, in turns of its own ([`super::slots`]).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::Postgres;
use super::checkout::DEADLINE;
use super::counts::Counts;
use super::error::is_locked;
use super::handle::{Access, Handle};
use super::slots::Purpose;
use super::transaction::{BEGIN, BEGIN_OF_ENDING, BEGIN_OF_SERVICE, BEGIN_TO_WAIT};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;

/// The pause before the second attempt; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause: a server that is back after a restart is noticed within this.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// With less time left there is no further attempt, and none begins: one that is cut off costs its connection. It is
/// longer than a caller's change waits for a lock.
const LEAST_TIME: Duration = Duration::from_millis(300);

/// The same for what ends a right.
const LEAST_TIME_OF_ENDING: Duration = Duration::from_millis(1200);

/// The attempts at one script.
pub(crate) struct Attempts {
    deadline: Instant,
    pause: Duration,
    /// Whether one has met a lock that did not come free at once.
    met_lock: bool,
    least_time: Duration,
    counts: Arc<Counts>,
}

impl Postgres {
    /// Starts the attempts at a script.
    pub(crate) fn attempts(&self) -> Attempts {
        Attempts {
            deadline: Instant::now() + DEADLINE,
            pause: FIRST_PAUSE,
            met_lock: false,
            least_time: LEAST_TIME,
            counts: Arc::clone(&self.connections.counts),
        }
    }

    /// Takes a connection for a script, of which an attempt has perhaps met a lock. It ends with [`Handle::end`].
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when none can be made; [`ScriptError::Final`] when the wait would be too long.
    pub(crate) async fn handle(
        &self,
        access: Access,
        holder: Holder,
        met_lock: bool,
    ) -> Result<Handle, ScriptError> {
        let begin = match (access, holder) {
            (Access::Changing, Holder::Service) => Some(BEGIN_OF_SERVICE),
            (Access::Changing, Holder::Ending(_)) if met_lock => Some(BEGIN_OF_ENDING),
            (Access::Changing, _) if met_lock => Some(BEGIN_TO_WAIT),
            (Access::Changing, _) => Some(BEGIN),
            (Access::Reading, _) => None,
        };
        let purpose = match access {
            Access::Changing => Purpose::Change { met_lock },
            Access::Reading if self.connections.slow.is_slow(access, holder) => Purpose::SlowRead,
            Access::Reading => Purpose::Read,
        };
        let checkout = self.connections.checkout(holder, purpose).await?;
        Ok(Handle::new(checkout, begin))
    }
}

/// Refuses to begin when there is hardly any time left.
///
/// # Errors
/// [`ScriptError::Final`].
pub(crate) fn require_time(least: Duration, deadline: Instant) -> Result<(), ScriptError> {
    match Instant::now() + least < deadline {
        true => Ok(()),
        false => Err(Error::unavailable("the database was busy until it was too late").into()),
    }
}

impl Attempts {
    /// As many as there is time for, if they are made for this holder.
    pub(crate) fn of(self, holder: Holder) -> Attempts {
        let least_time = match holder {
            Holder::Ending(_) => LEAST_TIME_OF_ENDING,
            _ => LEAST_TIME,
        };
        Attempts { least_time, ..self }
    }

    /// How much time has to be left for another.
    pub(crate) fn least_time(&self) -> Duration {
        self.least_time
    }

    /// Whether an attempt has met a lock that did not come free at once.
    pub(crate) fn met_lock(&self) -> bool {
        self.met_lock
    }

    /// When the script has to be done.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Runs an attempt within the deadline of all of them. Breaks with the caller's answer, unless there is time for another
    /// attempt; then it has waited for that.
    pub(crate) async fn next<T>(
        &mut self,
        attempt: impl Future<Output = Result<T, ScriptError>>,
    ) -> ControlFlow<Result<T, Error>> {
        let cause = match timeout_at(self.deadline, attempt).await {
            Ok(Ok(value)) => return ControlFlow::Break(Ok(value)),
            Ok(Err(ScriptError::Final(error))) => return ControlFlow::Break(Err(error)),
            Ok(Err(ScriptError::Retry(cause))) => cause,
            Err(_) => {
                let late = Error::unavailable("the database did not answer in time");
                return ControlFlow::Break(Err(late));
            }
        };
        if Instant::now() + self.pause + self.least_time >= self.deadline {
            return ControlFlow::Break(Err(Error::unavailable(cause)));
        }
        // That a lock did not come free says nothing about the database.
        match is_locked(&cause) {
            true => self.met_lock = true,
            false => self.counts.retries.one(),
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        ControlFlow::Continue(())
    }
}
