//! The state that all pages share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Queue, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::app::ImportTurn;
use crate::domain::id::{TeamId, UserId};
use crate::limit::SlowLimiter;
use crate::pause::{WithPause, keep_for};
use crate::settings::Origin;
use crate::weak_map::WeakMap;

/// How long a user who has broken off a download waits for another.
const BROKEN_OFF: Duration = Duration::from_secs(1);

/// How many files may be on the way, or wait for their turn, each of five megabytes of memory.
const IMPORTS: usize = 32;

/// How many of these may be of one team, each of another user.
const OF_A_TEAM: usize = 4;

/// How many of these a team leaves to others for each that it has, before it may have another. So a few teams do not hold
/// all of them with files that never arrive.
const LEFT: usize = 8;

/// How much rest a team may owe before it has to wait: with 150 times as long as others have waited, these have waited for
/// three seconds.
const OWED: Duration = Duration::from_secs(450);

/// The longest that it then waits: after others have waited for four seconds at once, which only a slow disk brings about.
const LONGEST_REST: Duration = Duration::from_secs(600);

/// How many files a team may send at once, and seconds until one more. A plan takes the place of the one before, of which
/// PostgreSQL keeps five megabytes until autovacuum comes.
const FILES: u32 = 30;
const FILE_EVERY: u32 = 10;

/// The state that all pages share.
pub(super) struct Site {
    /// Where people reach them.
    pub(super) origin: Origin,
    /// The users who download something that is made while it is sent.
    downloads: WeakMap<UserId, Semaphore>,
    /// The teams that send files to import.
    files: SlowLimiter<TeamId>,
    imports: Arc<Semaphore>,
    /// The users who import something.
    importers: WeakMap<UserId, Semaphore>,
    teams: WeakMap<TeamId, Team>,
}

/// The imports of a team.
struct Team {
    room: Arc<Semaphore>,
    line: Arc<Queue<()>>,
    /// Until when it would have to rest.
    rests: Mutex<Instant>,
}

/// The turn of an import among those of its team.
type First = (OwnedMutexGuard<()>, Arc<Team>);

impl Site {
    pub(super) fn new(origin: Origin) -> Site {
        Site {
            origin,
            downloads: WeakMap::default(),
            files: SlowLimiter::new(FILES, FILE_EVERY),
            imports: Arc::new(Semaphore::new(IMPORTS)),
            importers: WeakMap::default(),
            teams: WeakMap::default(),
        }
    }

    /// Returns a turn for a download, if this user has none.
    pub(super) fn download(&self, user_id: UserId) -> Option<Download> {
        let of_user = self.downloads.get(user_id, || Semaphore::new(1));
        let turn = of_user.try_acquire_owned().ok()?;
        Some(Download { turn: Some(turn) })
    }

    /// Counts one more file that this team sends to import.
    ///
    /// # Errors
    /// For how long it has to wait at most.
    pub(super) fn take_file(&self, team_id: TeamId) -> Result<(), Duration> {
        match self.files.take(team_id) {
            true => Ok(()),
            false => Err(Duration::from_secs(FILE_EVERY.into())),
        }
    }

    /// Reserves room for an import of this user in this team, if there is some.
    pub(super) fn import(&self, team_id: TeamId, user_id: UserId) -> Option<Import> {
        let of_user = self.importers.get(user_id, || Semaphore::new(1));
        let team = self.teams.get(team_id, || Team {
            room: Arc::new(Semaphore::new(OF_A_TEAM)),
            line: Arc::default(),
            rests: Mutex::new(Instant::now()),
        });
        let import = Import {
            _of_user: of_user.try_acquire_owned().ok()?,
            _of_team: Arc::clone(&team.room).try_acquire_owned().ok()?,
            _of_all: Arc::clone(&self.imports).try_acquire_owned().ok()?,
            team,
        };
        let others = OF_A_TEAM - 1 - import.team.room.available_permits();
        (self.imports.available_permits() >= LEFT * others).then_some(import)
    }
}

