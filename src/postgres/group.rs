//! One group of changes, in one transaction: steps 3 to 5 of [`groups`](super::groups).

use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::checkout::{Checkout, DEADLINE};
use super::counts::Counts;
use super::error::{at_commit, causes};
use super::handle::Handle;
use super::transaction::{COMMIT, ROLLBACK, Transaction};
use super::turns::Turn;
use crate::domain::Error;
use crate::sql::ScriptError;

/// What its changes have reported, or that one has gone.
type Reports = Vec<Result<Report, oneshot::error::RecvError>>;

/// A transaction, and what its changes report.
pub(super) struct Group {
    checkout: Arc<Checkout>,
    transaction: Arc<Transaction>,
    reports: Vec<oneshot::Receiver<Report>>,
}

/// The place of one change in its group.
pub struct Seat {
    handle: Handle,
    report: oneshot::Sender<Report>,
    _turn: Turn,
}

/// How the script of a change went.
struct Report {
    /// Whether the others can be committed with it, if they can.
    went_well: bool,
    /// Whether it is to blame where they cannot.
    is_to_blame: bool,
    /// Whether another connection may do what this one could not.
    needs_another_connection: bool,
    /// Whether a statement of it was answered with no error.
    was_answered: bool,
    end: oneshot::Sender<End>,
}

/// What became of a group.
#[derive(Clone)]
enum End {
    Committed,
    /// Nothing has happened.
    Undone,
    /// The same where there was one change: if a rule has refused it, that is its answer.
    UndoneAlone,
    /// Nobody knows, for this reason.
    InDoubt(String),
}

impl Group {
    /// One through this connection. It begins with the first statement of the first that has one.
    pub(super) fn new(checkout: Checkout) -> Group {
        Group {
            checkout: Arc::new(checkout),
            transaction: Arc::default(),
            reports: Vec::new(),
        }
    }

    /// A place in it.
    pub(super) fn seat(&mut self, turn: Turn) -> Seat {
        let (report, its) = oneshot::channel();
        self.reports.push(its);
        Seat {
            handle: Handle::within(
                Arc::clone(&self.checkout),
                Arc::clone(&self.transaction),
                self.reports.len(),
            ),
            report,
            _turn: turn,
        }
    }

    /// Nobody took the last place.
    pub(super) fn take_back(&mut self) {
        self.reports.pop();
    }

    /// Waits for the reports, and commits or rolls back. Says of each seat whether it is to blame for the latter.
    pub(super) async fn end(self, counts: &Counts) -> Vec<bool> {
        let Group {
            checkout,
            transaction,
            reports,
        } = self;
        let size = reports.len();
        // Later, none of its changes has time left.
        let deadline = Instant::now() + DEADLINE;
        let reports = timeout_at(deadline, join_all(reports)).await;
        let reports = reports.unwrap_or_default();
        let ending = end(&checkout, &transaction, &reports);
        let end = timeout_at(deadline, ending).await;
        let end =
            end.unwrap_or_else(|_| End::InDoubt("the database did not answer in time".into()));
        // Back to the pool, before those who go alone now need one.
        drop(checkout);
        match end {
            End::Committed => counts.groups.note(size as u64),
            End::Undone => counts.undone_groups.one(),
            End::UndoneAlone | End::InDoubt(_) => {}
        }
        let tell = |report: Result<Report, _>| {
            report.is_ok_and(|report| {
                // Who has stopped waiting does not need it.
                let _ = report.end.send(end.clone());
                report.is_to_blame && !matches!(end, End::UndoneAlone)
            })
        };
        reports.into_iter().map(tell).collect()
    }
}

/// Steps 4 and 5.
async fn end(checkout: &Checkout, transaction: &Transaction, reports: &Reports) -> End {
    let all_well = reports
        .iter()
        .all(|report| report.as_ref().is_ok_and(|report| report.went_well));
    let Some(begun) = transaction.begun() else {
        return match all_well {
            true => End::Committed, // Nobody had anything to say.
            false => End::Undone,
        };
    };
    match begun.await {
        Ok(()) if all_well && !reports.is_empty() => commit(checkout).await,
        Ok(()) => {
            roll_back(checkout, reports).await;
            match reports.len() {
                1 => End::UndoneAlone,
                _ => End::Undone,
            }
        }
        // They ran on their own: what they did stays, and nobody may repeat it.
        Err(error) if reports.iter().flatten().any(|report| report.was_answered) => {
            End::InDoubt(causes(&error))
        }
        Err(_) => End::Undone,
    }
}

async fn commit(checkout: &Checkout) -> End {
    checkout.mark_committing();
    match checkout.batch(COMMIT).await.map_err(at_commit) {
        Ok(()) => {
            checkout.mark_done();
            End::Committed
        }
        Err(ScriptError::Retry(_)) => End::Undone,
        Err(ScriptError::Final(error)) => End::InDoubt(
            error
                .cause()
                .map_or_else(|| error.to_string(), ToString::to_string),
        ),
    }
}

async fn roll_back(checkout: &Checkout, reports: &Reports) {
    let mut reports = reports.iter().flatten();
    let is_spent = reports.any(|report| report.needs_another_connection);
    match checkout.batch(ROLLBACK).await {
        Ok(()) if !is_spent => checkout.mark_done(),
        // Nor is one used again that cannot even do this.
        _ => checkout.mark_spent(),
    }
}

impl Seat {
    /// What the script of this change runs its statements with.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Reports what the script has answered, and waits for the end of the group.
    ///
    /// # Errors
    /// What the script answered; [`ScriptError::Retry`] when the group was undone; [`ScriptError::Final`] when nobody knows.
    pub(crate) async fn end<T>(self, result: Result<T, ScriptError>) -> Result<T, ScriptError> {
        let course = self.handle.course();
        let is_refused_too_late = result.is_err() && course.has_written();
        let others_rely_on_it = result.is_err() && self.handle.let_go();
        let tries_again = matches!(result, Err(ScriptError::Retry(_)));
        let (end, its) = oneshot::channel();
        let report = Report {
            went_well: !course.has_failed()
                && !is_refused_too_late
                && !others_rely_on_it
                && !tries_again,
            is_to_blame: course.has_broken() || is_refused_too_late,
            needs_another_connection: course.has_broken() && tries_again,
            was_answered: course.was_answered(),
            end,
        };
        // The connection is free once the group has ended, not once all have been told.
        drop(self.handle);
        // If nobody listens, nobody answers.
        let _ = self.report.send(report);
        match (its.await, result) {
            (Ok(End::Committed), result) => result,
            // But not for a lock: alone it is waited for longer.
            (Ok(End::UndoneAlone), Err(ScriptError::Final(error)))
                if !matches!(error, Error::Unavailable(_)) =>
            {
                Err(ScriptError::Final(error))
            }
            (Ok(End::Undone | End::UndoneAlone), Err(retry @ ScriptError::Retry(_))) => Err(retry),
            (Ok(End::Undone | End::UndoneAlone), _) => {
                Err(ScriptError::Retry("its group was undone".into()))
            }
            (Ok(End::InDoubt(cause)), _) => Err(ScriptError::Final(Error::unavailable(cause))),
            (Err(_), _) => Err(ScriptError::Final(Error::unavailable(
                "its group had no end in time",
            ))),
        }
    }
}
