//! What all pages share.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Mutex as Queue;
use tokio::time::{Instant, sleep};

use crate::domain::id::UserId;
use crate::settings::Origin;

/// As many do what takes memory at once.
const IN_MEMORY: usize = 8;

/// What all pages share.
pub(super) struct Site {
    /// Where people reach them.
    pub(super) origin: Origin,
    /// Who does something large just now.
    under_way: Mutex<HashSet<(UserId, Work)>>,
    /// Those who wait to do what takes the processor and the one writer of SQLite.
    costly: Arc<Queue<()>>,
}

/// Something large, of which a user does one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// A file that is imported: up to some forty megabytes of memory. Eight users do such a thing at once.
    InMemory,
    /// A file that is made while it is sent: a piece at a time.
    Download,
}

impl Site {
    pub(super) fn new(origin: Origin) -> Site {
        Site {
            origin,
            under_way: Mutex::default(),
            costly: Arc::default(),
        }
    }

    /// A turn for it, if this user does none and there is room for one more.
    pub(super) fn turn(self: &Arc<Self>, user_id: UserId, work: Work) -> Option<Turn> {
        let mut all = self.under_way();
        let others = all.iter().filter(|(_, it)| *it == Work::InMemory).count();
        let has_room = work != Work::InMemory || others < IN_MEMORY;
        // Made only where there is one to give: what is dropped gives a turn back.
        (has_room && all.insert((user_id, work))).then(|| Turn {
            site: Arc::clone(self),
            of: (user_id, work),
        })
    }

    /// Does what is costly for everybody else, one after another, and with a pause behind each that is as long as it took: so
    /// half of the time is left, whoever imports again and again.
    pub(super) async fn by_turns<T>(&self, work: impl Future<Output = T>) -> T {
        let turn = Arc::clone(&self.costly).lock_owned().await;
        let begun = Instant::now();
        let done = work.await;
        let took = begun.elapsed();
        tokio::spawn(async move {
            sleep(took).await;
            drop(turn);
        });
        done
    }

    fn under_way(&self) -> MutexGuard<'_, HashSet<(UserId, Work)>> {
        // A set is whole after every change, so a poisoned lock holds a good one.
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// That a user does something large, until it is dropped.
pub(super) struct Turn {
    site: Arc<Site>,
    of: (UserId, Work),
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.site.under_way().remove(&self.of);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn site() -> Arc<Site> {
        Arc::new(Site::new("https://a.example".parse().unwrap()))
    }

    fn user(id: u128) -> UserId {
        UserId(Uuid::from_u128(id))
    }

    #[test]
    fn a_user_does_one_large_thing_of_a_kind_at_a_time() {
        let site = site();
        let turn = site.turn(user(1), Work::InMemory).unwrap();
        assert!(site.turn(user(1), Work::InMemory).is_none());
        assert!(site.turn(user(1), Work::Download).is_some());
        assert!(site.turn(user(2), Work::InMemory).is_some());
        drop(turn);
        assert!(site.turn(user(1), Work::InMemory).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_costly_is_done_one_after_another_with_a_pause_as_long() {
        let site = site();
        let begun = Instant::now();
        let work = async || {
            let second = std::time::Duration::from_secs(1);
            site.by_turns(async { sleep(second).await }).await;
            begun.elapsed().as_secs()
        };
        assert_eq!(tokio::join!(work(), work(), work()), (1, 3, 5));
    }

    #[test]
    fn eight_users_take_memory_at_once_and_any_number_download() {
        let site = site();
        let turn = |id| site.turn(user(id), Work::InMemory);
        let mut turns: Vec<_> = (0..8).map(|id| turn(id).unwrap()).collect();
        assert!(turn(8).is_none());
        assert!(site.turn(user(8), Work::Download).is_some());
        turns.pop();
        assert!(turn(8).is_some());
    }
}
