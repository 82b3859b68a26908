//! Where the service keeps its state, in the service's own terms.
//!
//! [`Store`] is what a database must do for [`crate::app`]: one trait a noun, one method an operation
//! (`create_product`, not `execute`). Behind it are SQLite ([`sqlite`]) and PostgreSQL ([`postgres`]), which
//! [`open()`] chooses by address, and the tests in `tests/store/` run against both. What every store promises:
//!
//! 1. A method that changes something is one transaction: all of it or nothing, together with its
//!    idempotency record. It answers after the change is safe on disk.
//! 2. Decisions that depend on stored state are made inside that transaction, by the functions of
//!    [`crate::app`] which the change carries with it. No state can move between decision and change.
//! 3. A failure is a domain [`Error`](crate::domain::Error). A uniqueness rule that was violated has its
//!    own variant; a store that is busy or unreachable is `Unavailable`; anything else is `Internal`.
//!    `Unavailable` from a change means "not acknowledged": it may have happened.
//! 4. The store reads no clock and makes no ids: both come in, so that tests decide them.

mod address;
mod api_key;
pub mod copy;
mod health;
mod item;
mod member;
mod oauth_client;
mod open;
pub mod postgres;
mod product;
mod secret;
mod session;
mod share_link;
pub mod sqlite;
mod team;
mod user;

pub use address::Address;
pub use api_key::ApiKeyStore;
pub use health::HealthStore;
pub use item::ItemStore;
pub use member::MemberStore;
pub use oauth_client::OauthClientStore;
pub use open::{OpenError, open};
pub use product::ProductStore;
pub use secret::SecretStore;
pub use session::SessionStore;
pub use share_link::ShareLinkStore;
pub use team::TeamStore;
pub use user::UserStore;

/// Everything that the service keeps: one trait a noun, each in the file of that noun.
pub trait Store:
    ApiKeyStore
    + HealthStore
    + ItemStore
    + MemberStore
    + OauthClientStore
    + ProductStore
    + SecretStore
    + SessionStore
    + ShareLinkStore
    + TeamStore
    + UserStore
    + Send
    + Sync
    + 'static
{
}

impl<T> Store for T where
    T: ApiKeyStore
        + HealthStore
        + ItemStore
        + MemberStore
        + OauthClientStore
        + ProductStore
        + SecretStore
        + SessionStore
        + ShareLinkStore
        + TeamStore
        + UserStore
        + Send
        + Sync
        + 'static
{
}
