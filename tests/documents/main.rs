//! What can be checked of the documents without a server: that the response validator of the other tests can
//! say no, that the server's own description of itself is the published one, that what was released
//! stays compatible, that generated code follows the documents, that every decision has a test,
//! and that what the pages of the repository name is there.

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
