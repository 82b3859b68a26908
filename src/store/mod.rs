//! What the service keeps, and the statements that read and write it: one file per noun, written once for both engines.
//!
//! [`Store`] is one of two engines, SQLite ([`crate::sqlite`]) or PostgreSQL ([`crate::postgres`]), which [`open()`] chooses
//! by address; the tests in `tests/store/` run against both. A script of [`crate::app`] gets [`Sql`], its handle on the
//! database, and uses it to run the calls of the noun files: `sql.run(team::list())`, or several that travel together:
//! `sql.run((item::lock(id), user::hold(user_id)))`. What every store promises:
//!
//! 1. A script that changes something is one transaction: all of it or nothing. It returns once the change is safe on disk.
//! 2. Decisions that depend on stored state are made in the script. Those that need a lock in PostgreSQL take it with their
//!    reads (`lock`, `hold`); in SQLite there is only one writer. State does not change between decision and change.
//! 3. A failure is a domain [`Error`](crate::domain::Error). A violated uniqueness rule has its own variant; a store that is
//!    busy or unreachable is `Unavailable`; anything else is `Internal`. `Unavailable` from a change means "not
//!    acknowledged": it may have happened.
//! 4. Each script names the [`Holder`](crate::domain::holder::Holder) that it runs for: where scripts wait for each other,
//!    as for a PostgreSQL connection, each holder has its share, and none can take all.
//! 5. The store reads no clock and makes no ids: both are passed in, so that tests control them.

mod address;
pub mod api_key;
pub mod audit;
pub mod auth_code;
pub mod browser_session;
mod closing;
pub mod copy;
pub mod email_change;
mod engine;
mod fair;
pub mod idempotency;
pub mod identity;
pub(crate) mod inspect;
pub mod invitation;
pub mod item;
pub mod mail_count;
pub mod member;
pub mod oauth_client;
pub mod one_time_link;
mod open;
pub mod passkey;
pub mod password;
pub mod product;
pub mod product_import;
pub mod refused_sign_in;
pub mod secret;
pub mod session;
pub mod share_link;
mod sql;
pub mod team;
pub mod token;
pub mod user;
mod uses;
pub mod ways_to_sign_in;

pub use address::Address;
pub use closing::Closing;
pub use engine::{Numbers, SCHEMA_VERSION, Store};
pub use open::{OpenError, open, open_existing};
pub use sql::{Batch, Sql};
