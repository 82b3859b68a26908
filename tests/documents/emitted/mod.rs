//! The document that the running traits describe themselves with, against the published one; how they
//! are compared, [`test_support::emitted`] tells.

mod broken;
mod running;
