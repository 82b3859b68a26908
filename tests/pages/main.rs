//! The pages, as browsers without scripts use them: each test has its own server, cookies and forms.
//!
//! [`browser`] keeps cookies and sends forms as a browser does; [`team`] has signed-in people in a team. Tests that
//! need a clock that moves are in `tests/store/people`, on the same methods of the service.

mod account;
mod api_keys;
mod attacks;
mod audit;
mod authorize;
mod browser;
mod deactivated;
mod devices;
mod headers;
mod links;
mod lists;
mod mail;
mod markup;
mod matrix;
mod members;
mod passkeys;
mod product_import;
mod products;
mod provider;
mod requests;
mod setup;
mod sign_in;
mod team;
mod timing;
mod weight;

/// The server and command line under test.
const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");
