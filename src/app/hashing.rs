//! Passwords are hashed: Argon2id, with the parameters that OWASP recommends, which are the crate's own (19 MiB, two
//! passes).
//!
//! That is work for tens of milliseconds, so it is done where no request waits for the thread, and by few threads at once:
//! whoever wants a password to be looked at waits for a place, and those who ask for the interface itself do not notice.
//!
//! Whoever has ten addresses may have as many passwords compared as a core compares. So those of one network, or one user,
//! stand in a line of their own, and only the first of each line waits for a place: the next place goes to another line, and
//! whoever comes from elsewhere waits for one password of each, not for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::secret::Secret;

/// For how long somebody waits for a place.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// So many of a line may wait: more than that would not be served in time.
const LINE: usize = 32;

/// So many of all lines may wait. Beyond that, each line has one: who waits has one of the requests that are worked on, of
/// which those who ask for tokens want some, too.
const LINES: usize = 256;

/// The places at which passwords are hashed, and the lines before them.
#[derive(Debug)]
pub(super) struct Hashing {
    places: Arc<Semaphore>,
    room: Semaphore,
    /// As long as somebody stands in it.
    lines: Mutex<HashMap<Holder, Weak<Line>>>,
}

/// Those of one network, or one user.
#[derive(Debug)]
struct Line {
    /// Who has it is the first.
    first: Arc<Semaphore>,
    room: Semaphore,
}

/// Somebody who is the first of a line, until this is dropped or the work is done.
pub(super) struct First {
    places: Arc<Semaphore>,
    /// It is there as long as somebody stands in it.
    _line: Arc<Line>,
    first: OwnedSemaphorePermit,
    /// Until when there has to be a place.
    deadline: Instant,
}

impl Default for Hashing {
    fn default() -> Hashing {
        let cores = available_parallelism().map_or(1, usize::from);
        let places = (cores / 2).clamp(1, 4);
        Hashing {
            places: Arc::new(Semaphore::new(places)),
            room: Semaphore::new(LINES),
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
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.first(holder).await?.work(work).await
    }

    /// Waits in the line of `holder`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it is too long, or takes too long.
    pub(super) async fn first(&self, holder: Holder) -> Result<First, Error> {
        let deadline = Instant::now() + QUEUE_TIMEOUT;
        let line = self.line(holder);
        let first = match Arc::clone(&line.first).try_acquire_owned() {
            Ok(first) => first,
            Err(_) => {
                let _rooms = (
                    line.room.try_acquire().map_err(Error::unavailable)?,
                    self.room.try_acquire().map_err(Error::unavailable)?,
                );
                let first = Arc::clone(&line.first).acquire_owned();
                let first = timeout_at(deadline, first).await;
                first
                    .map_err(Error::unavailable)?
                    .map_err(Error::internal)?
            }
        };
        Ok(First {
            places: Arc::clone(&self.places),
            _line: line,
            first,
            deadline,
        })
    }

    /// The line of `holder`.
    fn line(&self, holder: Holder) -> Arc<Line> {
        // Nothing panics while it is locked.
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&holder).and_then(Weak::upgrade) {
            return line;
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Line::new());
        lines.insert(holder, Arc::downgrade(&line));
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
        let verify = move || match known {
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

    /// What `work` gives, done at the next place: those who are first are served as they came.
    async fn work<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let place = Arc::clone(&self.places).acquire_owned();
        let place = timeout_at(self.deadline, place).await;
        let place = place
            .map_err(Error::unavailable)?
            .map_err(Error::internal)?;
        // Kept by the work itself: who asked for it may have given up.
        let kept = (place, self.first);
        let (done, result) = oneshot::channel();
        // A thread of its own, since none gets back the priority that it has given away.
        let thread = thread::Builder::new().name("password".to_owned());
        let thread = thread.spawn(move || {
            let_others_go_first();
            let result = work();
            // Whoever has the result finds it free.
            drop(kept);
            // Nobody may be there to take it.
            _ = done.send(result);
        });
        thread.map_err(Error::unavailable)?;
        result.await.map_err(Error::internal)
    }
}

/// Gives this thread a low priority. Otherwise a request that comes while it hashes waits until the system takes the core away
/// from it, some milliseconds. Not the lowest: beside requests without end, a tenth of a core is left for passwords.
fn let_others_go_first() {
    // Elsewhere it would be that of the whole process.
    // Where it may not be changed, the hash is as good.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
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
    #[tokio::test]
    async fn a_password_is_hashed_at_a_low_priority_that_nothing_else_has() {
        let own = || rustix::process::nice(0).unwrap();
        let before = own();
        let of_work = Hashing::default().work(NETWORK, own).await.unwrap();
        assert_eq!(of_work, (before + 10).min(19));
        assert_eq!(own(), before);
        let blocking = tokio::task::spawn_blocking(own).await.unwrap();
        assert_eq!(blocking, before);
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
        let line = hashing.line(NETWORK);
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
        hashing.line(network(1));
        assert!(hashing.lines.lock().unwrap().len() <= 1);
    }
}
