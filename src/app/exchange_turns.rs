//! Turns to exchange what was presented: codes and tokens.
//!
//! 1. One code, and the tokens of one session, are handled one after another; some requests may wait for that.
//! 2. Callers who present something share [`Holder::Exchanges`] only while it is looked up. The exchange itself runs for the
//!    user, who could keep a row busy that it waits for.
//! 3. Not many of one user wait, nor of many users beyond the first few of each: each has a permit of those that all
//!    addresses share, for as long as the user keeps it waiting.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::id::UserId;
use crate::domain::subject::Subject;
use crate::lines::{Lines, Turn};
use crate::weak_map::WeakMap;

/// How many requests may wait that present the same code, or tokens of the same session. An app may have several requests
/// under way that each find they have to refresh.
const WAITING: usize = 15;

/// How many codes and tokens of one user are exchanged, or wait for that, whatever others do.
const FIRST_OF_A_USER: usize = 4;

/// How many more of one user, while there is room.
const MORE_OF_A_USER: usize = 60;

/// How many more of all users.
const MORE_OF_ALL: usize = 128;

/// How long a request may wait for others that present the same: as long as for the database.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The turns.
pub(super) struct ExchangeTurns {
    by: Lines<Subject>,
    of_users: WeakMap<UserId, OfUser>,
    more_of_all: Arc<Semaphore>,
}

/// The room of one user.
struct OfUser {
    first: Arc<Semaphore>,
    more: Arc<Semaphore>,
}

/// Room for one request, held until dropped.
struct Room {
    /// Kept while it is used.
    _of_user: Arc<OfUser>,
    _permit: OwnedSemaphorePermit,
    _of_all: Option<OwnedSemaphorePermit>,
}

/// A turn, held until dropped.
pub(super) struct ExchangeTurn {
    /// The user, or [`Holder::Exchanges`] if what was presented is unknown: then there is nothing to change or wait for.
    pub(super) holder: Holder,
    /// The session, or the code or unknown token itself.
    pub(super) subject: Subject,
    _turn: Turn,
    _room: Option<Room>,
}

impl Default for ExchangeTurns {
    fn default() -> ExchangeTurns {
        ExchangeTurns {
            by: Lines::new(1, WAITING),
            of_users: WeakMap::default(),
            more_of_all: Arc::new(Semaphore::new(MORE_OF_ALL)),
        }
    }
}

impl ExchangeTurns {
    /// Waits for the turn of `subject`, which is of that user, if it is known.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when too many wait, or for too long.
    pub(super) async fn next(
        &self,
        subject: Subject,
        user_id: Option<UserId>,
    ) -> Result<ExchangeTurn, Error> {
        let none = || Error::unavailable("too many present what is of the same user");
        let room = user_id
            .map(|id| self.room(id).ok_or_else(none))
            .transpose()?; // step 3
        let turn = timeout(TIMEOUT, self.by.turn(subject)).await; // step 1
        let none = || Error::unavailable("too many present what is of the same session");
        Ok(ExchangeTurn {
            holder: user_id.map_or(Holder::Exchanges, Holder::from), // step 2
            subject,
            _turn: turn.ok().flatten().ok_or_else(none)?,
            _room: room,
        })
    }

    /// Step 3.
    fn room(&self, user_id: UserId) -> Option<Room> {
        let of_user = self.of_users.get(user_id, || OfUser {
            first: Arc::new(Semaphore::new(FIRST_OF_A_USER)),
            more: Arc::new(Semaphore::new(MORE_OF_A_USER)),
        });
        let take = |room: &Arc<Semaphore>| Arc::clone(room).try_acquire_owned().ok();
        let (permit, of_all) = match take(&of_user.first) {
            Some(first) => (first, None),
            None => (take(&of_user.more)?, Some(take(&self.more_of_all)?)),
        };
        Some(Room {
            _of_user: of_user,
            _permit: permit,
            _of_all: of_all,
        })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_has_room_for_64_and_each_for_four_when_others_have_all_that_is_left() {
        let turns = ExchangeTurns::default();
        let room = |id| turns.room(UserId(Uuid::from_u128(id)));
        let mut rooms: Vec<_> = (0..64).map(|_| room(1)).collect();
        assert!(rooms.iter().all(Option::is_some));
        assert!(room(1).is_none());
        rooms.extend((0..128).map(|number| room(2 + number / 64)));
        assert_eq!(rooms.iter().flatten().count(), 64 + 64 + 12);
        rooms.extend((0..4).map(|_| room(4)));
        assert_eq!(rooms.iter().flatten().count(), 64 + 64 + 12 + 4);
        assert!(room(4).is_none());
        rooms.clear();
        assert!(room(1).is_some());
    }
}
