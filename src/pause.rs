//! Pauses between turns. A turn that is followed by a pause leaves time to everyone else, however often one caller asks for
//! the next one.

use std::time::Duration;

use tokio::runtime::Handle;
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
    longest: Duration,
}

impl<T: Send + 'static> WithPause<T> {
    /// Begins a turn whose pause is at most `longest`.
    pub(crate) fn begin(turn: T, longest: Duration) -> WithPause<T> {
        WithPause {
            turn: Some(turn),
            begun: Instant::now(),
            longest,
        }
    }
}

impl<T: Send + 'static> Drop for WithPause<T> {
    fn drop(&mut self) {
        keep_for(self.begun.elapsed().min(self.longest), self.turn.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_followed_by_a_pause_as_long_but_not_beyond_the_longest() {
        let turns = Arc::new(Mutex::new(()));
        let begun = Instant::now();
        for seconds in [1, 10, 0] {
            let turn = Arc::clone(&turns).lock_owned().await;
            let _turn = WithPause::begin(turn, Duration::from_secs(5));
            sleep(Duration::from_secs(seconds)).await;
        }
        assert_eq!(begun.elapsed().as_secs(), 1 + 1 + 10 + 5);
    }
}
