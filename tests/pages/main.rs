//! The pages, as browsers without scripts use them: a server of its own for each test, cookies, forms.
//!
//! [`browser`] keeps cookies and sends forms as a browser does; [`team`] has people in a team who are signed in. What needs
//! a clock that moves is in `tests/store/people`, over the same methods of the service.

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
