//! The service's own types, and the rules that need nothing but them. No SQL, no HTTP, no clock.
//!
//! One file per noun. Whether an archived product may be changed, what a refresh token is worth, when a key ends: each
//! is a plain function here, so it can be read and tested without a database. [`crate::app`] describes which of them
//! decide on an operation, in which order and under which locks.
//!
//! Limits that the published document states (lengths, ranges, lists of codes) are checked on the way in and not again
//! here: a limit written twice will differ some day.

pub mod api_key;
pub mod audit;
pub mod auth_code;
pub mod authentication_request;
pub mod author;
pub mod authorization;
pub mod browser_session;
pub mod catalog;
pub mod csv_file;
pub mod cursor;
pub(crate) mod device_cookie;
pub mod email_change;
pub mod error;
pub mod holder;
pub mod id;
pub mod idempotency;
pub mod identity;
pub(crate) mod input;
pub mod invitation;
pub mod item;
pub mod letter;
pub mod list;
pub mod member;
pub mod oauth_client;
pub mod one_time_link;
pub mod passkey;
pub mod password;
pub mod product;
pub mod product_csv;
pub mod product_import;
pub mod refused_sign_in;
pub mod secret;
pub mod session;
pub mod share_link;
pub mod string_enum;
pub mod subject;
pub mod team;
pub mod time;
pub mod user;
pub mod ways_to_sign_in;

pub use error::{Cause, Error};
