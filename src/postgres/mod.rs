//! The store in one PostgreSQL database, which many replicas of the service share.
//!
//! How the promises of [`crate::store`] are kept here:
//!
//! 1. A change is one transaction, READ COMMITTED. It first locks the rows that it decides upon, so that nothing else
//!    changes them before the commit; the file of each noun says which rows. No lock is held while waiting for anything but
//!    the database. Small changes that decide upon different things share a transaction when they come together
//!    (`groups.rs`), as long as all of them go well.
//! 2. A request has five seconds for everything: a free connection, its locks, its statements, its commit. After that it is
//!    `Unavailable`. The server gives up on its own side a little earlier, or when a replica has vanished in the middle of a
//!    transaction. A server that leaves a statement unanswered for longer than its own limit hangs, so no other request is
//!    given a connection that waits for it. Waiting for a connection or a lock says nothing about the server.
//! 3. A serialization failure, a deadlock, a lost connection and a server that has become a standby are retried within the
//!    deadline: nothing has happened then. So is a change that waits for a lock, so that it does so without a connection.
//! 4. But once COMMIT was sent, its answer counts. If none comes, the change may or may not have happened, and it is not
//!    repeated: `Unavailable`. The caller may repeat it under its idempotency key.
//! 5. The commit itself has no time limit on the server. If PostgreSQL is told to stop waiting for a synchronous standby, it
//!    acknowledges a commit that a failover can still lose.
//! 6. Each connection prepares a statement once, unless it takes long lists (`statements.rs`), if it was found out
//!    (`preparing.rs`) that the server keeps it for this connection alone. Everywhere else a statement travels unnamed,
//!    together with its parameters, in one round trip. So any pooler may stand in between, including pgbouncer in
//!    transaction mode: with one that does not follow named statements, a replica would run what another has prepared under
//!    the same name. The price is that the server plans each statement anew: `pgbench` reads a product by its id 10,900
//!    times a second this way (`-M extended`) and 31,200 times prepared. The address may say which of the two applies, and
//!    then nothing is found out: `prepared_statements=true` is for pgbouncer since 1.21 with `max_prepared_statements`.
//! 7. Statements travel together unless one depends on the answer to another: BEGIN with the first of a change, locks with
//!    what is read under them, everything that a change writes (`handle.rs`). The tests count the round trips of each
//!    operation (`tests/store/postgres/round_trips.rs`).
//!
//! # Round trips that are left
//!
//! A refresh that took ten round trips one by one now takes three, and a change under an idempotency key takes three instead
//! of six; it was four when this was measured. With 2.3 ms for each, as between two machines, that is 9.8 ms instead of 28.8
//! and 12.5 instead of 16.6; on one machine it is 1.9 ms instead of 3.4 for the refresh and the same for the change.
//! (Medians of 100 through the relay of the tests, unoptimized, on two processors that had other work to do.) What is left:
//!
//! - *COMMIT* waits for the answers before it. Sent with the last statement, it would save each change a round trip. But
//!   promise 3 would then end where that statement begins, which may wait for a lock: a connection lost from then on would
//!   be in doubt (promise 4) instead of retried.
//! - *The key of a request and its read* are two round trips when the key has not been looked up for a moment
//!   (`app/lease.rs`), the second once the first is answered. One statement could join them, as the digest of the key leads
//!   to the team. But other checks stand between the two: the rate limit of the key (429), then the request itself (400),
//!   without which it is unknown what to read. The generated traits call a handler only after these checks, so no handler
//!   can forget them; a read ahead of them would be a second way in, where a caller beyond its limit costs as much as one
//!   within it.
//!
//! - `address.rs`, `tls.rs`: where the servers are, and how to verify them.
//! - `connect.rs`: which of the servers takes writes now.
//! - `preparing.rs`: whether a pooler stands in between: 6 above.
//! - `pool.rs`: the pool of connections.
//! - `checkout.rs`, `cancel.rs`: one connection of the pool, and what becomes of it.
//! - `src/turns.rs`: who gets a connection next, and who would wait for too long (`src/pace.rs`).
//! - `retry.rs`: 2 to 5 above.
//! - `migrate.rs`: brings the database to the schema that this binary knows, or refuses it untouched.
//! - `inspect.rs`: inspects the database without changing it.
//! - `copy.rs`: reads and writes the whole database, for a move to another store.
//! - `groups.rs`, `group.rs`, `member.rs`, `seat.rs`: changes that share a transaction.
//! - `gather.rs`: waits for callers that are about to arrive.
//! - `together.rs`: merges the statements of several scripts into few.
//! - `lookups.rs`: looks up rows for many callers together.
//! - `slow.rs`: whose changes and lookups are made alone, since others would wait for them.
//! - `disk_watch.rs`: finds out whether the server waits for its disk.
//! - `connections.rs`: lends a connection to a script.
//! - `handle.rs`, `statements.rs`: run the statements of a script.
//! - `transaction.rs`: how a transaction begins and ends.
//! - `counts.rs`: counters, for monitoring the service.
//! - `error.rs`: the one place where a database error becomes a domain error.

