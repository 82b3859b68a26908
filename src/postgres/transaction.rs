//! How a transaction begins and ends.
//!
//! A change does not ask for `READ WRITE`, which is the default, and would override the operator's
//! `default_transaction_read_only`.

/// Begins a change for a caller. The limits hold for this transaction alone, since a pooler gives the connection to another
/// client afterwards. A statement has a second less than the deadline; a replica that has stopped talking has another second
/// less, so that a transaction waiting for its locks outlasts it. A lock that does not come free at once is waited for among
/// few others ([`BEGIN_TO_WAIT`]).
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '30ms'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// The same for a change that has met a lock before. One that does not come free soon is waited for without a connection
/// (`retry.rs`).
pub(super) const BEGIN_TO_WAIT: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '250ms'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// Begins a change for the service itself, such as for an operator, which keeps its place among those that wait for a lock.
pub(super) const BEGIN_OF_SERVICE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '4s'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// Begins what ends a right and has met a lock before. Whoever relies on the right holds its lock while they wait for one themselves
/// ([`BEGIN_TO_WAIT`]), and then until they are committed, also at a far standby; who comes later waits behind this.
pub(super) const BEGIN_OF_ENDING: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '1s'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// Begins a group of one change, which others wait for while it waits for a lock.
pub(super) const BEGIN_OF_GROUP: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '50ms'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'";

/// The same for several changes. Statements with lists are planned each time, for the lists and tables as they are: a plan
/// kept since its table was empty would read all of it.
pub(super) const BEGIN_OF_SEVERAL: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
     SET LOCAL lock_timeout = '50ms'; \
     SET LOCAL statement_timeout = '4s'; \
     SET LOCAL idle_in_transaction_session_timeout = '3s'; \
     SET LOCAL plan_cache_mode = force_custom_plan";

/// Commits with no limit on the server: promise 5.
pub(super) const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

pub(super) const ROLLBACK: &str = "ROLLBACK";