/// A user's download, until this is dropped. After one that is broken off, the next may follow [`BROKEN_OFF`] later: its
/// first piece costs others something, and a client that takes none of it nothing at all.
pub(super) struct Download {
    turn: Option<OwnedSemaphorePermit>,
}

impl Download {
    /// Notes that all of it was made.
    pub(super) fn is_done(&mut self) {
        self.turn = None;
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            keep_for(BROKEN_OFF, turn);
        }
    }
}

/// A team's import of a file, until this is dropped.
pub(super) struct Import {
    _of_user: OwnedSemaphorePermit,
    _of_team: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    team: Arc<Team>,
}

impl Import {
    /// Does work that is costly for all others: one import of a team at a time, with a pause after each that is as long as it
    /// took, and once it is its `turn` among all teams. So half of the time is left, however often a team imports.
    pub(super) async fn work<T, W: Fn() -> bool>(
        &self,
        turn: impl Future<Output = ImportTurn<'_, W>>,
        work: impl Future<Output = T>,
    ) -> T {
        let (_line, turn) = self.first(turn).await;
        turn.during(work).await
    }

    /// As [`work`](Import::work), for work that tells when all changes of others began to wait for it. The team owes a rest of
    /// `times` as long as they waited. Once that is more than [`OWED`], it has to wait, but no longer than [`LONGEST_REST`].
    ///
    /// # Errors
    /// For how long the team has to wait.
    pub(super) async fn carry_out<T, W: Fn() -> bool>(
        &self,
        turn: impl Future<Output = ImportTurn<'_, W>>,
        times: u32,
        work: impl AsyncFnOnce(Arc<OnceLock<Instant>>) -> T,
    ) -> Result<T, Duration> {
        let (_line, turn) = self.first(turn).await;
        let wait = self
            .team
            .rests()
            .saturating_duration_since(Instant::now() + OWED);
        if !wait.is_zero() {
            return Err(wait);
        }
        let begun = Arc::<OnceLock<Instant>>::default();
        let done = turn.during(work(Arc::clone(&begun))).await;
        if let Some(begun) = begun.get() {
            let now = Instant::now();
            let mut rests = self.team.rests();
            let owed = rests.saturating_duration_since(now) + begun.elapsed() * times;
            let owed = owed.min(OWED + LONGEST_REST);
            *rests = now + owed;
            keep_for(owed, Arc::clone(&self.team));
        }
        Ok(done)
    }

    /// Waits until it is the first of its team, and for its `turn`.
    async fn first<T>(&self, turn: impl Future<Output = T>) -> (WithPause<First>, T) {
        let first = Arc::clone(&self.team.line).lock_owned().await;
        let turn = turn.await;
        // The line keeps the team: it would be forgotten during the pause, if it has no other import.
        (WithPause::begin((first, Arc::clone(&self.team))), turn)
    }
}

impl Team {
    fn rests(&self) -> MutexGuard<'_, Instant> {
        // Nothing panics while it is locked.
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::time::{Instant, sleep};
    use uuid::Uuid;

    use super::*;
    use crate::app::ImportTurns;

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

    #[tokio::test(start_paused = true)]
    async fn a_team_sends_thirty_files_and_then_one_in_ten_seconds() {
        let site = site();
        let sends = |id| site.take_file(team(id)).is_ok();
        assert!((0..30).all(|_| sends(1)));
        assert!(!sends(1));
        assert!(sends(2));
        sleep(Duration::from_secs(11)).await;
        assert!(sends(1));
        assert!(!sends(1));
    }

