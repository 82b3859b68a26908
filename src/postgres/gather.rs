//! Waiting for those who are about to come.

use tokio::task::yield_now;

/// How often the other tasks go first before it is seen whether that has brought more: some take a few turns from the socket
/// to the store.
const TURNS: usize = 8;

/// Lets the other tasks of the runtime go first as long as that brings more, of whom `most` go together: `waiting` says how
/// many wait. Where nobody is about to come, this costs a microsecond, and no timer is waited for.
pub(super) async fn gather(most: usize, waiting: impl Fn() -> usize) {
    let mut before = 0;
    loop {
        let now = waiting();
        if now == before || now >= most {
            return;
        }
        before = now;
        for _ in 0..TURNS {
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
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
}
