//! Limits how many callers wait for the provider at once.
//!
//! A provider may take seconds for an answer, and a caller that waits for it holds a request of ours. So few wait at once, and
//! none keeps strangers from anything else that they may do. When there is no room left, one of the block or site that has most
//! of it is [sent away](crate::fair_room) for one of another. Browsers to which a user of this service came back with a good code
//! before have a room of their own, which nobody fills who has never been a user here. Once that user has brought too many
//! [codes](super::codes), such a browser is a stranger like any other: somebody else may have a copy of
//! its cookie, or may have been the last to sign in there.

use std::net::IpAddr;
use std::sync::Arc;

use super::codes::{Code, Codes};
use super::error::Error;
use crate::client_address::surroundings;
use crate::domain::id::UserId;
use crate::fair_room::{FairRoom, Place};

/// How many strangers wait at once at most, and how many in returning browsers, however many requests there may be.
const AT_MOST: usize = 64;

/// The callers that wait.
#[derive(Debug)]
pub(super) struct Turns {
    room: Arc<FairRoom>,
    room_for_returning: Arc<FairRoom>,
    codes: Codes,
}

impl Turns {
    /// Strangers have a quarter of all requests. A quarter of that is for those who wait for the provider, and as much again
    /// for returning browsers.
    pub(super) fn new(max_concurrent_requests: u32) -> Turns {
        let part = usize::try_from(max_concurrent_requests / 16).unwrap_or(AT_MOST);
        Turns {
            room: Arc::new(FairRoom::new(part.clamp(1, AT_MOST))),
            room_for_returning: Arc::new(FairRoom::new(part.clamp(1, AT_MOST))),
            codes: Codes::default(),
        }
    }

    /// Takes a turn for a caller at this address who brings a code, in a browser to which this user came back before, if any
    /// did. `None` if there is no room, or that user, and also strangers there, have brought too many.
    pub(super) fn take_with_code(
        &self,
        address: IpAddr,
        returning: Option<UserId>,
    ) -> Option<Turn<'_>> {
        let site = surroundings(address);
        if let Some(code) = returning.and_then(|user_id| self.codes.of_returning(user_id))
            && let Ok(place) = self.room_for_returning.enter(site)
        {
            return Some(Turn {
                place,
                code: Some(code),
            });
        }
        let code = self.codes.of_stranger(address)?;
        Some(Turn {
            place: self.room.enter(site).ok()?,
            code: Some(code),
        })
    }

    /// Takes a turn for a caller at this address; `None` if there is no room.
    pub(super) fn take(&self, address: IpAddr) -> Option<Turn<'_>> {
        Some(Turn {
            place: self.room.enter(surroundings(address)).ok()?,
            code: None,
        })
    }
}

/// A caller's turn to wait, until dropped.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    place: Place,
    code: Option<Code<'t>>,
}

impl Turn<'_> {
    /// Waits for the provider.
    ///
    /// # Errors
    /// [`Error::SentAway`] when somebody else got the turn meanwhile; those of `wait`.
    pub(super) async fn wait<T>(
        &mut self,
        wait: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let waited = self.place.wait(wait).await;
        waited.unwrap_or(Err(Error::SentAway))
    }

    /// Waits for what the provider answers to the code, which counts from then on.
    ///
    /// # Errors
    /// As for [`wait`](Turn::wait).
    pub(super) async fn send<T>(
        &mut self,
        exchange: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let code = self.code.as_mut();
        let sent = self.place.wait(async {
            if let Some(code) = code {
                code.note_sent();
            }
            exchange.await
        });
        sent.await.unwrap_or(Err(Error::SentAway))
    }

    /// Notes that a good ID token came for it, for this subject.
    pub(super) fn note_account(&mut self, subject: &str) {
        if let Some(code) = &mut self.code {
            code.note_account(subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt;
    use uuid::Uuid;

    use super::super::codes::OF_NETWORK;
    use super::*;

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    fn take<'t>(turns: &'t Turns, address: &str) -> Option<Turn<'t>> {
        turns.take(address.parse().unwrap())
    }

    /// A person may have a few sites.
    #[test]
    fn those_of_a_site_that_fill_the_room_leave_for_another_and_find_none() {
        let turns = Turns::new(32);
        let mut many = [take(&turns, "192.0.2.1"), take(&turns, "192.0.2.2")].map(Option::unwrap);
        assert!(turns.take_with_code([192, 0, 2, 3].into(), None).is_none());
        assert_eq!(turns.codes.of_network([192, 0, 2, 3].into()), 0);
        let _other = take(&turns, "192.0.3.1").unwrap();
        let stay = many.each_mut().map(|turn| {
            let waits = turn.wait(pending::<Result<(), Error>>()).now_or_never();
            waits.is_none()
        });
        assert_eq!(stay, [true, false]);
    }

    #[test]
    fn returning_browsers_have_a_room_of_their_own_and_what_is_left_of_the_other() {
        let turns = Turns::new(32);
        let ada = Some(user(1));
        let with_code = |whose| turns.take_with_code([198, 51, 100, 1].into(), whose);
        let mut many = ["192.0.2.1", "192.96.2.2"].map(|it| take(&turns, it));
        assert!(with_code(None).is_none());
        let _two = [(); 2].map(|()| with_code(ada).unwrap());
        assert!(with_code(ada).is_none());
        many[0].take();
        assert!(with_code(ada).is_some());
    }

    #[test]
    fn a_returning_browser_brings_codes_for_its_user_and_not_for_its_network() {
        let turns = Turns::new(4_096);
        let [ada, ben] = [1, 2].map(|it| Some(user(it)));
        let with_code = |whose| turns.take_with_code([192, 0, 2, 1].into(), whose);
        for _ in 0..OF_NETWORK {
            with_code(None)
                .unwrap()
                .send(ready(Err::<(), _>(Error::Busy)))
                .now_or_never();
            with_code(ada)
                .unwrap()
                .send(ready(Err::<(), _>(Error::Busy)))
                .now_or_never();
        }
        assert!(with_code(None).is_none() && with_code(ada).is_none());
        drop(with_code(ben).unwrap());
        // Other networks of the site have what its strangers have left.
        assert!(turns.take_with_code([192, 0, 2, 2].into(), None).is_some());
    }

    /// Somebody else has used them up, with a copy of its cookie.
    #[test]
    fn a_returning_browser_whose_user_has_no_codes_left_is_a_stranger_at_its_network() {
        let turns = Turns::new(4_096);
        let with_code = |site| turns.take_with_code([192, 0, site, 1].into(), Some(user(1)));
        for _ in 0..2 * OF_NETWORK {
            with_code(2)
                .unwrap()
                .send(ready(Err::<(), _>(Error::Busy)))
                .now_or_never();
        }
        assert!(with_code(2).is_none());
        drop(with_code(3).unwrap());
        assert_eq!(turns.codes.of_network([192, 0, 3, 1].into()), 0);
    }

    #[test]
    fn all_strangers_together_have_a_sixteenth_of_the_requests_and_at_most_64() {
        for (requests, at_once) in [(1, 1), (16, 1), (32, 2), (160, 10), (4_096, 64)] {
            let turns = Turns::new(requests);
            let taken: Vec<_> = (0..100)
                .map_while(|number| take(&turns, &format!("192.0.2.{number}")))
                .collect();
            assert_eq!(taken.len(), at_once, "of {requests}");
        }
    }
}
