//! The published interface over HTTP: the generated traits, implemented on [`App`](crate::app::App).
//!
//! Nothing is decided or stored here. The steps of a request, in this order (docs/decisions.md, B1), and where they are:
//!
//! 1. whether it has too many headers (431) or ambiguous framing (400), by the runtime; whether its path is written as a
//!    route is (404), and its method (405), by the runtime and the generated registration;
//! 2. who calls (401), unless the server is too busy (503, `concurrency_limit`) or the address has guessed too often (429),
//!    then how often (429): `credential`;
//! 3. whether the caller may, by scope or membership (403), then the request itself (413, 415, 408, 400), then the rules of
//!    the service (404, 409): the traits in `catalog` and `mobile`, whose operations are in `product`, `session` and
//!    `share_link`, and `received` for the body;
//! 4. whatever is not a success (`rejection`) becomes an answer in `error`, and only there;
//! 5. the answer is compressed if that is asked for (`compression`), and pages of other origins may read it (`cors`);
//! 6. the answer waits to be sent in `unsent`, which bounds what callers leave unread.

mod answered;
mod api;
mod arrivals;
mod catalog;
mod checks;
mod compression;
mod concurrency_limit;
mod context;
mod cors;
mod credential;
mod docs;
mod document;
mod error;
mod file;
mod form;
mod interceptor;
mod mobile;
mod multipart;
mod places;
mod product;
mod rate_limit;
mod received;
mod rejection;
mod rest;
mod session;
mod share_link;
mod span;
mod turns;
mod unpublished;
mod unsent;

use dropshot::{ApiDescription, ApiDescriptionRegisterError};
use openapi_dropshot_runtime::Methods;

use crate::generated;

pub use api::{Api, Service};
pub(crate) use concurrency_limit::Permit;
pub use context::Context;
pub(crate) use context::{RequestContext, still_allowed};
pub(crate) use credential::{address, browser, cookie, stranger, visitor};
pub(crate) use docs::register_at_root;
pub(crate) use error::answer as problem;
pub(crate) use file::File;
pub(crate) use form::{Form, MULTIPART, URL_ENCODED, UnreadForm, UnreadUpload};
pub(crate) use interceptor::{Intercepted, Interceptor};
pub(crate) use received::{list_turn, received_form};
pub use rejection::Error;
pub(crate) use rest::{BrokenOff, Rest};
pub(crate) use unpublished::{NoVariables, Variables, get, get_with_query, serve};

/// Returns every endpoint of the server: both published interfaces, their documents, and pages that show them.
///
/// # Errors
/// When two endpoints conflict, which a test shows.
pub fn api() -> Result<Api, ApiDescriptionRegisterError> {
    let mut api = Api {
        endpoints: ApiDescription::new(),
        methods: Methods::default(),
        operations: Vec::new(),
    };
    generated::catalog::register::<Service>(&mut api.endpoints)?;
    api.methods.add_published(generated::catalog::OPERATIONS);
    generated::mobile::register::<Service>(&mut api.endpoints)?;
    api.methods.add_published(generated::mobile::OPERATIONS);
    let published = [
        generated::catalog::OPERATIONS,
        generated::mobile::OPERATIONS,
    ];
    let published = published.into_iter().flatten();
    api.operations
        .extend(published.map(|operation| operation.id));
    session::register(&mut api)?;
    document::register(&mut api)?;
    docs::register(&mut api)?;
    Ok(api)
}
