//! One group of changes, in one transaction: steps 3 to 5 of [`groups`](super::groups).
//!
//! The group holds the connection. Once each member has sent statements, ended, or gone, the group runs all that they sent
//! together: a member waits for nothing but answers.

use std::sync::Arc;

use futures::future::join;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::checkout::{Checkout, DEADLINE};
use super::counts::Counts;
use super::error::at_commit;
use super::handle::Access;
use super::member::{End, Event, Outcome, Report, Said};
use super::seat::Seat;
use super::slow::Slow;
use super::together::{self, Answer, Kept};
use super::transaction::{BEGIN_OF_GROUP, BEGIN_OF_SEVERAL, COMMIT, ROLLBACK};
use crate::causes::causes;
use crate::domain::holder::Holder;
use crate::sql::ScriptError;
use crate::turns::Turn;

/// A transaction, and the progress of its members.
pub(super) struct Group {
    checkout: Checkout,
    events: mpsc::UnboundedReceiver<Event>,
    sender: mpsc::UnboundedSender<Event>,
    members: Vec<Progress>,
    slow: Arc<Slow>,
    holders: Vec<Holder>,
    /// How the start of the transaction went, or why it failed.
    begun: Option<Result<(), String>>,
    /// Whether another connection may do what this one could not.
    is_spent: bool,
}

/// The progress of one member.
#[derive(Default)]
struct Progress {
    is_gone: bool,
    report: Option<Report>,
    /// Whether one of its statements was run.
    has_said: bool,
    /// Whether one was answered without an error.
    was_answered: bool,
    has_written: bool,
    has_failed: bool,
    /// Whether its failure was the first of the transaction, and would have happened through any connection.
    has_broken: bool,
    /// The same for a statement that others shared with other values, any of which may be what failed.
    has_broken_together: bool,
}

impl Group {
    /// A group on this connection, for these holders. Its transaction begins with the first statements of its members.
    pub(super) fn new(checkout: Checkout, slow: Arc<Slow>, holders: Vec<Holder>) -> Group {
        let (sender, events) = mpsc::unbounded_channel();
        Group {
            checkout,
            events,
            sender,
            members: Vec::new(),
            slow,
            holders,
            begun: None,
            is_spent: false,
        }
    }

    /// Adds a member, and returns its seat.
    pub(super) fn seat(&mut self, turn: Turn) -> Seat {
        self.members.push(Progress::default());
        Seat::new(self.members.len() - 1, &self.sender, turn)
    }

    /// Runs what the members send until all have ended, then commits or rolls back. Returns for each whether it is to blame
    /// for a rollback.
    pub(super) async fn end(mut self, counts: &Counts) -> Vec<bool> {
        // After that, none of its members has time left.
        let deadline = Instant::now() + DEADLINE;
        let end = timeout_at(deadline, self.run()).await;
        let end =
            end.unwrap_or_else(|_| End::InDoubt("the database did not answer in time".into()));
        let Group {
            checkout, members, ..
        } = self;
        // Back to the pool, before the members that go alone now need a connection.
        drop(checkout);
        match end {
            End::Committed => counts.groups.note(members.len() as u64),
            End::Undone => counts.undone_groups.one(),
            End::UndoneByIt | End::UndoneTogether | End::UndoneAlone | End::InDoubt(_) => {}
        }
        // Otherwise any of them may be the reason, and is once more.
        let is_known = members
            .iter()
            .any(|it| it.is_to_blame() || it.has_broken_together);
        let tell = |member: Progress| {
            let is_to_blame = member.is_to_blame() && !matches!(end, End::UndoneAlone);
            if let Some(report) = member.report {
                let its = match &end {
                    End::Undone if is_to_blame || !is_known => End::UndoneByIt,
                    End::Undone if member.has_broken_together => End::UndoneTogether,
                    end => end.clone(),
                };
                // A caller that has stopped waiting does not need it.
                let _ = report.end.send(its);
            }
            is_to_blame
        };
        members.into_iter().map(tell).collect()
    }

    async fn run(&mut self) -> End {
        let mut said: Vec<Said> = Vec::new();
        while self.at_work() > 0 {
            match self.events.recv().await {
                Some(Event::Said(statements)) => said.push(statements),
                Some(Event::Ended(number, report)) => self.members[number].report = Some(report),
                Some(Event::Gone(number)) => {
                    self.members[number].is_gone = true;
                    said.retain(|said| said.by != number);
                }
                // Cannot happen: this holds a sender itself.
                None => break,
            }
            if !said.is_empty() && said.len() == self.at_work() {
                self.round(std::mem::take(&mut said)).await;
            }
        }
        self.commit_or_roll_back().await
    }

