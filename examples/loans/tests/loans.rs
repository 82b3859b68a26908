//! The library as documented, and as a client sees it.

use std::net::SocketAddr;

use dropshot::{ConfigDropshot, HttpServer, ServerBuilder};
use loans::client::loans::{Client, Error, types};
use loans::{Shelf, description};
use openapi_dropshot_test::assert_served_as_documented;
use slog::{Discard, Logger, o};

const BOOK: &str = "9780262033848";

#[test]
fn the_library_is_served_as_documented() {
    assert_served_as_documented!("loans.yaml", description().unwrap());
}

/// A server for this test alone, and a client of it.
fn library() -> (HttpServer<Shelf>, Client) {
    let config = ConfigDropshot {
        bind_address: SocketAddr::from(([127, 0, 0, 1], 0)),
        ..ConfigDropshot::default()
    };
    let log = Logger::root(Discard, o!());
    let server = ServerBuilder::new(description().unwrap(), Shelf::default(), log);
    let server = server.config(config).start().unwrap();
    let client = Client::new(&format!("http://{}", server.local_addr()));
    (server, client)
}

fn wanted(reader: i32) -> types::builder::Lend {
    types::Lend::builder().isbn(BOOK).reader(reader)
}

/// The status and the title of a refusal.
fn refusal<T: std::fmt::Debug>(answer: Result<T, Error<types::Problem>>) -> (u16, String) {
    match answer.unwrap_err() {
        Error::ErrorResponse(answer) => (answer.status().as_u16(), answer.title.clone()),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_book_is_lent_once_and_again_when_it_is_back() {
    let (_server, client) = library();
    let loan = client.lend().body(wanted(1)).send().await.unwrap();
    let lent = (409, "somebody has it".to_owned());
    assert_eq!(refusal(client.lend().body(wanted(2)).send().await), lent);
    let listed = client.list_loans().reader(1).send().await.unwrap();
    assert_eq!(listed.loans.len(), 1);
    client.give_back().id(loan.id.0).send().await.unwrap();
    client.lend().body(wanted(2)).send().await.unwrap();
}

#[tokio::test]
async fn what_the_document_does_not_allow_is_refused_with_its_places() {
    let (server, _) = library();
    let answer = reqwest::Client::new()
        .post(format!("http://{}/loans", server.local_addr()))
        .json(&serde_json::json!({ "isbn": "none", "reader": 0, "more": true }))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 400);
    let problem: types::Problem = answer.json().await.unwrap();
    assert_eq!(problem.places.len(), 3, "{:?}", problem.places);
}
