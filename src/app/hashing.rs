//! Passwords are hashed: Argon2id, with the parameters that OWASP recommends, which are the crate's own (19 MiB, two
//! passes).
//!
//! That is work for tens of milliseconds, so it is done where no request waits for the thread, and by few threads at once:
//! whoever wants a password to be looked at waits for a place, and those who ask for the interface itself do not notice.
//!
//! Whoever has ten addresses may have as many passwords compared as a core compares. So there is an order:
//!
//! 1. Those of one network, or one user, stand in a line of their own, and only the first of each goes on: whoever comes from
//!    elsewhere waits for one password of each line, not for all of them.
//! 2. Of strangers, the first of the lines of one site stand in one more line, since who has a network often has all of them.
//! 3. Strangers wait for each other first, and then as many of them for a place as there are places. So whoever is known, by
//!    a session, by the cookie of a device or by a link, waits for one stranger, however many there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use ipnet::IpNet;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::client_address::surroundings;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::secret::Secret;

/// For how long somebody waits for a place.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// For how long a hash may take at a spare place. Where it took longer, others leave nothing of the cores.
const PATIENCE: Duration = Duration::from_secs(1);

/// For how long a spare place is not used then.
const CROWDED: Duration = Duration::from_secs(30);

/// So many of a line may wait: more than that would not be served in time.
const LINE: usize = 32;

/// So many of all lines may wait behind the first, and so many strangers who are the first. Who waits has one of the requests
/// that are worked on, of which those who ask for tokens want some, too.
const LINES: usize = 256;

/// The places at which passwords are hashed, and the lines before them.
#[derive(Debug)]
pub(super) struct Hashing {
    places: Arc<Semaphore>,
    /// For each, what keeps the thread that gets only what nobody wants: where that is nothing, it stays for long.
    spare: Arc<Semaphore>,
    /// Strangers who may wait for a place.
    strangers: Arc<Semaphore>,
    room: Semaphore,
    room_for_strangers: Arc<Semaphore>,
    /// As long as somebody stands in it.
    lines: Mutex<HashMap<Whose, Weak<Line>>>,
}

/// Who stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    /// Those of one network, or one user.
    Holder(Holder),
    /// The first of each network of a site.
    Site(IpNet),
}

#[derive(Debug)]
struct Line {
    /// Who has it is the first.
    first: Arc<Semaphore>,
    room: Semaphore,
}

/// Somebody who is the first of their lines, until this is dropped or the work is done.
pub(super) struct First {
    places: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    /// None for whoever is known.
    strangers: Option<Arc<Semaphore>>,
    _room: Option<OwnedSemaphorePermit>,
    /// They are there as long as somebody stands in them.
    _lines: Vec<(Arc<Line>, OwnedSemaphorePermit)>,
    /// Until when there has to be a place.
    deadline: Instant,
}

impl Default for Hashing {
    fn default() -> Hashing {
        let cores = available_parallelism().map_or(1, usize::from);
        let places = (cores / 2).clamp(1, 4);
        Hashing {
            places: Arc::new(Semaphore::new(places)),
            spare: Arc::new(Semaphore::new(places)),
            strangers: Arc::new(Semaphore::new(places)),
            room: Semaphore::new(LINES),
            room_for_strangers: Arc::new(Semaphore::new(LINES)),
            lines: Mutex::default(),
        }
    }
}

impl Line {
    fn new() -> Line {
        Line {
            first: Arc::new(Semaphore::new(1)),
            room: Semaphore::new(LINE),
        }
    }
}

impl Hashing {
    /// The hash of a password, as a PHC string with a salt of its own, for `holder`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no place is free in time.
    pub(super) async fn hash(&self, holder: Holder, password: Secret) -> Result<Secret, Error> {
        self.work(holder, move || hash(&password)).await?
    }