    /// Members that may still send statements, as far as is known.
    fn at_work(&self) -> usize {
        let at_work = |member: &&Progress| !member.is_gone && member.report.is_none();
        self.members.iter().filter(at_work).count()
    }

    /// Step 3. BEGIN goes ahead of the first statements; its answer is not waited for separately.
    async fn round(&mut self, said: Vec<Said>) {
        let (statements, waiting): (Vec<_>, Vec<_>) = said
            .into_iter()
            .map(|said| (said.statements, (said.by, said.answers)))
            .unzip();
        let its = waiting.iter().map(|(by, _)| self.holders[*by]).collect();
        let mut shared = self.slow.round(Access::Changing, its);
        let answers = together::run(&self.checkout, &statements);
        let answers = match self.checkout.mark_used() {
            true => {
                let begin = match self.members.len() {
                    1 => BEGIN_OF_GROUP,
                    _ => BEGIN_OF_SEVERAL,
                };
                let (begun, answers) = join(self.checkout.batch(begin), answers).await;
                self.begun = Some(begun.map_err(|error| causes(&error)));
                answers
            }
            false => answers.await,
        };
        let has_failed = |it: &Vec<Answer>| it.iter().any(Result::is_err);
        if answers
            .as_ref()
            .map_or(true, |it| it.iter().any(has_failed))
        {
            shared.has_failed();
        }
        drop(shared);
        let Ok(answers) = answers else {
            self.is_spent = true;
            for (by, _) in waiting {
                self.members[by].has_failed = true;
            }
            return;
        };
        for (((by, asked), statements), answers) in
            waiting.into_iter().zip(&statements).zip(answers)
        {
            let mut failures = answers.iter().filter_map(|answer| answer.as_ref().err());
            self.is_spent |= failures.any(|failure| failure.may_be_the_connection);
            self.members[by].note(statements, &answers);
            if let Some(Ok(())) = &self.begun {
                // A caller that has stopped waiting does not need them.
                let _ = asked.send(answers);
            }
        }
    }

    /// Steps 4 and 5.
    async fn commit_or_roll_back(&self) -> End {
        let is_well = |member: &Progress| member.is_well();
        let all_well = self.members.iter().all(is_well);
        match &self.begun {
            // No member sent anything.
            None if all_well => End::Committed,
            None => End::Undone,
            Some(Ok(())) if all_well => commit(&self.checkout).await,
            Some(Ok(())) => {
                self.roll_back().await;
                match self.members.len() {
                    1 => End::UndoneAlone,
                    _ => End::Undone,
                }
            }
            // The statements ran on their own: what they did stays, and must not be repeated.
            Some(Err(cause)) if self.members.iter().any(|member| member.was_answered) => {
                End::InDoubt(cause.clone())
            }
            Some(Err(_)) => End::Undone,
        }
    }

    async fn roll_back(&self) {
        match self.checkout.batch(ROLLBACK).await {
            Ok(()) if !self.is_spent => self.checkout.mark_done(),
            // A spent connection is not used again, nor one that cannot even roll back.
            _ => self.checkout.mark_spent(),
        }
    }
}

async fn commit(checkout: &Checkout) -> End {
    checkout.mark_committing();
    match checkout.batch(COMMIT).await.map_err(at_commit) {
        Ok(()) => {
            checkout.mark_committed();
            End::Committed
        }
        Err(ScriptError::Retry(_)) => End::Undone,
        Err(ScriptError::Final(error)) => End::InDoubt(error.causes()),
    }
}

impl Progress {
    fn note(&mut self, statements: &[Kept], answers: &[Answer]) {
        self.has_said = true;
        for (statement, answer) in statements.iter().zip(answers) {
            match answer {
                Ok((_, changed)) => {
                    self.was_answered = true;
                    self.has_written |= !statement.is_query() && *changed > 0;
                }
                Err(failure) => {
                    self.has_failed = true;
                    let has_broken = failure.is_first && !failure.may_be_the_connection;
                    self.has_broken |= has_broken && failure.is_its_own;
                    self.has_broken_together |= has_broken && !failure.is_its_own;
                }
            }
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        self.report.as_ref().map(|report| report.outcome)
    }

    fn is_refused_too_late(&self) -> bool {
        self.has_written && self.outcome() != Some(Outcome::Done)
    }

    /// Whether the group can be committed, as far as this member goes.
    fn is_well(&self) -> bool {
        let went_well = match self.outcome() {
            // Also one that tries again, since another replica has answered the same request meanwhile.
            Some(_) => !self.is_refused_too_late(),
            // A member that went before it sent anything had no part in it.
            None => !self.has_said,
        };
        went_well && !self.has_failed
    }

    /// Whether it is to blame if the group cannot be committed.
    fn is_to_blame(&self) -> bool {
        self.has_broken || self.report.is_some() && self.is_refused_too_late()
    }
}
