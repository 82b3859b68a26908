//! The invoicing service: a product catalog and mobile device sessions, generated from their documents.
//!
//! A request walks down through three layers, and each knows nothing of the one above it: `http` (the
//! generated traits), [`app`] (the rules) and [`store`] (the database). The same noun names the same
//! thing in all three.

pub mod app;
mod budget;
pub mod cli;
pub mod client_address;
pub mod domain;
pub mod generated;
pub mod http;
pub mod limit;
pub mod log;
pub mod openapi;
pub mod operations;
pub mod postgres;
pub mod server;
pub mod settings;
pub mod sql;
pub mod sqlite;
pub mod start_error;
pub mod store;
mod tls;
mod traffic;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
