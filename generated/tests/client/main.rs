//! The client against a stub of the service, one module per concern.
//!
//! Pauses between attempts are waited for in paused time: the stub responds from threads of its
//! own, and only pauses set timers, so the clock advances by the length of a pause and no more.

#[path = "../stub/mod.rs"]
mod stub;

mod errors;
mod inputs;
mod pages;
mod products;
mod retries;
mod sessions;
mod settings;
mod shared;
mod texts;

use invoicing_client::{Client, ClientBuilder, Error};
use stub::Stub;

const ID: &str = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
const TEAM: &str = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a00";
const FILE: &str = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a03";

/// A client without timers of its own.
fn builder(stub: &Stub) -> ClientBuilder {
    let http = reqwest::Client::builder()
        .no_proxy()
        .pool_idle_timeout(None)
        .build()
        .unwrap();
    Client::builder(stub.url())
        .api_key("inv_test_key")
        .access_token("access-0")
        .http_client(http)
}

fn client(stub: &Stub) -> Client {
    builder(stub).build().unwrap()
}

/// Which input was refused before anything was sent, and why.
#[track_caller]
fn field_and_reason<T>(result: Result<T, Error>) -> (&'static str, String) {
    match result {
        Err(Error::InvalidRequest(error)) => (error.field, error.reason),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was accepted"),
    }
}
