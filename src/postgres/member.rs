//! What the members of a group say to it, and it to them ([`group`](super::group)).

use tokio::sync::{mpsc, oneshot};

use super::statements::{Rows, Sent};
use super::together::{Answer, Kept};
use crate::sql::ScriptError;

/// What a member tells its group.
pub(super) enum Event {
    /// It waits for the answers to these.
    Said(Said),
    /// Its script has come to its end.
    Ended(usize, Report),
    /// It is not there any more.
    Gone(usize),
}

/// Statements of a member.
pub(super) struct Said {
    pub(super) by: usize,
    pub(super) statements: Vec<Kept>,
    pub(super) answers: oneshot::Sender<Vec<Answer>>,
}

/// How the script of a member went.
pub(super) struct Report {
    pub(super) outcome: Outcome,
    pub(super) end: oneshot::Sender<End>,
}

/// What a script has answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Refused,
    TriesAgain,
}

/// What became of a group.
#[derive(Clone)]
pub(super) enum End {
    Committed,
    /// Nothing has happened.
    Undone,
    /// The same, and the member has shared the statement that failed with others: one of them is to blame.
    UndoneTogether,
    /// The same where there was one change: if a rule has refused it, that is its answer.
    UndoneAlone,
    /// Nobody knows, for this reason.
    InDoubt(String),
}

/// A member, which its group counts on until this is dropped.
pub(super) struct Member {
    number: usize,
    events: mpsc::UnboundedSender<Event>,
}

impl Member {
    pub(super) fn new(number: usize, events: mpsc::UnboundedSender<Event>) -> Member {
        Member { number, events }
    }

    /// Has the group run statements together with what the others say.
    ///
    /// # Errors
    /// When the group could send nothing, or its transaction did not begin.
    pub(super) async fn run(
        &self,
        sent: &[Sent<'_>],
    ) -> Result<Vec<Result<Rows, ScriptError>>, ScriptError> {
        let (answers, told) = oneshot::channel();
        let said = Said {
            by: self.number,
            statements: Kept::all(sent)?,
            answers,
        };
        // If nobody listens, nobody answers.
        let _ = self.events.send(Event::Said(said));
        // Alone it is told why.
        let none = |_| ScriptError::Retry("its group could not say it".into());
        let answers = told.await.map_err(none)?.into_iter();
        Ok(answers
            .map(|answer| answer.map_err(|failure| failure.error))
            .collect())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Gone(self.number));
    }
}
