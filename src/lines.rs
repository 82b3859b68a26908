//! A few at once for each of many, and a line behind them.
//!
//! Whoever does much of one kind, or has it done, waits for themselves. Who waits holds nothing that others need, but for the
//! request that it is for; so some may wait, and more are refused.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::weak_map::WeakMap;

/// The lines of all.
#[derive(Debug)]
pub(crate) struct Lines<K> {
    at_once: usize,
    room: usize,
    /// As long as somebody has or waits for a turn.
    by: WeakMap<K, Line>,
}

#[derive(Debug)]
struct Line {
    turns: Arc<Semaphore>,
    room: Semaphore,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    /// It is there as long as somebody has a turn.
    _line: Arc<Line>,
}

impl<K: Eq + Hash> Lines<K> {
    /// Lines in which so many have a turn at once, and so many more may wait.
    pub(crate) fn new(at_once: usize, room: usize) -> Lines<K> {
        Lines {
            at_once,
            room,
            by: WeakMap::default(),
        }
    }

    /// Waits for the next turn in the line of that key; none when too many wait for one.
    pub(crate) async fn turn(&self, key: K) -> Option<Turn> {
        let line = self.by.get(key, || Line {
            turns: Arc::new(Semaphore::new(self.at_once)),
            room: Semaphore::new(self.room),
        });
        let permit = match Arc::clone(&line.turns).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _room = line.room.try_acquire().ok()?;
                // Nobody closes it.
                Arc::clone(&line.turns).acquire_owned().await.ok()?
            }
        };
        Some(Turn {
            _permit: permit,
            _line: line,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_few_have_turns_some_wait_and_more_are_refused_and_others_have_theirs() {
        let lines = Lines::new(2, 1);
        let mut turns = vec![
            lines.turn("a").await.unwrap(),
            lines.turn("a").await.unwrap(),
        ];
        let mut waits = Box::pin(lines.turn("a"));
        assert!((&mut waits).now_or_never().is_none());
        assert!(lines.turn("a").await.is_none());
        assert!(lines.turn("b").await.is_some());
        turns.pop();
        turns.push(waits.await.unwrap());
        let gone = Box::pin(lines.turn("a"));
        drop(gone);
        turns.clear();
        assert!(lines.turn("a").await.is_some());
    }
}