    /// What `work` gives, done at one of the places.
    ///
    /// # Errors
    /// As of [`hash`](Hashing::hash).
    pub(super) async fn work<T: Send + 'static>(
        &self,
        holder: Holder,
        work: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.first(holder).await?.work(work).await
    }

    /// Waits in the lines of `holder` (steps 1 and 2).
    ///
    /// # Errors
    /// [`Error::Unavailable`] when one is too long, or takes too long.
    pub(super) async fn first(&self, holder: Holder) -> Result<First, Error> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let mut lines = vec![self.wait_in(Whose::Holder(holder), deadline).await?];
        let (mut strangers, mut room) = (None, None);
        if let Holder::Address(address) = holder {
            let free = Arc::clone(&self.room_for_strangers).try_acquire_owned();
            room = Some(free.map_err(Error::unavailable)?);
            let site = Whose::Site(surroundings(address));
            lines.push(self.wait_in(site, deadline).await?);
            strangers = Some(Arc::clone(&self.strangers));
        }
        Ok(First {
            places: Arc::clone(&self.places),
            spare: Arc::clone(&self.spare),
            strangers,
            _room: room,
            _lines: lines,
            deadline,
        })
    }

    /// Waits in a line.
    async fn wait_in(
        &self,
        whose: Whose,
        deadline: Instant,
    ) -> Result<(Arc<Line>, OwnedSemaphorePermit), Error> {
        let line = self.line(whose);
        let first = match Arc::clone(&line.first).try_acquire_owned() {
            Ok(first) => first,
            Err(_) => {
                // Of each network, one is in the line of its site, and needs no more room there.
                let _rooms = match whose {
                    Whose::Site(_) => None,
                    Whose::Holder(_) => Some((
                        line.room.try_acquire().map_err(Error::unavailable)?,
                        self.room.try_acquire().map_err(Error::unavailable)?,
                    )),
                };
                acquire(&line.first, deadline).await?
            }
        };
        Ok((line, first))
    }

    fn line(&self, whose: Whose) -> Arc<Line> {
        // Nothing panics while it is locked.
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&whose).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Line::new());
        lines.insert(whose, Arc::downgrade(&line));
        line
    }
}

impl First {
    /// Whether a password is the one of that hash. It takes as long where there is no hash.
    ///
    /// # Errors
    /// As of [`hash`](Hashing::hash).
    pub(super) async fn verify(
        self,
        password: Secret,
        known: Option<Secret>,
    ) -> Result<bool, Error> {
        let verify = move || match &known {
            Some(known) => {
                let known = PasswordHash::new(known.reveal());
                let known = known.map_err(|error| Error::internal(error.to_string()))?;
                let verified =
                    Argon2::default().verify_password(password.reveal().as_bytes(), &known);
                Ok(verified.is_ok())
            }
            None => hash(&password).map(|_| false),
        };
        self.work(verify).await?
    }

    /// What `work` gives, done at the next place (step 3): those who are first are served as they came.
    async fn work<T: Send + 'static>(
        self,
        work: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let stranger = match &self.strangers {
            Some(strangers) => Some(acquire(strangers, self.deadline).await?),
            None => None,
        };
        let place = acquire(&self.places, self.deadline).await?;
        let spare = Arc::clone(&self.spare).try_acquire_owned().ok();
        // A task of its own: who asked for it may give up, and the place is taken until it is done.
        let task = tokio::spawn(async move {
            let result = carry_out(spare, Arc::new(work)).await;
            // Whoever has the result finds it free.
            drop((place, stranger, self));
            result
        });
        task.await.map_err(Error::internal)?
    }
}

async fn acquire(
    semaphore: &Arc<Semaphore>,
    deadline: Instant,
) -> Result<OwnedSemaphorePermit, Error> {
    let permit = timeout_at(deadline, Arc::clone(semaphore).acquire_owned()).await;
    permit.map_err(Error::unavailable)?.map_err(Error::internal)
}

/// What `work` gives. With a spare place, by a thread that runs only where nobody else wants to; if that has nothing after
/// [`PATIENCE`], or there is no spare place, by one that gets at least a little of a core.
async fn carry_out<T: Send + 'static>(
    spare: Option<OwnedSemaphorePermit>,
    work: Arc<impl Fn() -> T + Send + Sync + 'static>,
) -> Result<T, Error> {
    // Both may have a result, and neither waits for anybody to take it.
    let (done, mut result) = mpsc::channel(2);
    if let Some(spare) = spare.map(Arc::new) {
        start(Priority::Spare, &work, &done, Some(Arc::clone(&spare)))?;
        if let Ok(Some(result)) = timeout(PATIENCE, result.recv()).await {
            return Ok(result);
        }
        // Nobody else tries that for a while.
        tokio::spawn(async move {
            sleep(CROWDED).await;
            drop(spare);
        });
    }
    start(Priority::Low, &work, &done, None)?;
    drop(done);
    let nothing = || Error::internal("a thread that hashes has ended without a hash");
    result.recv().await.ok_or_else(nothing)
}

