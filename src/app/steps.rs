//! How long work is done in bounded steps beside the requests: what has expired, what deleted users, teams, apps and folders
//! have left behind, and the import of a large file.
//!
//! 1. Each step is a change of its own, of [`STEP`] rows at most (an import has a thousand), and takes its turn among the
//!    requests.
//! 2. Between two steps the others have at least as much time as the step took: a command is a different process from the
//!    server, and SQLite gives its lock to whichever asks at the right moment.
//! 3. On SQLite, all others wait for a step, which may have to read each row from another place of a slow disk. So the first
//!    step of several is [small](FIRST), and each has so many rows that it takes no [longer](LONG), judging by the one
//!    before.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::App;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;
use crate::store::{Sql, Store};

/// Rows deleted in one step at most: a few milliseconds of work.
pub(super) const STEP: u32 = 500;

/// Rows of the first step on SQLite, and of the least.
const FIRST: u32 = 10;

/// How long a step may keep others from writing.
const LONG: Duration = Duration::from_millis(20);

/// How many times as long as a step the pause after it is, where nothing waits for the end: rows that come one by one, as
/// people sign in, need not be deleted as fast as programs can make others.
pub(super) const SLOWLY: u32 = 7;

/// How many rows the next of several steps may have: step 3.
pub(super) struct StepSize {
    rows: u32,
    least: u32,
    most: u32,
}

impl StepSize {
    /// Begins with steps that have at most so many.
    pub(super) fn of(most: u32, store: &Store) -> StepSize {
        let least = match store {
            Store::Sqlite(_) => FIRST.min(most),
            // Nobody else waits, and each step costs round trips.
            Store::Postgres(_) => most,
        };
        StepSize {
            rows: least,
            least,
            most,
        }
    }

    /// How many.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Corrects it by how long a step took.
    fn took(&mut self, time: Duration) {
        let within = u128::from(self.rows) * LONG.as_nanos() / time.as_nanos().max(1);
        let within = u32::try_from(within).unwrap_or(u32::MAX);
        let twice = 2 * self.rows;
        self.rows = within.min(twice).clamp(self.least, self.most);
    }
}

impl App {
    /// How many rows the first of several steps may have.
    pub(super) fn step_size(&self) -> StepSize {
        StepSize::of(STEP, &self.store)
    }

    /// Takes steps until one has fewer rows than it may have, each with a pause of `times` as long as it took. `step` is
    /// given how many it may have, and returns how many it had.
    ///
    /// # Errors
    /// Any store error.
    pub(super) async fn take_steps(
        &self,
        (most, times): (u32, u32),
        step: impl AsyncFn(Sql<'_>, u32) -> Result<u64, ScriptError> + Clone + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let mut size = StepSize::of(most, &self.store);
        loop {
            let may = size.rows;
            let had = self.take_step_of(&mut size, times, step.clone()).await?;
            if had < may.into() {
                return Ok(());
            }
        }
    }

    /// Takes one of several steps, which is given how many rows it may have, and then pauses for `times` as long as it took.
    ///
    /// # Errors
    /// Any store error.
    pub(super) async fn take_step_of<T: Send + 'static>(
        &self,
        size: &mut StepSize,
        times: u32,
        step: impl AsyncFn(Sql<'_>, u32) -> Result<T, ScriptError> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let rows = size.rows;
        let timed = async move |sql: Sql<'_>| {
            let begun = Instant::now();
            Ok((step(sql, rows).await?, begun.elapsed()))
        };
        let (done, took) = self.take_step_and_pause(timed, times).await?;
        size.took(took);
        Ok(done)
    }

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

    #[test]
    fn a_step_has_so_many_rows_that_it_does_not_take_long() {
        let mut size = StepSize {
            rows: FIRST,
            least: FIRST,
            most: STEP,
        };
        let mut next = |per_row: Duration| {
            size.took(per_row * size.rows);
            size.rows
        };
        let quick = Duration::from_micros(20);
        assert_eq!(
            [20, 40, 80, 160, 320, STEP, STEP],
            [(); 7].map(|()| next(quick))
        );
        // Each row from a disk.
        let slow = Duration::from_micros(500);
        assert_eq!([40, 40], [next(slow), next(slow)]);
        assert_eq!(FIRST, next(100 * slow));
        assert_eq!(2 * FIRST, next(Duration::ZERO));
    }
}