    #[test]
    fn a_user_has_one_import_a_team_four_and_all_together_thirty_two() {
        let site = site();
        let import = |team_id, user_id| site.import(team(team_id), user(user_id));
        let of_team: Vec<_> = (0..4).map(|id| import(0, id)).collect();
        assert!(of_team.iter().all(Option::is_some));
        assert!(import(0, 4).is_none());
        assert!(import(1, 0).is_none());
        let mut imports: Vec<_> = (4..32).map(|id| import(id, id)).collect();
        assert!(imports.iter().all(Option::is_some));
        assert!(import(32, 32).is_none());
        imports.pop();
        assert!(import(32, 32).is_some());
    }

    #[test]
    fn a_team_leaves_eight_imports_to_others_for_each_that_it_has() {
        let site = site();
        let import = |team_id, user_id| site.import(team(team_id), user(user_id));
        let of_few: Vec<_> = (0..32).filter_map(|id| import(id / 4, id)).collect();
        let of_others: Vec<_> = (100..200).filter_map(|id| import(id, id)).collect();
        assert_eq!((of_few.len(), of_others.len()), (22, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn imports_are_done_one_after_another_and_a_team_pauses_as_long() {
        let (site, turns) = (site(), ImportTurns::new(1, 0));
        let begun = Instant::now();
        let work = async |(team_id, user_id)| {
            let import = site.import(team(team_id), user(user_id)).unwrap();
            let second = async { sleep(Duration::from_secs(1)).await };
            import.work(turns.take(|| false), second).await;
            begun.elapsed().as_secs()
        };
        // The second team does not wait for all of the first.
        let done = join_all([(1, 1), (1, 2), (2, 3)].map(work)).await;
        assert_eq!(done, [1, 3, 2]);
    }

    /// Carries out an import that others wait for.
    async fn carry_out(site: &Site, of: u128, waited: Duration) -> Result<(), Duration> {
        let turns = ImportTurns::new(1, 0);
        let import = site.import(team(of), user(1)).unwrap();
        let work = async |begun: Arc<OnceLock<_>>| {
            begun.set(Instant::now()).unwrap();
            sleep(waited).await;
        };
        import.carry_out(turns.take(|| false), 150, work).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_for_which_others_waited_for_seconds_waits_150_times_as_long() {
        let (site, second) = (site(), Duration::from_secs(1));
        // The pauses count as rest, so there is a fourth.
        for _ in 0..4 {
            assert_eq!(carry_out(&site, 1, second).await, Ok(()));
        }
        for _ in 0..3 {
            let wait = carry_out(&site, 1, second).await.unwrap_err();
            assert!((140..=150).contains(&wait.as_secs()), "{wait:?}");
            assert_eq!(carry_out(&site, 2, Duration::ZERO).await, Ok(()));
            sleep(wait).await;
            assert_eq!(carry_out(&site, 1, second).await, Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_waits_no_longer_than_ten_minutes() {
        let site = site();
        assert_eq!(carry_out(&site, 1, Duration::from_secs(30)).await, Ok(()));
        sleep(Duration::from_secs(30)).await;
        let wait = carry_out(&site, 1, Duration::ZERO).await.unwrap_err();
        assert!((560..=600).contains(&wait.as_secs()), "{wait:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_with_small_imports_never_waits() {
        let site = site();
        for _ in 0..1_000 {
            let small = Duration::from_millis(5);
            assert_eq!(carry_out(&site, 1, small).await, Ok(()));
            sleep(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_team_has_one_turn_to_import_while_it_works_and_pauses() {
        let (site, turns) = (site(), ImportTurns::new(2, 0));
        let begun = Instant::now();
        let work = async |(team_id, user_id, seconds)| {
            let import = site.import(team(team_id), user(user_id)).unwrap();
            let long = async { sleep(Duration::from_secs(seconds)).await };
            import.work(turns.take(|| false), long).await;
            begun.elapsed().as_secs()
        };
        let done = join_all([(1, 1, 10), (1, 2, 10), (2, 3, 1), (3, 4, 1)].map(work)).await;
        assert_eq!(done, [10, 30, 1, 2]);
    }
}
