//! The code that the service's tests share.
//!
//! The published documents are the reference: [`document`] reads them, [`schema`] turns their
//! schemas into validators that are independent of the server's own checks, [`response_validator`]
//! compares one answer with what its operation lists, and [`caller`] is the only way in which the
//! tests send requests, so that no answer goes unchecked.
//!
//! It is a crate, not a module that each test binary includes, so that it is compiled only once.

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
