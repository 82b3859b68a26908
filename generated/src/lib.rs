//! The invoicing service's products, share links and sessions, typed.
//!
//! | to | call |
//! |---|---|
//! | make a client | [`Client::builder`], with [`api_key`](ClientBuilder::api_key) |
//! | create a product, safely repeated | [`products().create`](products::Products::create) |
//! | read one, or find that it does not exist | [`products().get`](products::Products::get), [`Error::is_not_found`] |
//! | change some of its fields, clear others | [`products().update`](products::Products::update) |
//! | archive it | [`products().archive`](products::Products::archive) |
//! | iterate over all products | [`products().stream`](products::Products::stream) |
//! | go page by page, and resume after an interruption | [`list().pages`](products::List::pages), [`cursor`](products::PageStream::cursor) |
//! | get a small catalog at once | [`list().all`](products::List::all) |
//! | list the share links of a file or folder | [`links().list`](links::Links::list) |
//! | sign a user in | [`Pkce`], [`sessions().authorization_url`](sessions::Sessions::authorization_url), [`exchange_code`](sessions::Sessions::exchange_code) |
//! | stay signed in, in several processes too | [`Client::with_session`], [`Client::with_kept_session`], [`SessionFile`] |
//! | keep sessions elsewhere | [`SessionStore`] |
//! | get an access token for calls of your own | [`TokenSource::access_token`] |
//! | tell errors apart | [`Error`], [`Code`], [`Error::is_retryable`], [`Error::request_id`] |
//! | see status, headers and rate limit | `send_for_response`, [`Response`] |
//! | set how often and how long to retry | [`RetryPolicy`], [`ClientBuilder::timeout`], both also on each call |
//! | send headers of your own | [`ClientBuilder::header`], also on each call |
//! | watch every attempt | [`ClientBuilder::on_attempt`], the feature `tracing` |
//! | bring a proxy, roots or another TLS | [`ClientBuilder::http_client`] |
//! | calculate with prices | [`Decimal`], the feature `rust_decimal` |
//! | test code that uses this crate | [`mock`](#features), the feature `mock` |
//! | do anything else | [`Client::catalog`], [`Client::mobile`] |
//!
#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod attempt;
mod authorization;
mod base_url;
mod builder;
mod client;
mod code;
mod error;
mod inputs;
pub mod links;
#[cfg(feature = "mock")]
pub mod mock;
pub mod openapi;
mod pkce;
pub mod products;
mod response;
mod retry;
mod revocation;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
mod session;
mod session_file;
pub mod sessions;
mod settings;
mod token_source;
mod trace;
mod transport;
pub mod types;

pub use attempt::Attempt;
pub use authorization::{Authorization, AuthorizationError, AuthorizationUrl};
pub use builder::ClientBuilder;
pub use client::Client;
pub use code::{Code, OAuthCode};
pub use error::{ApiError, Error, InvalidRequest, OAuthError, UnexpectedResponse};
pub use openapi::{Decimal, DecimalError, Field};
pub use pkce::Pkce;
pub use response::{RateLimit, Response};
pub use retry::RetryPolicy;
pub use session::{InMemory, Session, SessionStore, StoreLock};
pub use session_file::SessionFile;
pub use token_source::TokenSource;

// The crates whose types appear in this crate's API, in the same versions.
pub use {chrono, reqwest, uuid};
