//! The place of one change in its group, from its first statement to the end of the group.

use tokio::sync::{mpsc, oneshot};

use super::error::is_locked;
use super::handle::Handle;
use super::member::{End, Event, Member, Outcome, Report, ToBlame};
use crate::domain::Error;
use crate::sql::ScriptError;
use crate::turns::Turn;

/// The place of one change in its group.
pub struct Seat {
    handle: Handle,
    number: usize,
    events: mpsc::UnboundedSender<Event>,
    _turn: Turn,
}

impl Seat {
    pub(super) fn new(number: usize, events: &mpsc::UnboundedSender<Event>, turn: Turn) -> Seat {
        Seat {
            handle: Handle::within(Member::new(number, events.clone())),
            number,
            events: events.clone(),
            _turn: turn,
        }
    }

    /// The handle with which the script of this change runs its statements.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Reports how the script ended, and waits for the end of the group. Also returns whether the group was undone for the sake
    /// of this change.
    ///
    /// # Errors
    /// The error of the script; [`ScriptError::Retry`] when the group was undone; [`ScriptError::Final`] when the outcome is
    /// unknown.
    pub(crate) async fn end<T>(
        self,
        result: Result<T, ScriptError>,
    ) -> (Result<T, ScriptError>, ToBlame) {
        let outcome = match &result {
            Ok(_) => Outcome::Done,
            Err(ScriptError::Final(_)) => Outcome::Refused,
            Err(ScriptError::Retry(_)) => Outcome::TriesAgain,
        };
        let (end, its) = oneshot::channel();
        let report = Report { outcome, end };
        // If the group has gone, no answer comes.
        let _ = self.events.send(Event::Ended(self.number, report));
        let end = its.await;
        let to_blame = match end {
            Ok(End::UndoneByIt | End::UndoneAlone) => ToBlame::Yes,
            Ok(End::UndoneTogether) => ToBlame::Perhaps,
            _ => ToBlame::No,
        };
        let answer = match (end, result) {
            (Ok(End::Committed), result) => result,
            // A change that met a lock waits for it longer, alone.
            (
                Ok(End::Undone | End::UndoneByIt | End::UndoneTogether | End::UndoneAlone),
                Err(ScriptError::Final(Error::Unavailable(cause))),
            ) if is_locked(&cause) => Err(ScriptError::Retry(cause)),
            (Ok(End::UndoneAlone), Err(ScriptError::Final(error)))
                if !matches!(error, Error::Unavailable(_)) =>
            {
                Err(ScriptError::Final(error))
            }
            (
                Ok(End::Undone | End::UndoneByIt | End::UndoneTogether | End::UndoneAlone),
                result,
            ) => match result {
                Err(retry @ ScriptError::Retry(_)) => Err(retry),
                _ => Err(ScriptError::Retry("its group was undone".into())),
            },
            (Ok(End::InDoubt(cause)), _) => Err(ScriptError::Final(Error::unavailable(cause))),
            (Err(_), _) => Err(ScriptError::Final(Error::unavailable(
                "its group had no end in time",
            ))),
        };
        (answer, to_blame)
    }
}
