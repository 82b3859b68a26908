//! Password hashing: Argon2id, with the parameters that OWASP recommends, which are the crate's own (19 MiB, two passes).
//!
//! A hash takes tens of milliseconds, so it runs off the threads that serve requests ([`threads`]), and on few threads at
//! once: a caller who needs one waits for a place ([`lines`]), and API requests do not notice.
//!
//! One person with ten addresses can send as many passwords as a core can compare. So there is an order:
//!
//! 1. Of strangers, each network has its own queue, and only the first in each goes on: a caller from elsewhere waits for one
//!    password of each queue, not for all of them.
//! 2. The first strangers in the queues of one site form one more queue, since the owner of a network often has the whole
//!    site; and so do the first of the sites of a block, of whom as many go on as there are places.
//! 3. Known holders, who are known by a session, a device cookie or a link (also to join), wait in the order in which
//!    they came, but with handicaps ([`crate::ranked`]): for each password that was recently hashed for the user, for the
//!    credential, for the site and for the team, and for a new credential. So somebody with hundreds of accounts, or a
//!    thief who is signed in as others are, waits for all who have seldom signed in. If too many wait, the last leaves.
//!    Whoever follows a link to set a new password counts as a user of their own: a thief may be signed in as that user.
//!
//!    Anybody may have many accounts and many addresses, but only the operator makes teams. Of a user's teams only the
//!    oldest counts, and users of none count together: accounts in three teams are counted in three places, or four.
//! 4. As many of either kind as there are places wait for a place. So the next caller of one kind waits for one of the other
//!    kind, however many of those there are.

mod argon2id;
mod caller;
mod lines;
mod threads;

use std::sync::Arc;

use argon2::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;

use self::argon2id::Argon2id;
pub(super) use self::caller::Caller;
pub(super) use self::lines::Place;
use self::lines::{LINES, Lines};
use self::threads::Threads;
use crate::domain::Error;
use crate::domain::secret::Secret;

/// The places at which passwords are hashed, and the queues for them.
#[derive(Debug)]
pub(super) struct Hashing {
    lines: Lines,
    threads: Arc<Threads>,
}

impl Default for Hashing {
    fn default() -> Hashing {
        Hashing::at(threads::places(), LINES)
    }
}

impl Hashing {
    /// For a server that works on so many requests at once. All strangers may have a quarter of these, so those who wait here, and
    /// for the OpenID provider, leave some of that.
    pub(super) fn among(requests: u32) -> Hashing {
        let part = usize::try_from(requests / 16).unwrap_or(LINES);
        Hashing::at(threads::places(), part.clamp(1, LINES))
    }

    /// With this many places, and room for so many lines.
    fn at(places: usize, lines: usize) -> Hashing {
        Hashing {
            lines: Lines::before(places, lines),
            threads: Arc::new(Threads::of(places)),
        }
    }

    /// Hashes the password that `judge` returns, for `caller`, as a PHC string with its own salt. Judging a password takes
    /// milliseconds, so it is done in the same place.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no place is free in time; any error of `judge`.
    pub(super) async fn hash(
        &self,
        caller: Caller,
        judge: impl Fn() -> Result<Secret, Error> + Send + Sync + 'static,
    ) -> Result<Secret, Error> {
        let place = self.place(caller).await?;
        self.work_at(place, move || hash(&judge()?)).await?
    }

    /// Waits in the queues of `caller`, and then for a place.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when a queue is full, or the wait takes too long.
    pub(super) async fn place(&self, caller: Caller) -> Result<Place, Error> {
        self.lines.place(caller).await
    }

    /// Whether a password matches the hash. Takes just as long if there is no hash.
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
        // Its own task: the caller may give up, but the place stays taken until the work is done.
        let task = tokio::spawn(async move {
            let result = threads.carry_out(work).await;
            // Before the caller gets the result, so that it finds the place free.
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
    use futures::FutureExt;
    use tokio::task::unconstrained;

    use super::*;
    use crate::domain::holder::Holder;

    const NETWORK: Holder = Holder::Address(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_salted() {
        let hashing = Hashing::default();
        let hash = async || {
            let password = Secret::from_text("tulip");
            hashing
                .hash(NETWORK.into(), move || Ok(password.clone()))
                .await
                .unwrap()
        };
        let (one, two) = (hash().await, hash().await);
        let parameters = "$argon2id$v=19$m=19456,t=2,p=1$";
        assert!(one.reveal().starts_with(parameters), "{}", one.reveal());
        assert_ne!(one, two);
        let verify = async |text: &str, known: Option<&Secret>| {
            let place = hashing.place(NETWORK.into()).await.unwrap();
            let verified = hashing.verify(place, Secret::from_text(text), known.cloned());
            verified.await.unwrap()
        };
        assert!(verify("tulip", Some(&one)).await);
        assert!(!verify("Tulip", Some(&one)).await);
        assert!(!verify("tulip", None).await);
    }

    /// At the default of `max_concurrent_requests`, and below it.
    #[tokio::test]
    async fn the_first_of_all_networks_leave_most_of_what_all_strangers_have() {
        for (requests, most) in [(4_096, LINES), (1_024, 64), (16, 1), (1, 1)] {
            let lines = Hashing::among(requests).lines;
            let all = lines.places.available_permits() as u32;
            let _places = lines.places.acquire_many(all).await.unwrap();
            let mut waiting = Vec::new();
            for site in 0..=255 {
                let network = Holder::Address([192, 0, site, 1].into());
                let mut waits = lines.place(network.into()).boxed_local();
                match (&mut waits).now_or_never() {
                    None => waiting.push(waits),
                    Some(told) => assert!(matches!(told, Err(Error::Unavailable(_)))),
                }
            }
            // Those of one block have left for those of others.
            waiting.retain_mut(|waits| unconstrained(waits).now_or_never().is_none());
            assert_eq!(waiting.len(), most, "{requests}");
        }
    }

    #[tokio::test]
    async fn passwords_are_hashed_a_few_at_a_time() {
        let hashing = Hashing::default();
        let places = hashing.lines.places.available_permits();
        assert!((1..=4).contains(&places), "{places}");
        let all = hashing
            .lines
            .places
            .acquire_many(places as u32)
            .await
            .unwrap();
        // The paused clock jumps to the next timer.
        tokio::time::pause();
        let late = hashing
            .hash(NETWORK.into(), || Ok(Secret::from_text("tulip")))
            .await;
        assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
        drop(all);
        hashing
            .hash(NETWORK.into(), || Ok(Secret::from_text("tulip")))
            .await
            .unwrap();
    }
}
