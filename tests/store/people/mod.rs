//! People in browsers: how they sign in, for how long, and the audit of it.

mod audit;
mod crowd;
pub mod deactivation;
mod export;
mod identity;
mod links;
pub mod passkey;
mod passkey_kept;
mod refused;
mod session;
mod sign_in;
pub mod support;
