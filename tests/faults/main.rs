//! Three replicas on one PostgreSQL, under load, while something fails: a replica, the server, its machine,
//! connections, locks, Redis.
//!
//! Each test starts its own cluster and replicas, has clients use all three ([`test_support::load`]), causes the
//! fault under load, and repairs it. Then:
//!
//! 1. every replica acknowledges changes again within [`trial::RECOVERY`] of the repair;
//! 2. the clients settle: what was in doubt is repeated, every key is used again, every app refreshes;
//! 3. the history keeps what the interface promises ([`test_support::load::check`]): everything acknowledged exists
//!    exactly once, every key has one result, no session was lost through a lost answer;
//! 4. PostgreSQL has seen no deadlock, and nothing is left open in it.
//!
//! Two tests run at a time, so that they do not slow down the service while it is timed. `--nocapture` prints what
//! was tried.
//!
//! | Variable | |
//! |---|---|
//! | `INVOICING_FAULT_ROUNDS` | how often each fault happens, at another moment each time; once unless set |
//! | `INVOICING_FAULT_SEED` | the seed of a run, which it prints, to choose alike once more |

mod connections;
mod failover;
mod fleet;
mod redis;
mod replica;
mod restart;
mod trial;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");
