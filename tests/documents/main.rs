//! What can be checked of the documents without a server: that the judge of the other tests can
//! say no, that the server's own description of itself is the published one, that what was released
//! stays compatible, that generated code follows the documents, and that every sentence of the
//! decisions has a test.

mod caller;
mod decisions;
mod emitted;
mod examples;
mod generated;
mod judge;
mod released;
mod rules;
mod units;
