//! Pauses between turns. A turn that is followed by a pause leaves time to everyone else, however often one caller asks for
//! the next one. The pause is as long as the turn took ([`WithPause`]), or depends on how long it kept a thread busy
//! ([`BusyTime`]). Within a turn, there is one for whatever else is ready to run ([`OthersFirst`]).

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep};

/// Keeps `turn` for so long, and then drops it. Without a runtime, which tests may lack, it is dropped at once.
pub(crate) fn keep_for(pause: Duration, turn: impl Send + 'static) {
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(async move {
            sleep(pause).await;
            drop(turn);
        });
    }
}

/// A turn that, once this is dropped, is kept for as long again as it took.
#[derive(Debug)]
pub(crate) struct WithPause<T: Send + 'static> {
    turn: Option<T>,
    begun: Instant,
}

impl<T: Send + 'static> WithPause<T> {
    /// Begins a turn.
    pub(crate) fn begin(turn: T) -> WithPause<T> {
        WithPause {
            turn: Some(turn),
            begun: Instant::now(),
        }
    }
}

impl<T: Send + 'static> Drop for WithPause<T> {
    fn drop(&mut self) {
        keep_for(self.begun.elapsed(), self.turn.take());
    }
}

/// Lets all tasks that are ready run first, for as long as they take, and then not again for as long as that took: strangers
/// may keep all threads busy, with frames of HTTP/2 for example, and whoever holds a turn meanwhile keeps others waiting.
#[derive(Debug)]
pub(crate) struct OthersFirst {
    again_from: Mutex<Instant>,
}

impl Default for OthersFirst {
    fn default() -> OthersFirst {
        OthersFirst {
            again_from: Mutex::new(Instant::now()),
        }
    }
}

impl OthersFirst {
    /// Lets the others run.
    pub(crate) async fn pause(&self) {
        let begun = Instant::now();
        if begun < *self.again_from() {
            return;
        }
        yield_now().await;
        let ended = Instant::now();
        let mut again_from = self.again_from();
        *again_from = (ended + (ended - begun)).max(*again_from);
    }

    fn again_from(&self) -> MutexGuard<'_, Instant> {
        // Nothing panics while it is locked.
        self.again_from
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures how long work keeps a thread busy: the time in which it is polled, and not that in which it waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusyTime(Arc<Mutex<Polls>>);

#[derive(Debug, Default)]
struct Polls {
    /// How long all that have ended took.
    ended: Duration,
    /// When the one under way began.
    begun: Option<Instant>,
}

impl BusyTime {
    /// Does `work`, and measures it: one at a time.
    pub(crate) fn measure<F: Future>(&self, work: F) -> impl Future<Output = F::Output> {
        let mut work = Box::pin(work);
        poll_fn(move |context| {
            self.polls().begun = Some(Instant::now());
            let polled = work.as_mut().poll(context);
            let mut polls = self.polls();
            polls.ended = polls.so_far();
            polls.begun = None;
            polled
        })
    }

    /// How long it was busy until now.
    pub(crate) fn so_far(&self) -> Duration {
        self.polls().so_far()
    }

    fn polls(&self) -> MutexGuard<'_, Polls> {
        // Nothing panics while it is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Polls {
    fn so_far(&self) -> Duration {
        self.ended + self.begun.map_or(Duration::ZERO, |it| it.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::sync::Mutex;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn busy_time_is_that_of_each_poll_also_of_the_one_under_way() {
        let busy = BusyTime::default();
        let second = Duration::from_secs(1);
        let work = async {
            advance(second).await;
            sleep(10 * second).await;
            assert_eq!(busy.so_far(), second);
            // Within this poll.
            let _ = advance(2 * second).now_or_never();
            busy.so_far()
        };
        assert_eq!(busy.measure(work).await, 3 * second);
        sleep(second).await;
        assert_eq!(busy.so_far(), 3 * second);
        busy.measure(advance(second)).await;
        assert_eq!(busy.so_far(), 4 * second);
    }

    #[tokio::test(start_paused = true)]
    async fn others_run_first_for_half_of_the_time() {
        let second = Duration::from_secs(1);
        let others_first = OthersFirst::default();
        let pauses = || others_first.pause().now_or_never().is_none();
        let others = tokio::spawn(advance(second));
        others_first.pause().await;
        others.await.unwrap();
        assert!(!pauses());
        advance(second).await;
        assert!(pauses());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_followed_by_a_pause_as_long_as_it_took() {
        let turns = Arc::new(Mutex::new(()));
        let begun = Instant::now();
        for seconds in [1, 10, 0] {
            let turn = Arc::clone(&turns).lock_owned().await;
            let _turn = WithPause::begin(turn);
            sleep(Duration::from_secs(seconds)).await;
        }
        assert_eq!(begun.elapsed().as_secs(), 2 * (1 + 10));
    }
}