mod address;
mod apart;
mod cancel;
mod checkout;
mod connect;
mod connections;
mod copy;
mod counts;
mod disk_watch;
mod error;
mod gather;
mod group;
mod groups;
mod handle;
mod inspect;
mod lookups;
mod member;
mod migrate;
mod open_error;
mod pool;
mod preparing;
mod quickest;
pub(crate) mod retry;
mod seat;
mod slots;
mod slow;
mod statements;
mod tls;
mod together;
mod transaction;

use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::subject::Subject;
use crate::sql::ScriptError;
use connections::Connections;
use groups::Groups;
use migrate::WhenEmpty;
use pool::open_pool;
use slots::Slots;

pub(crate) use apart::WentAlone;
pub use handle::{Access, Handle};
pub(crate) use lookups::Lookups;
pub(crate) use member::ToBlame;
pub use seat::Seat;
pub use statements::{Rows, Sent};

pub(crate) use inspect::{Inspection, Server};
pub(crate) use migrate::VERSION;

pub use address::{Address, AddressError};
pub(crate) use copy::Copy;
pub use counts::{Counts, Numbers};
pub use open_error::OpenError;

/// A store in one PostgreSQL database.
pub struct Postgres {
    connections: Arc<Connections>,
    groups: Groups,
    lookups: Lookups,
    lists: Lookups,
    credentials: Lookups,
    sign_ins: Lookups,
    strangers: Lookups,
    found_version: i64,
    /// Ends with this.
    _disk_watch: JoinSet<()>,
}

impl Postgres {
    /// Connects to the database at `address` and brings its schema up to date.
    ///
    /// # Errors
    /// [`OpenError`], whose text is for the person who starts the program.
    pub async fn open(address: &Address) -> Result<Postgres, OpenError> {
        Self::open_with(address, WhenEmpty::Make).await
    }

    /// The same for a database that has our tables: nothing is made in an empty one.
    ///
    /// # Errors
    /// [`OpenError`], as above.
    pub async fn open_existing(address: &Address) -> Result<Postgres, OpenError> {
        Self::open_with(address, WhenEmpty::Refuse).await
    }

    async fn open_with(address: &Address, when_empty: WhenEmpty) -> Result<Postgres, OpenError> {
        let (pool, connector, mut connection) = open_pool(address).await?;
        let found_version = migrate::migrate(&mut connection, address, when_empty).await?;
        let preparing = connector.preparing();
        preparing.find_out(connection, connector.another()).await;
        let counts = Arc::<Counts>::default();
        let connections = Arc::new(Connections {
            pool,
            slots: Arc::new(Slots::new(address.pool_size(), &counts.refused)),
            connector,
            slow: Arc::default(),
            counts,
        });
        let mut disk_watch = JoinSet::new();
        disk_watch.spawn(disk_watch::watch(Arc::downgrade(&connections)));
        Ok(Postgres {
            groups: Groups::new(&connections),
            lookups: Lookups::new(&connections, Holder::Lookups),
            lists: Lookups::new(&connections, Holder::Lists),
            credentials: Lookups::new(&connections, Holder::Credentials),
            sign_ins: Lookups::new(&connections, Holder::SignIns),
            strangers: Lookups::new(&connections, Holder::Strangers),
            connections,
            found_version,
            _disk_watch: disk_watch,
        })
    }

    /// Whether changes like this one may join groups now ([`groups`]).
    pub(crate) fn takes_into_groups(&self, holder: Holder) -> bool {
        self.groups.takes(holder)
    }

    /// Whether what is looked up for `holder` is looked up alone now ([`slow`]).
    pub(crate) fn looks_up_alone(&self, holder: Holder) -> bool {
        self.connections.slow.goes_alone(Access::Reading, holder)
    }

