//! Under construction.
pub mod client_address;
pub mod limit;
pub mod settings;
