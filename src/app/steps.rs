//! How long work is done in bounded steps beside the requests: what has expired, what deleted users, teams, apps and folders
//! have left behind, and the import of a large file.
//!
//! Each step is a change of its own, of [`STEP`] rows at most (an import has a thousand), and takes its turn among the
//! requests. Between two steps the others have at least as much time as the step took: a command is a different process from
//! the server, and SQLite gives its lock to whichever asks at the right moment.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::App;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;
use crate::store::{Sql, Store};

/// Rows deleted in one step: a few milliseconds of work.
pub(super) const STEP: u32 = 500;

/// How many times as long as a step the pause after it is, where nothing waits for the end: rows that come one by one, as
/// people sign in, need not be deleted as fast as programs can make others.
pub(super) const SLOWLY: u32 = 7;

impl App {
    /// Takes a step, and then pauses for as long as it took.
    ///
    /// # Errors
    /// Any store error.
    pub(super) async fn take_step<T: Send + 'static>(
        &self,
        step: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.take_step_and_pause(step, 1).await
    }

    /// Takes a step, and then pauses for `times` as long as it took.
    ///
    /// # Errors
    /// Any store error.
    pub(super) async fn take_step_and_pause<T: Send + 'static>(
        &self,
        step: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
        times: u32,
    ) -> Result<T, Error> {
        pause_after(self.time_step(step), times).await
    }

    /// Takes a step, and returns how long it took: the caller pauses for as long.
    ///
    /// # Errors
    /// Any store error.
    pub(super) async fn time_step<T: Send + 'static>(
        &self,
        step: impl AsyncFn(Sql<'_>) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<(T, Duration), Error> {
        (self.before_steps)(&self.store);
        let begun = Instant::now();
        let done = self.store.write(Holder::Service, step).await?;
        Ok((done, begun.elapsed()))
    }

    /// Calls `before_steps` before each step.
    #[must_use]
    pub fn before_steps(self, before_steps: impl Fn(&Store) + Send + Sync + 'static) -> App {
        App {
            before_steps: Box::new(before_steps),
            ..self
        }
    }
}

async fn pause_after<T>(
    step: impl Future<Output = Result<(T, Duration), Error>>,
    times: u32,
) -> Result<T, Error> {
    let (done, took) = step.await?;
    sleep(took * times).await;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use tokio::time;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_step_the_others_have_as_long_or_several_times_as_long() {
        for (times, all) in [(1, 20), (SLOWLY, 140)] {
            let begun = time::Instant::now();
            let step = async { Ok(((), Duration::from_millis(20))) };
            pause_after(step, times).await.unwrap();
            assert_eq!(begun.elapsed(), Duration::from_millis(all), "{times}");
        }
    }
}
