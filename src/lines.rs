//! Limits how much each caller has under way at once, with a bounded queue behind it.
//!
//! A caller that does a lot of one kind of work waits only behind itself. While it waits, it holds only its own request's
//! permit, so a few may wait; the rest are refused.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::weak_map::WeakMap;

/// The queues of all keys.
#[derive(Debug)]
pub(crate) struct Lines<K> {
    at_once: usize,
    room: usize,
    /// Each is kept while a turn is held or waited for.
    by: WeakMap<K, Line>,
}

#[derive(Debug)]
struct Line {
    turns: Arc<Semaphore>,
    room: Semaphore,
}

/// A turn, held until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Whether others were before it.
    pub(crate) has_waited: bool,
    _permit: OwnedSemaphorePermit,
    /// Keeps the queue in the map while the turn is held.
    _line: Arc<Line>,
}

impl<K: Eq + Hash> Lines<K> {
    /// Returns queues in which each key may hold `at_once` turns, and `room` more callers may wait.
    pub(crate) fn new(at_once: usize, room: usize) -> Lines<K> {
        Lines {
            at_once,
            room,
            by: WeakMap::default(),
        }
    }

    /// Waits for this key's next turn. Returns `None` if too many are already waiting.
    pub(crate) async fn turn(&self, key: K) -> Option<Turn> {
        let line = self.by.get(key, || Line {
            turns: Arc::new(Semaphore::new(self.at_once)),
            room: Semaphore::new(self.room),
        });
        let at_once = Arc::clone(&line.turns).try_acquire_owned().ok();
        let has_waited = at_once.is_none();
        let permit = match at_once {
            Some(permit) => permit,
            None => {
                let _room = line.room.try_acquire().ok()?;
                // The semaphore is never closed.
                Arc::clone(&line.turns).acquire_owned().await.ok()?
            }
        };
        Some(Turn {
            has_waited,
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
        assert!(!turns[0].has_waited);
        turns.push(waits.await.unwrap());
        assert!(turns[1].has_waited);
        let gone = Box::pin(lines.turn("a"));
        drop(gone);
        turns.clear();
        assert!(lines.turn("a").await.is_some());
    }
}
