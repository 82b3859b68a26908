//! Checks of the documents that need no server: that the response validator of the other tests can refuse,
//! that the server's description of itself is the published one, that releases stay compatible, that
//! generated code follows the documents, that every decision has a test, and that everything the pages of
//! the repository name exists.

mod caller;
mod client;
mod decisions;
mod emitted;
mod examples;
mod generated;
mod layers;
mod logs;
mod metrics;
mod pages;
mod released;
mod response_validator;
mod rules;
mod units;
