//! What the tests of the service share.
//!
//! The published documents decide everything: [`document`] reads them, [`schema`] turns their
//! schemas into validators that know nothing of the server's own checking, [`response_validator`]
//! compares one answer with what its operation lists, and [`caller`] is the only way in which the
//! tests send requests, so that no answer goes unchecked.
//!
//! It is a crate of its own, not a module that each test binary includes, because then it is
//! compiled once.

pub mod balancer;
pub mod caller;
pub mod deployment;
pub mod document;
pub mod edit;
pub mod load;
pub mod mail;
pub mod number;
mod operation;
pub mod passkey;
pub mod port;
pub mod postgres;
pub mod redis;
pub mod replica;
pub mod response_validator;
pub mod schema;
pub mod service;
