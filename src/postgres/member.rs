//! What the members of a group say to it, and it to them ([`group`](super::group)).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::statements::{Rows, Sent};
use super::together::{Answer, Kept};
use crate::domain::subject::Subject;
use crate::sql::ScriptError;

/// What the members of a group have in common.
pub(super) struct Shared {
    pub(super) events: mpsc::UnboundedSender<Event>,
    held: Mutex<HashMap<Subject, Hold>>,
}

/// One member that has asked about a subject.
struct Hold {
    by: usize,
    /// Whether others have not asked because of it.
    is_relied_on: bool,
}

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
    /// Whether others rely on what it was told, though it was refused.
    pub(super) is_relied_on: bool,
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
    /// The same where there was one change: if a rule has refused it, that is its answer.
    UndoneAlone,
    /// Nobody knows, for this reason.
    InDoubt(String),
}

/// A member, which its group counts on until this is dropped.
pub(super) struct Member {
    pub(super) number: usize,
    pub(super) shared: Arc<Shared>,
}

impl Shared {
    pub(super) fn new(events: mpsc::UnboundedSender<Event>) -> Shared {
        Shared {
            events,
            held: Mutex::default(),
        }
    }

    /// Whether another than this member holds `subject`. If none does, this one does from now on.
    fn is_held_by_another(&self, subject: Subject, than: usize) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let hold = held.entry(subject).or_insert(Hold {
            by: than,
            is_relied_on: false,
        });
        let is_held = hold.by != than;
        hold.is_relied_on |= is_held;
        is_held
    }

    /// A member that was refused holds nothing: who comes now asks again. Whether somebody has not asked because of it comes
    /// back.
    pub(super) fn let_go(&self, by: usize) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let its = held.extract_if(|_, hold| hold.by == by);
        its.fold(false, |any, (_, hold)| any | hold.is_relied_on)
    }
}

impl Member {
    /// Whether another has asked about `subject`. Where none has, this one does it for all.
    pub(super) fn is_held_by_another(&self, subject: Subject) -> bool {
        self.shared.is_held_by_another(subject, self.number)
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
        let _ = self.shared.events.send(Event::Said(said));
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
        let _ = self.shared.events.send(Event::Gone(self.number));
    }
}
