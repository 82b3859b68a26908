//! Messages between a group and its members ([`group`](super::group)).

use tokio::sync::{mpsc, oneshot};

use super::statements::{Rows, Sent};
use super::together::{Answer, Kept};
use crate::sql::ScriptError;

/// What a member tells its group.
pub(super) enum Event {
    /// It sent statements, and waits for their answers.
    Said(Said),
    /// Its script has ended.
    Ended(usize, Report),
    /// It has gone.
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

/// How a script ended.
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
    /// The same, and the member is to blame, or it is not known who is.
    UndoneByIt,
    /// The same, and the member shared the failed statement with others: one of those is to blame.
    UndoneTogether,
    /// The same for a single change: if a rule refused it, that is its answer.
    UndoneAlone,
    /// The outcome is unknown, for this reason.
    InDoubt(String),
}

/// Whether a group was undone for the sake of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToBlame {
    No,
    /// It shared the failed statement with others.
    Perhaps,
    Yes,
}

/// A member, which its group waits for until this is dropped.
pub(super) struct Member {
    number: usize,
    events: mpsc::UnboundedSender<Event>,
}

impl Member {
    pub(super) fn new(number: usize, events: mpsc::UnboundedSender<Event>) -> Member {
        Member { number, events }
    }

    /// Has the group run statements together with those of the other members.
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
        // If the group has gone, no answer comes.
        let _ = self.events.send(Event::Said(said));
        // Alone, it learns why.
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
