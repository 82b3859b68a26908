#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod attempt;
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

// What appears in the types of this crate, in the versions that it does.
pub use {chrono, reqwest, uuid};
