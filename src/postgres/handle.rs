//! Runs the statements of a script.

use futures::future::join;

use super::checkout::Checkout;
use super::error::{at_commit, is_contention, is_locked, is_read_only};
use super::member::Member;
use super::statements::{Rows, Sent};
use super::transaction::{COMMIT, ROLLBACK};
use crate::domain::Error;
use crate::sql::ScriptError;

/// What a script does.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// It changes something: in a transaction.
    Changing,
    /// It only reads: each statement by itself.
    Reading,
}

/// A connection lent to one script, or its place in a group.
pub struct Handle(Scope);

/// What the statements of a script are part of.
enum Scope {
    /// Nothing: each runs by itself.
    Statement(Checkout),
    /// A transaction of the script's own, which this text begins.
    Own(Checkout, &'static str),
    /// The transaction of its group.
    Group(Member),
}

impl Handle {
    /// A connection. With `begin`, which travels with the first statement, the script runs in a transaction; without,
    /// outside of one.
    pub(super) fn new(checkout: Checkout, begin: Option<&'static str>) -> Handle {
        Handle(match begin {
            Some(begin) => Scope::Own(checkout, begin),
            None => Scope::Statement(checkout),
        })
    }

    /// The handle of a member of a group.
    pub(super) fn within(member: Member) -> Handle {
        Handle(Scope::Group(member))
    }

    /// Runs statements, all sent at once, in order: together they take one round trip. Inside a transaction, nothing after
    /// the first failure has run. BEGIN goes ahead of the first statements; its answer is not waited for separately.
    ///
    /// # Errors
    /// When nothing could be sent, or the transaction did not begin.
    pub async fn run(
        &self,
        sent: &[Sent<'_>],
    ) -> Result<Vec<Result<Rows, ScriptError>>, ScriptError> {
        match &self.0 {
            Scope::Statement(checkout) => {
                checkout.mark_used();
                answers(checkout, sent).await
            }
            Scope::Own(checkout, begin) if checkout.mark_used() => {
                match join(checkout.batch(begin), answers(checkout, sent)).await {
                    (Ok(()), answers) => answers,
                    // The statements ran on their own: what they did stays, and must not be repeated.
                    (Err(error), Ok(answers)) if answers.iter().any(Result::is_ok) => {
                        Err(ScriptError::Final(Error::unavailable(error)))
                    }
                    (Err(error), _) => Err(error.into()),
                }
            }
            Scope::Own(checkout, _) => answers(checkout, sent).await,
            Scope::Group(member) => member.run(sent).await,
        }
    }

    /// Commits what a script changed in its own transaction, unless it failed, and gives the connection back.
    ///
    /// # Errors
    /// What the script returned, or the server's answer to the commit; [`ScriptError::Retry`] when a lock did not come free.
    pub(crate) async fn end<T>(self, result: Result<T, ScriptError>) -> Result<T, ScriptError> {
        match (&result, &self.0) {
            (Ok(_), Scope::Own(checkout, _)) => {
                checkout.mark_committing();
                checkout.batch(COMMIT).await.map_err(at_commit)?;
                checkout.mark_committed();
            }
            (Err(failure), Scope::Own(checkout, _)) => {
                let is_good = match failure {
                    ScriptError::Final(error) => {
                        !(is_read_only(error) && checkout.replaces_read_only())
                    }
                    ScriptError::Retry(cause) => is_contention(cause),
                };
                // A connection that cannot even roll back is not used again.
                match checkout.batch(ROLLBACK).await {
                    Ok(()) if is_good => checkout.mark_done(),
                    _ => checkout.mark_spent(),
                }
            }
            (Err(ScriptError::Retry(_)), Scope::Statement(checkout)) => checkout.mark_spent(),
            (_, Scope::Statement(checkout)) => checkout.mark_done(),
            // The group ends for all its members.
            (_, Scope::Group(_)) => {}
        }
        match (result, &self.0) {
            (Err(ScriptError::Final(Error::Unavailable(cause))), Scope::Own(..))
                if is_locked(&cause) =>
            {
                Err(ScriptError::Retry(cause))
            }
            (result, _) => result,
        }
    }
}

async fn answers(
    checkout: &Checkout,
    sent: &[Sent<'_>],
) -> Result<Vec<Result<Rows, ScriptError>>, ScriptError> {
    let answers = checkout.run(sent).await?.into_iter();
    Ok(answers
        .map(|rows| rows.map_err(ScriptError::from))
        .collect())
}
