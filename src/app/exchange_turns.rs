//! Turns to exchange what was presented: codes and tokens.
//!
//! 1. One code, and the tokens of one session, are handled one after another; some requests may wait for that.
//! 2. Callers who present something share [`Holder::Exchanges`] only while it is looked up. The exchange itself runs for the
//!    user, who could keep a row busy that it waits for.
//! 3. Not many of one user wait: each has a permit of those that all addresses share, for as long as the user keeps it
//!    waiting.

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

/// How many codes and tokens of one user are exchanged, or wait for that.
const OF_A_USER: usize = 64;

/// How long a request may wait for others that present the same: as long as for the database.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The turns.
pub(super) struct ExchangeTurns {
    by: Lines<Subject>,
    of_users: WeakMap<UserId, Semaphore>,
}

/// A turn, held until dropped.
pub(super) struct ExchangeTurn {
    /// The user, or [`Holder::Exchanges`] if what was presented is unknown: then there is nothing to change or wait for.
    pub(super) holder: Holder,
    /// The session, or the code or unknown token itself.
    pub(super) subject: Subject,
    _turn: Turn,
    _of_user: Option<OwnedSemaphorePermit>,
}

impl Default for ExchangeTurns {
    fn default() -> ExchangeTurns {
        ExchangeTurns {
            by: Lines::new(1, WAITING),
            of_users: WeakMap::default(),
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
        let room = |id| {
            let of_user = self.of_users.get(id, || Semaphore::new(OF_A_USER)); // step 3
            let none = |_| Error::unavailable("too many present what is of the same user");
            of_user.try_acquire_owned().map_err(none)
        };
        let of_user = user_id.map(room).transpose()?;
        let turn = timeout(TIMEOUT, self.by.turn(subject)).await; // step 1
        let none = || Error::unavailable("too many present what is of the same session");
        Ok(ExchangeTurn {
            holder: user_id.map_or(Holder::Exchanges, Holder::from), // step 2
            subject,
            _turn: turn.ok().flatten().ok_or_else(none)?,
            _of_user: of_user,
        })
    }
}
