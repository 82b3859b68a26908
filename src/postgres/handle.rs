//! What runs the statements of a script.

use futures::future::join;

use super::checkout::Checkout;
use super::error::at_commit;
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

/// A connection, lent to one script, or its place in a group.
pub struct Handle(Scope);

/// What the statements of a script are part of.
enum Scope {
    /// Each is by itself.
    Statement(Checkout),
    /// A transaction of the script's own, which this begins.
    Own(Checkout, &'static str),
    /// The transaction of its group.
    Group(Member),
}

impl Handle {
    /// A connection inside of a transaction, which `begin` begins, as it travels with the first statement; or outside of one.
    pub(super) fn new(checkout: Checkout, begin: Option<&'static str>) -> Handle {
        Handle(match begin {
            Some(begin) => Scope::Own(checkout, begin),
            None => Scope::Statement(checkout),
        })
    }

    /// The place of a member of a group.
    pub(super) fn within(member: Member) -> Handle {
        Handle(Scope::Group(member))
    }

    /// Runs statements, all sent at once, in their order: together they take one round trip. Inside of a transaction
    /// nothing behind the first that failed has run. Before the first ones the transaction begins; nobody waits for its
    /// answer alone.
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
                    // They ran on their own: what they did stays, and nobody may repeat it.
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

    /// Commits what a script of its own transaction has changed, unless it has failed, and gives the connection back.
    ///
    /// # Errors
    /// What the script answered, or the server to the commit.
    pub(crate) async fn end<T>(self, result: Result<T, ScriptError>) -> Result<T, ScriptError> {
        match (&result, &self.0) {
            (Ok(_), Scope::Own(checkout, _)) => {
                checkout.mark_committing();
                checkout.batch(COMMIT).await.map_err(at_commit)?;
                checkout.mark_done();
            }
            // A connection that cannot even do this is not used again.
            (Err(failure), Scope::Own(checkout, _)) => {
                match (checkout.batch(ROLLBACK).await, failure) {
                    (Ok(()), ScriptError::Final(_)) => checkout.mark_done(),
                    _ => checkout.mark_spent(),
                }
            }
            (Err(ScriptError::Retry(_)), Scope::Statement(checkout)) => checkout.mark_spent(),
            (_, Scope::Statement(checkout)) => checkout.mark_done(),
            // Its group ends for all.
            (_, Scope::Group(_)) => {}
        }
        result
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
