//! What all pages share.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Mutex as Queue, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use crate::domain::id::{TeamId, UserId};
use crate::settings::Origin;
use crate::weak_map::WeakMap;

/// How long a user waits who has broken off a download.
const BROKEN_OFF: Duration = Duration::from_secs(1);

/// So many files may be on the way, or wait for their turn, each of five megabytes of memory.
const IMPORTS: usize = 32;

/// So many of these may be of one team, each of another user.
const OF_A_TEAM: usize = 4;

/// What all pages share.
pub(super) struct Site {
    /// Where people reach them.
    pub(super) origin: Origin,
    /// Who downloads something that is made while it is sent.
    downloads: WeakMap<UserId, Semaphore>,
    imports: Arc<Semaphore>,
    /// Who imports something.
    importers: WeakMap<UserId, Semaphore>,
    teams: WeakMap<TeamId, Team>,
    /// Those who wait to do what takes the processor and the one writer of SQLite.
    costly: Arc<Queue<()>>,
}

/// The imports of a team.
struct Team {
    room: Arc<Semaphore>,
    line: Queue<()>,
}

impl Site {
    pub(super) fn new(origin: Origin) -> Site {
        Site {
            origin,
            downloads: WeakMap::default(),
            imports: Arc::new(Semaphore::new(IMPORTS)),
            importers: WeakMap::default(),
            teams: WeakMap::default(),
            costly: Arc::default(),
        }
    }

    /// A turn for a download, if this user has none.
    pub(super) fn download(&self, user_id: UserId) -> Option<Download> {
        let of_user = self.downloads.get(user_id, || Semaphore::new(1));
        let turn = of_user.try_acquire_owned().ok()?;
        Some(Download { turn: Some(turn) })
    }

    /// Room for an import of this user in this team, if there is some.
    pub(super) fn import(&self, team_id: TeamId, user_id: UserId) -> Option<Import> {
        let of_user = self.importers.get(user_id, || Semaphore::new(1));
        let team = self.teams.get(team_id, || Team {
            room: Arc::new(Semaphore::new(OF_A_TEAM)),
            line: Queue::default(),
        });
        Some(Import {
            _of_user: of_user.try_acquire_owned().ok()?,
            _of_team: Arc::clone(&team.room).try_acquire_owned().ok()?,
            _of_all: Arc::clone(&self.imports).try_acquire_owned().ok()?,
            team,
            costly: Arc::clone(&self.costly),
        })
    }
}

/// That a user downloads something, until this is dropped. Of one that is broken off, the next may follow [`BROKEN_OFF`] later:
/// its first piece costs others something, and whoever takes nothing of it nothing at all.
pub(super) struct Download {
    turn: Option<OwnedSemaphorePermit>,
}

impl Download {
    /// All of it was made.
    pub(super) fn is_done(&mut self) {
        self.turn = None;
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        if let (Some(turn), Ok(runtime)) = (self.turn.take(), Handle::try_current()) {
            runtime.spawn(async move {
                sleep(BROKEN_OFF).await;
                drop(turn);
            });
        }
    }
}

/// That a team imports a file, until this is dropped.
pub(super) struct Import {
    _of_user: OwnedSemaphorePermit,
    _of_team: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    team: Arc<Team>,
    costly: Arc<Queue<()>>,
}

impl Import {
    /// Does what is costly for everybody else, for one team after another, and with a pause behind each that is as long as it
    /// took: so half of the time is left, whoever imports again and again. It takes up to some forty megabytes of memory.
    pub(super) async fn work<T>(&self, work: impl Future<Output = T>) -> T {
        let _first_of_team = self.team.line.lock().await;
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
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use uuid::Uuid;

    use super::*;

    fn site() -> Site {
        Site::new("https://a.example".parse().unwrap())
    }

    fn user(id: u128) -> UserId {
        UserId(Uuid::from_u128(id))
    }

    fn team(id: u128) -> TeamId {
        TeamId(Uuid::from_u128(id))
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_downloads_one_thing_at_a_time_and_waits_after_breaking_off() {
        let site = site();
        let mut download = site.download(user(1)).unwrap();
        assert!(site.download(user(1)).is_none());
        assert!(site.download(user(2)).is_some());
        download.is_done();
        drop(site.download(user(1)).unwrap());
        assert!(site.download(user(1)).is_none());
        sleep(BROKEN_OFF * 2).await;
        assert!(site.download(user(1)).is_some());
    }

    #[test]
    fn a_user_has_one_import_a_team_four_and_all_together_thirty_two() {
        let site = site();
        let import = |team_id, user_id| site.import(team(team_id), user(user_id));
        let mut imports: Vec<_> = (0..32).map(|id| import(id / 4, id)).collect();
        assert!(imports.iter().all(Option::is_some));
        assert!(import(8, 32).is_none());
        imports.pop();
        assert!(import(0, 32).is_none());
        assert!(import(8, 0).is_none());
        assert!(import(8, 32).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn imports_are_done_one_after_another_with_a_pause_as_long() {
        let site = site();
        let begun = Instant::now();
        let work = async |(team_id, user_id)| {
            let import = site.import(team(team_id), user(user_id)).unwrap();
            let second = async { sleep(Duration::from_secs(1)).await };
            import.work(second).await;
            begun.elapsed().as_secs()
        };
        // The second team does not wait for all of the first.
        let done = join_all([(1, 1), (1, 2), (2, 3)].map(work)).await;
        assert_eq!(done, [1, 5, 3]);
    }
}