/// Begins a thread of its own, since none gets back the priority that it has given away. It keeps `spare` until it ends.
fn start<T: Send + 'static>(
    priority: Priority,
    work: &Arc<impl Fn() -> T + Send + Sync + 'static>,
    done: &mpsc::Sender<T>,
    spare: Option<Arc<OwnedSemaphorePermit>>,
) -> Result<(), Error> {
    let (work, done) = (Arc::clone(work), done.clone());
    let thread = thread::Builder::new().name("password".to_owned());
    let thread = thread.spawn(move || {
        priority.apply();
        let result = work();
        drop(spare);
        // Nobody may be there to take it.
        _ = done.try_send(result);
    });
    thread.map(drop).map_err(Error::unavailable)
}

/// What a thread that hashes gets of a core that others want, too. With that of all others, a request that comes while it
/// hashes would wait until the system takes the core away from it, some milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Priority {
    /// Next to nothing (SCHED_IDLE): whoever wakes up has the core at once.
    Spare,
    /// A tenth: some passwords are hashed beside requests without end, which may have to wait for a moment.
    Low,
}

impl Priority {
    /// Gives it to this thread. Where that is not allowed, the hash is as good.
    fn apply(self) {
        // Elsewhere it would be that of the whole process.
        #[cfg(target_os = "linux")]
        {
            use thread_priority::NormalThreadSchedulePolicy::Idle;
            use thread_priority::{
                ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
                thread_native_id,
            };
            let idle = || {
                let (lowest, policy) = (ThreadPriority::Min, ThreadSchedulePolicy::Normal(Idle));
                set_thread_priority_and_policy(thread_native_id(), lowest, policy)
            };
            if self == Priority::Low || idle().is_err() {
                let _ = rustix::process::nice(10);
            }
        }
    }
}

