//! Waits for callers that are about to arrive, so that they go together.

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;

/// How often this yields to the other tasks before it checks whether more callers have arrived: some take a few turns from
/// the socket to the store.
const TURNS: usize = 8;

/// How long this waits at most. If the other tasks take longer, as for long lists, more arrive than it waits for.
const PATIENCE: Duration = Duration::from_millis(1);

/// Yields to the other tasks of the runtime as long as that brings more callers, of which `most` go together; `waiting`
/// returns how many wait. If none is about to arrive, this costs a microsecond, and it sets no timer.
pub(super) async fn gather(most: usize, waiting: impl Fn() -> usize) {
    let (begun, mut before) = (Instant::now(), 0);
    loop {
        let now = waiting();
        if now == before || now >= most {
            return;
        }
        before = now;
        for _ in 0..TURNS {
            yield_now().await;
            if begun.elapsed() >= PATIENCE {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn those_who_come_meanwhile_are_waited_for_until_they_are_as_many_as_may_go() {
        for (come, most, seen) in [(0, 64, 2), (3, 64, 5), (100, 64, 64)] {
            let (waiting, asked) = (Cell::new(1), Cell::new(0));
            let come = |_: usize| waiting.set((waiting.get() + 1).min(1 + come));
            gather(most, || {
                asked.set(asked.get() + 1);
                let now = waiting.get();
                come(now);
                now
            })
            .await;
            assert_eq!(asked.get(), seen);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_waited_for_while_others_take_long() {
        tokio::spawn(async {
            for _ in 0..TURNS {
                tokio::time::advance(PATIENCE).await;
            }
        });
        let asked = Cell::new(0);
        gather(64, || {
            asked.set(asked.get() + 1);
            asked.get()
        })
        .await;
        assert_eq!(asked.get(), 1);
    }
}
