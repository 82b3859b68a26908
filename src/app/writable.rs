//! Whether the database takes changes, found out by trying.
//!
//! 1. A try is made every ten seconds at most, however often the question is asked, since to try is to write. Its result
//!    holds until the next.
//! 2. A try that could not be made, because too many callers wait, for example, tells nothing: the result before it holds.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// How long a result holds.
const TRIED_EVERY: Duration = Duration::from_secs(10);

/// The result of the last try.
#[derive(Default)]
pub(super) struct Writable(Mutex<Option<(bool, Instant)>>);

impl Writable {
    /// Whether changes are taken. `tries` finds out, or returns `None`. Of many callers at once, one tries.
    pub(super) async fn ask(&self, tries: impl Future<Output = Option<bool>>) -> bool {
        let mut known = self.0.lock().await;
        if let Some((found, at)) = *known
            && at.elapsed() < TRIED_EVERY
        {
            return found; // step 1
        }
        let before = known.is_none_or(|(found, _)| found);
        let found = tries.await.unwrap_or(before); // step 2
        *known = Some((found, Instant::now()));
        found
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_tried_every_ten_seconds_and_what_tells_nothing_changes_nothing() {
        let (writable, tried) = (Writable::default(), Cell::new(0));
        let ask = async |answer: Option<bool>| {
            let tries = async {
                tried.set(tried.get() + 1);
                answer
            };
            writable.ask(tries).await
        };
        assert!(ask(None).await, "nothing is known against it");
        for (answer, expected) in [(Some(false), false), (None, false), (Some(true), true)] {
            tokio::time::sleep(TRIED_EVERY).await;
            let before = tried.get();
            for _ in 0..100 {
                assert_eq!(ask(answer).await, expected, "{answer:?}");
            }
            assert_eq!(tried.get(), before + 1);
        }
    }
}
