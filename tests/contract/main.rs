//! The service from outside, checked against its published documents.
//!
//! Everything here goes through [`test_support::caller`], so that besides its own assertions every
//! test proves that the document lists each answer it got. Each test starts a server, or they all
//! call a deployment: see [`test_support::deployment`].
//!
//! [`coverage`] has a test for every operation and status that the documents list; the other modules
//! follow the structure of the interface.

mod boundaries;
mod compression;
mod coverage;
mod credentials;
mod docs;
mod ended;
mod given;
mod links;
mod methods;
mod origins;
mod overload;
mod products;
mod properties;
mod revocation;
mod scenarios;
mod served;
mod sessions;
mod strange;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");