fn hash(password: &Secret) -> Result<Secret, Error> {
    let hash = Argon2::default().hash_password(password.reveal().as_bytes());
    let hash = hash.map_err(|error| Error::internal(error.to_string()))?;
    Ok(Secret::from_text(hash.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Holder = Holder::Address(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_salted() {
        let hashing = Hashing::default();
        let hash = async || {
            hashing
                .hash(NETWORK, Secret::from_text("tulip"))
                .await
                .unwrap()
        };
        let (one, two) = (hash().await, hash().await);
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(one.reveal().starts_with(parameters), "{}", one.reveal());
        assert_ne!(one, two);
        let verify = async |text: &str| {
            let (password, known) = (Secret::from_text(text), Some(one.clone()));
            let first = hashing.first(NETWORK).await.unwrap();
            first.verify(password, known).await.unwrap()
        };
        assert!(verify("tulip").await);
        assert!(!verify("Tulip").await);
        let first = hashing.first(NETWORK).await.unwrap();
        let nobody = first.verify(Secret::from_text("tulip"), None).await;
        assert!(!nobody.unwrap());
    }

    #[cfg(target_os = "linux")]
    fn policy() -> (Priority, i32) {
        use thread_priority::NormalThreadSchedulePolicy::Idle;
        use thread_priority::{ThreadSchedulePolicy, thread_schedule_policy};
        let priority = match thread_schedule_policy().unwrap() {
            ThreadSchedulePolicy::Normal(Idle) => Priority::Spare,
            _ => Priority::Low,
        };
        (priority, rustix::process::nice(0).unwrap())
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_password_is_hashed_at_a_low_priority_that_nothing_else_has() {
        let (hashing, before) = (Hashing::default(), policy());
        let (of_work, _) = hashing.work(NETWORK, policy).await.unwrap();
        assert_eq!(of_work, Priority::Spare);
        let all = hashing.places.available_permits();
        let taken = hashing.spare.acquire_many(all as u32).await.unwrap();
        let of_work = hashing.work(NETWORK, policy).await.unwrap();
        assert_eq!(of_work, (Priority::Low, (before.1 + 10).min(19)));
        drop(taken);
        assert_eq!(policy(), before);
        let blocking = tokio::task::spawn_blocking(policy).await.unwrap();
        assert_eq!(blocking, before);
    }

    #[tokio::test]
    async fn where_others_leave_nothing_of_the_cores_a_password_is_hashed_all_the_same() {
        let hashing = Hashing {
            places: Arc::new(Semaphore::new(1)),
            spare: Arc::new(Semaphore::new(1)),
            ..Hashing::default()
        };
        let (go_on, gate) = std::sync::mpsc::channel::<()>();
        let (gate, begun) = (Mutex::new(gate), std::sync::atomic::AtomicU32::new(0));
        // The first thread gets nothing of a core until it may go on.
        let stuck = move || {
            let number = begun.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if number == 0 {
                gate.lock().unwrap().recv().unwrap();
            }
            number
        };
        assert_eq!(hashing.work(NETWORK, stuck).await.unwrap(), 1);
        // As long as it is there, nobody waits for another of its kind.
        assert_eq!(hashing.spare.available_permits(), 0);
        hashing
            .hash(NETWORK, Secret::from_text("tulip"))
            .await
            .unwrap();
        tokio::time::pause();
        tokio::time::advance(CROWDED).await;
        assert_eq!(hashing.spare.available_permits(), 0);
        tokio::time::resume();
        go_on.send(()).unwrap();
        let ended = hashing.spare.acquire();
        drop(timeout(PATIENCE * 10, ended).await.unwrap().unwrap());
    }

    #[tokio::test]
    async fn passwords_are_hashed_a_few_at_a_time_and_who_waits_too_long_is_told() {
        let hashing = Hashing::default();
        let places = hashing.places.available_permits();
        assert!((1..=4).contains(&places), "{places}");
        let all = hashing.places.acquire_many(places as u32).await.unwrap();
        // From here on the clock jumps to whatever is waited for.
        tokio::time::pause();
        let hash = || hashing.hash(NETWORK, Secret::from_text("tulip"));
        let late = hash().await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        drop(all);
        let line = hashing.line(Whose::Holder(NETWORK));
        for (room, all) in [(&line.room, LINE), (&hashing.room, LINES)] {
            let waiting = room.acquire_many(all as u32).await.unwrap();
            // Whoever is alone in a line needs no room.
            hash().await.unwrap();
            let first = hashing.first(NETWORK).await.unwrap();
            let at_once = hash().await;
            assert!(matches!(at_once, Err(Error::Unavailable(_))), "{at_once:?}");
            drop((first, waiting));
            hash().await.unwrap();
        }
    }

    #[tokio::test]
    async fn whoever_comes_from_elsewhere_waits_for_one_password_of_each_line() {
        let hashing = Hashing {
            places: Arc::new(Semaphore::new(1)),
            ..Hashing::default()
        };
        let all = hashing.places.acquire().await.unwrap();
        let served = Arc::new(Mutex::new(Vec::new()));
        let network = |last: u8| Holder::Address([192, 0, 2, last].into());
        let one = async |last: u8| {
            // Noted at the place itself: who is told of it first is a matter of the system.
            let served = Arc::clone(&served);
            let note = move || served.lock().unwrap().push(last);
            hashing.work(network(last), note).await.unwrap();
        };
        // Two come many times, and then somebody else comes once.
        let many = (0..20).map(|number| one(number % 2));
        let together = futures::future::join(futures::future::join_all(many), one(9));
        futures::future::join(together, async { drop(all) }).await;
        let served = served.lock().unwrap().clone();
        assert_eq!(served.len(), 21);
        let at = served.iter().position(|&last| last == 9).unwrap();
        assert!(at <= 3, "{served:?}");
        hashing.line(Whose::Holder(network(1)));
        assert!(hashing.lines.lock().unwrap().len() <= 1);
    }

    #[tokio::test]
    async fn whoever_is_known_waits_for_one_stranger_and_a_site_for_its_own() {
        let hashing = Hashing {
            places: Arc::new(Semaphore::new(1)),
            strangers: Arc::new(Semaphore::new(1)),
            ..Hashing::default()
        };
        let all = hashing.places.acquire().await.unwrap();
        let served = Arc::new(Mutex::new(Vec::new()));
        let one = async |holder: Holder| {
            let served = Arc::clone(&served);
            let note = move || served.lock().unwrap().push(holder);
            hashing.work(holder, note).await.unwrap();
        };
        let network = |site: u16, number: u16| {
            Holder::Address([0x2001, 0xdb8, site, number, 0, 0, 0, 1].into())
        };
        // Thirty networks of one site, thirty sites, one more of those whom nobody knows, and two who are known.
        let (known, other) = (Holder::User(uuid::Uuid::nil()), Holder::Service);
        let one_site = (0..30).map(|number| network(0, number));
        let sites = (1..=30).map(|site| network(site, 0));
        let late = network(31, 0);
        let holders = one_site.chain(sites).chain([late, known, other]);
        let together = futures::future::join_all(holders.map(one));
        futures::future::join(together, async { drop(all) }).await;
        let served = served.lock().unwrap().clone();
        assert_eq!(served.len(), 63);
        let place = |holder| served.iter().position(|&it| it == holder).unwrap();
        assert!(place(known) <= 1 && place(other) <= 2, "{served:?}");
        assert!(place(late) <= 2 + 1 + 31, "{served:?}");
        assert_eq!(place(network(0, 29)), 62);
    }
}
