//! Waiting for those who are about to come.

use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;

/// How often the other tasks go first before it is seen whether that has brought more: some take a few turns from the socket
/// to the store.
const TURNS: usize = 8;

/// Where the others take so long, such as for long lists, more come than are waited for.
const PATIENCE: Duration = Duration::from_millis(1);

/// Lets the other tasks of the runtime go first as long as that brings more, of whom `most` go together: `waiting` says how
/// many wait. Where nobody is about to come, this costs a microsecond, and no timer is waited for.
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
