//! Passwords are hashed: Argon2id, with the parameters that OWASP recommends, which are the crate's own (19 MiB, two
//! passes).
//!
//! That is work for tens of milliseconds, so it is done where no request waits for the thread, and by few threads at once:
//! whoever wants a password to be looked at waits for a place, and those who ask for the interface itself do not notice.

use std::sync::Arc;
use std::thread::{self, available_parallelism};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::domain::Error;
use crate::domain::secret::Secret;

/// For how long somebody waits for a place.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// For each place so many may wait: more than that would not be served in time.
const LINE: usize = 64;

/// The places at which passwords are hashed, and the line before them.
#[derive(Debug)]
pub(super) struct Hashing {
    places: Arc<Semaphore>,
    line: Semaphore,
}

impl Default for Hashing {
    fn default() -> Hashing {
        let cores = available_parallelism().map_or(1, usize::from);
        let places = (cores / 2).clamp(1, 4);
        Hashing {
            places: Arc::new(Semaphore::new(places)),
            line: Semaphore::new(places * LINE),
        }
    }
}

impl Hashing {
    /// The hash of a password, as a PHC string with a salt of its own.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no place is free in time.
    pub(super) async fn hash(&self, password: Secret) -> Result<Secret, Error> {
        self.work(move || hash(&password)).await?
    }

    /// Whether a password is the one of that hash. It takes as long where there is no hash.
    ///
    /// # Errors
    /// As of [`hash`](Hashing::hash).
    pub(super) async fn verify(
        &self,
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

    /// What `work` gives, done at one of the places.
    ///
    /// # Errors
    /// As of [`hash`](Hashing::hash).
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let _in_line = self.line.try_acquire().map_err(Error::unavailable)?;
        let place = timeout(QUEUE_TIMEOUT, Arc::clone(&self.places).acquire_owned()).await;
        let place = place
            .map_err(Error::unavailable)?
            .map_err(Error::internal)?;
        let (done, result) = oneshot::channel();
        // A thread of its own, since none gets back the priority that it has given away.
        let thread = thread::Builder::new().name("password".to_owned());
        let thread = thread.spawn(move || {
            // Kept by the work itself: who asked for it may have given up.
            let _place = place;
            let_others_go_first();
            // Nobody may be there to take it.
            _ = done.send(work());
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

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_salted() {
        let hashing = Hashing::default();
        let hash = async || hashing.hash(Secret::from_text("tulip")).await.unwrap();
        let (one, two) = (hash().await, hash().await);
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(one.reveal().starts_with(parameters), "{}", one.reveal());
        assert_ne!(one, two);
        let verify = async |text: &str| {
            let (password, known) = (Secret::from_text(text), Some(one.clone()));
            hashing.verify(password, known).await.unwrap()
        };
        assert!(verify("tulip").await);
        assert!(!verify("Tulip").await);
        let nobody = hashing.verify(Secret::from_text("tulip"), None).await;
        assert!(!nobody.unwrap());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_password_is_hashed_at_a_low_priority_that_nothing_else_has() {
        let own = || rustix::process::nice(0).unwrap();
        let before = own();
        let of_work = Hashing::default().work(own).await.unwrap();
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
        let late = hashing.hash(Secret::from_text("tulip")).await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        let waiting = hashing
            .line
            .acquire_many((places * LINE) as u32)
            .await
            .unwrap();
        drop(all);
        let at_once = hashing.hash(Secret::from_text("tulip")).await;
        assert!(matches!(at_once, Err(Error::Unavailable(_))), "{at_once:?}");
        drop(waiting);
        hashing.hash(Secret::from_text("tulip")).await.unwrap();
    }
}
