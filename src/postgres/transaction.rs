//! How a transaction begins and ends, and the one that the changes of a group share.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use super::checkout::Checkout;
use crate::domain::subject::Subject;

/// Begins a change. The limits hold for this transaction alone, since a pooler gives the connection to
/// somebody else afterwards: a second less than the deadline for a lock and for a statement, and another second less
/// for a replica that has stopped talking, so that who waits for what it has locked outlasts it.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
     SET LOCAL lock_timeout = '4s'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// Commits with no limit on the server: promise 5.
pub(super) const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

pub(super) const ROLLBACK: &str = "ROLLBACK";

/// Begins that of a group: as that of one change, but who waits for a lock is not alone.
const BEGIN_OF_GROUP: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
     SET LOCAL lock_timeout = '50ms'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// The answer to [`BEGIN_OF_GROUP`], for all who wait for it.
pub(super) type Begun = Shared<BoxFuture<'static, Result<(), Arc<tokio_postgres::Error>>>>;

/// A transaction that several scripts share.
#[derive(Default)]
pub(super) struct Transaction {
    begun: Mutex<Option<Begun>>,
    held: Mutex<HashMap<Subject, Hold>>,
}

/// One change that has asked about a subject.
struct Hold {
    by: usize,
    /// Whether others have not asked because of it.
    is_relied_on: bool,
}

impl Transaction {
    /// Sends what begins it before anything else, unless it was sent. The answer comes with those to what is sent next.
    pub(super) async fn begin(&self, checkout: &Arc<Checkout>) -> Begun {
        poll_fn(|context| {
            // Nothing panics while it is locked. Whoever else comes is held up until it is sent.
            let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
            let begun = begun.get_or_insert_with(|| {
                checkout.mark_used();
                let checkout = Arc::clone(checkout);
                let begin = async move { checkout.batch(BEGIN_OF_GROUP).await.map_err(Arc::new) };
                let begun = begin.boxed().shared();
                // It is sent when it is polled for the first time.
                let _ = begun.clone().poll_unpin(context);
                begun
            });
            Poll::Ready(begun.clone())
        })
        .await
    }

    /// The answer, if it was begun.
    pub(super) fn begun(&self) -> Option<Begun> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.clone()
    }

    /// Whether another than this change holds `subject`. If none does, this one does from now on.
    pub(super) fn is_held_by_another(&self, subject: Subject, than: usize) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let hold = held.entry(subject).or_insert(Hold {
            by: than,
            is_relied_on: false,
        });
        let is_held = hold.by != than;
        hold.is_relied_on |= is_held;
        is_held
    }

    /// A change that was refused holds nothing: who comes now asks again. Whether somebody has not asked because of it comes
    /// back.
    pub(super) fn let_go(&self, by: usize) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let its = held.extract_if(|_, hold| hold.by == by);
        its.fold(false, |any, (_, hold)| any | hold.is_relied_on)
    }
}
