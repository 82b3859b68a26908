//! The invoicing service: a product catalog and mobile device sessions, generated from their documents.
//!
//! A request passes down through these layers, and none knows of those above it: [`pages`] (for people) and [`http`] (the
//! generated traits), [`app`] (one script per operation: every rule and its order), [`store`] (rows and statements),
//! [`sqlite`] or [`postgres`] (how an engine runs them), [`sql`] (what both understand), [`domain`] (types and pure rules).
//! The same noun names the same thing in all.

pub mod admin;
pub mod app;
pub mod backup;
mod budget;
mod causes;
pub mod cli;
mod client_address;
pub mod domain;
mod fair_room;
mod fair_time;
pub mod generated;
pub mod http;
mod limit;
mod lines;
mod listener;
pub mod log;
pub mod mail;
mod oidc;
mod openapi;
mod pace;
pub mod pages;
mod pause;
pub mod postgres;
mod ranked;
pub mod server;
pub mod settings;
pub mod sql;
pub mod sqlite;
pub mod start_error;
pub mod store;
pub mod tally;
mod tls;
pub mod trace;
mod traffic;
mod turns;
mod weak_map;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