    /// Notes that what `holder` did alone since it has `begun` has waited for no lock ([`slow`]).
    pub(crate) fn done_alone(&self, access: Access, holder: Holder, begun: Instant) {
        self.connections.slow.alone(access, holder, begun);
    }

    /// Notes how a change went alone after its group was undone ([`groups`]).
    pub(crate) fn went_alone(&self, holder: Holder, how: WentAlone) {
        self.groups.went_alone(holder, how);
    }

    /// Notes that a change whose group was undone at `undone` has had its turn again ([`groups`]).
    pub(crate) fn went_again(&self, undone: Instant) {
        self.groups.went_again(undone);
    }

    /// Takes a place in a group for a change that decides upon `subjects` and has until `deadline`. It ends with
    /// [`Seat::end`].
    ///
    /// # Errors
    /// [`ScriptError::Retry`] when there is none; [`ScriptError::Final`] when the wait would be too long.
    pub(crate) async fn seat(
        &self,
        holder: Holder,
        subjects: Vec<Subject>,
        deadline: Instant,
    ) -> Result<Seat, ScriptError> {
        self.groups.seat(holder, subjects, deadline).await
    }

    /// The lookups of rows, which are made together.
    pub(crate) fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    /// The lookups of lists. Each may pass any number of rows that are archived, so nothing else waits for them.
    pub(crate) fn lists(&self) -> &Lookups {
        &self.lists
    }

    /// The lookups of credentials, which do not wait for other lookups.
    pub(crate) fn credentials(&self) -> &Lookups {
        &self.credentials
    }

    /// The lookups of credentials that may be nobody's.
    pub(crate) fn strangers(&self) -> &Lookups {
        &self.strangers
    }

    /// The lookups for those who sign in or exchange a code or token, for whom nobody else waits.
    pub(crate) fn sign_ins(&self) -> &Lookups {
        &self.sign_ins
    }

    /// The counters of the store, and its current state.
    pub(crate) fn numbers(&self) -> Numbers<'_> {
        let Connections {
            pool,
            slots,
            counts,
            ..
        } = &*self.connections;
        let (used, waiting) = slots.state();
        let pool = pool.status();
        Numbers {
            counts,
            waiting: waiting
                + self.groups.waiting()
                + self.lookups.waiting()
                + self.lists.waiting()
                + self.credentials.waiting()
                + self.sign_ins.waiting()
                + self.strangers.waiting(),
            connections: pool.size,
            used,
            most: pool.max_size,
        }
    }

    /// The version that the schema had when this was opened: 0 for a new database.
    pub(crate) fn found_version(&self) -> i64 {
        self.found_version
    }

    /// Waits until it is found that statements cannot be prepared though the address does not say so, and returns why.
    pub(crate) async fn unprepared(&self) -> &'static str {
        self.connections.connector.preparing().given_up().await
    }

    /// Whether the database has all migrations that this binary knows, and whether it takes changes: a standby does not, nor
    /// does a server with `default_transaction_read_only`, to which no new connection is made either.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when it does not answer in time.
    pub(crate) async fn state(&self) -> Result<(bool, bool), Error> {
        let Connections {
            pool, connector, ..
        } = &*self.connections;
        let mut attempts = self.attempts();
        loop {
            let attempt = async {
                let handle = self.handle(Access::Reading, Holder::Service, false).await?;
                let sent = Sent {
                    text: STATE,
                    many: None,
                    values: &[],
                };
                let answers = handle.run(&[sent]).await;
                let state = answers.and_then(|answers| state(answers.into_iter().next()));
                // Another connection may have started since changes were switched on again.
                let state = match state {
                    Ok((_, false)) if connector.replaces_read_only(pool) => {
                        Err(ScriptError::Retry("it is read only".into()))
                    }
                    state => state,
                };
                handle.end(state).await
            };
            if let ControlFlow::Break(found) = attempts.next(attempt).await {
                return found;
            }
        }
    }
}

/// Runs outside of a transaction, which would report whether it is itself read only.
const STATE: &str =
    "SELECT invoicing, current_setting('transaction_read_only') = 'on' FROM schema_version";

fn state(answer: Option<Result<Rows, ScriptError>>) -> Result<(bool, bool), ScriptError> {
    let (rows, _) = answer.transpose()?.unwrap_or_default();
    let Some(row) = rows.first() else {
        return Ok((false, true));
    };
    let (version, read_only): (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
    Ok((version >= migrate::VERSION, !read_only))
}
