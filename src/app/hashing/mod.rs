//! Passwords are hashed: Argon2id, with the parameters that OWASP recommends, which are the crate's own (19 MiB, two
//! passes).
//!
//! That is work for tens of milliseconds, so it is done where no request waits for the thread ([`threads`]), and by few
//! threads at once: whoever wants a password to be looked at waits for a place ([`lines`]), and those who ask for the interface
//! itself do not notice.
//!
//! Whoever has ten addresses may have as many passwords compared as a core compares. So there is an order:
//!
//! 1. Those of one network, or one user, stand in a line of their own, and only the first of each goes on: whoever comes from
//!    elsewhere waits for one password of each line, not for all of them.
//! 2. Of strangers, the first of the lines of one site stand in one more line, since who has a network often has all of them.
//! 3. Strangers wait for each other first, and so do those who are known, by a session, by the cookie of a device or by a
//!    link; and then as many of either for a place as there are places. So whoever is next of the ones waits for one of the
//!    others, however many there are.
//! 4. Of those who are known, the next is whoever had the fewest passwords looked at of late ([`ranked`]): somebody may have
//!    hundreds of accounts.

mod argon2id;
mod lines;
mod ranked;
mod threads;

use std::sync::Arc;

use argon2::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use tokio::sync::Semaphore;

use self::argon2id::Argon2id;
use self::lines::Lines;
pub(super) use self::lines::Place;
use self::threads::Threads;
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::secret::Secret;

/// The places at which passwords are hashed, and the lines before them.
#[derive(Debug)]
pub(super) struct Hashing {
    lines: Lines,
    places: Arc<Semaphore>,
    threads: Arc<Threads>,
}

impl Default for Hashing {
    fn default() -> Hashing {
        Hashing::at(threads::places())
    }
}

impl Hashing {
    /// With so many places.
    fn at(places: usize) -> Hashing {
        Hashing {
            lines: Lines::before(places),
            places: Arc::new(Semaphore::new(places)),
            threads: Arc::new(Threads::of(places)),
        }
    }

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
        let place = self.place(holder).await?;
        self.work_at(place, work).await
    }

    /// Waits in the lines of `holder`, and then for a place.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a line is too long, or it takes too long.
    pub(super) async fn place(&self, holder: Holder) -> Result<Place, Error> {
        let first = self.lines.first(holder).await?;
        first.served(&self.places).await
    }

    /// Whether a password is the one of that hash. It takes as long where there is no hash.
    ///
    /// # Errors
    /// [`Error::Internal`].
    pub(super) async fn verify(
        &self,
        place: Place,
        password: Secret,
        known: Option<Secret>,
    ) -> Result<bool, Error> {
        let verify = move || match &known {
            Some(known) => {
                let known = PasswordHash::new(known.reveal());
                let known = known.map_err(|error| Error::internal(error.to_string()))?;
                let verified = Argon2id.verify_password(password.reveal().as_bytes(), &known);
                Ok(verified.is_ok())
            }
            None => hash(&password).map(|_| false),
        };
        self.work_at(place, verify).await?
    }

    async fn work_at<T: Send + 'static>(
        &self,
        place: Place,
        work: impl Fn() -> T + Send + Sync + 'static,
    ) -> Result<T, Error> {
        let threads = Arc::clone(&self.threads);
        // A task of its own: who asked for it may give up, and the place is taken until it is done.
        let task = tokio::spawn(async move {
            let result = threads.carry_out(work).await;
            // Whoever has the result finds it free.
            drop(place);
            result
        });
        task.await.map_err(Error::internal)?
    }
}

fn hash(password: &Secret) -> Result<Secret, Error> {
    let hash = Argon2id.hash(password.reveal().as_bytes());
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
            let password = Secret::from_text("tulip");
            hashing.hash(NETWORK, password).await.unwrap()
        };
        let (one, two) = (hash().await, hash().await);
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(one.reveal().starts_with(parameters), "{}", one.reveal());
        assert_ne!(one, two);
        let verify = async |text: &str, known: Option<&Secret>| {
            let place = hashing.place(NETWORK).await.unwrap();
            let verified = hashing.verify(place, Secret::from_text(text), known.cloned());
            verified.await.unwrap()
        };
        assert!(verify("tulip", Some(&one)).await);
        assert!(!verify("Tulip", Some(&one)).await);
        assert!(!verify("tulip", None).await);
    }

    #[tokio::test]
    async fn passwords_are_hashed_a_few_at_a_time() {
        let hashing = Hashing::default();
        let places = hashing.places.available_permits();
        assert!((1..=4).contains(&places), "{places}");
        let all = hashing.places.acquire_many(places as u32).await.unwrap();
        // The clock jumps to whatever is waited for.
        tokio::time::pause();
        let late = hashing.hash(NETWORK, Secret::from_text("tulip")).await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        drop(all);
        hashing
            .hash(NETWORK, Secret::from_text("tulip"))
            .await
            .unwrap();
    }
}
