//! The order of checks, and what happens when the service itself fails.

use crate::connection::Server;

const JSON: &str = "Content-Type: application/json";
const KEY: &str = "X-Store-Key: secret";

#[tokio::test]
async fn a_stranger_learns_nothing_about_the_request() {
    let server = Server::start();
    let large = "x".repeat(100_000);
    for (request, body) in [
        ("POST /pets", "{"),
        ("POST /pets?unknown", "{}"),
        ("POST /pets", large.as_str()),
        ("PUT /pets/no-number", ""),
    ] {
        assert_eq!(
            server
                .send(request, &["Content-Type: text/plain"], body)
                .await
                .status,
            401
        );
    }
}

#[tokio::test]
async fn size_comes_before_type_and_type_before_everything_else() {
    let server = Server::start();
    let large = "x".repeat(100_000);
    let send = async |request: &str, headers: &[&str], body: &str| {
        server.send(request, headers, body).await
    };
    let text = "Content-Type: text/plain";
    assert_eq!(
        send("PUT /pets/x?y", &[KEY, text], large.as_str())
            .await
            .status,
        413
    );
    assert_eq!(send("PUT /pets/x?y", &[KEY, text], "{").await.status, 415);
    for (request, place) in [
        ("PUT /pets/x?y", "petId"),
        ("PUT /pets/1?y", "y"),
        ("PUT /pets/1", ""),
    ] {
        let answer = send(request, &[KEY, JSON], "{").await;
        assert_eq!(answer.status, 400);
        let violations = answer.json()["violations"].clone();
        assert_eq!(violations.as_array().unwrap().len(), 1, "{request}");
        assert_eq!(violations[0]["where"], place, "{request}");
    }
}

#[tokio::test]
async fn headers_can_be_had_before_the_rest() {
    let server = Server::start();
    let send = async |headers: &[&str]| server.send("PATCH /parcels/no-uuid", headers, "{").await;
    let token = "Authorization: Bearer carrier";
    assert_eq!(send(&[token]).await.json()["header"], "If-Match required");
    assert_eq!(send(&[token, "If-Match: v2"]).await.status, 412);
    assert_eq!(
        send(&[token, "If-Match: v1"]).await.json()["header"],
        "parcel format"
    );
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_the_connection_goes_on() {
    let server = Server::start();
    let mut connection = server.connect().await;
    for _ in 0..2 {
        connection
            .write("GET /pets/13 HTTP/1.1\r\nHost: test\r\n\r\n")
            .await;
        let answer = connection.answer().await;
        assert_eq!(answer.status, 500);
        assert_eq!(answer.json()["violations"][0]["rule"], "internal");
        assert!(!answer.body.contains("unlucky"), "{}", answer.body);
    }
    assert!(server.errors().contains(&"a handler panicked".to_owned()));
}

#[tokio::test]
async fn the_headers_of_a_success_are_sent() {
    let server = Server::start();
    let headers = [
        "Authorization: Bearer carrier",
        "Idempotency-Key: /somewhere",
    ];
    let answer = server.send("POST /parcels", &headers, "{}").await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (204, Some("/somewhere"))
    );
    assert_eq!(answer.header("x-label-count"), Some("2"));
}

#[tokio::test]
async fn an_unlisted_answer_is_sent_and_logged_as_an_error() {
    let server = Server::start();
    let answer = server
        .send("POST /parcels", &["Authorization: Bearer carrier"], "{}")
        .await;
    assert_eq!(answer.status, 404);
    assert!(
        server
            .errors()
            .contains(&"an answer is not in the document".to_owned())
    );
}

#[tokio::test]
async fn an_unlisted_header_is_sent_and_logged_as_an_error() {
    let server = Server::start();
    let headers = ["Authorization: Bearer carrier", "If-Match: v2"];
    let path = "PATCH /parcels/0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47";
    let answer = server.send(path, &headers, "{}").await;
    assert_eq!(
        (answer.status, answer.header("x-remaining")),
        (412, Some("7"))
    );
    assert!(
        server
            .errors()
            .contains(&"a header of an answer is not in the document".to_owned())
    );
}

#[tokio::test]
async fn the_hook_is_told_of_every_answer_once_with_the_notes_of_the_admission() {
    let server = Server::start();
    for (request, headers) in [
        ("GET /pets", &[][..]),
        ("DELETE /pets/1", &[KEY]),
        ("DELETE /pets/1", &[]),
        ("PUT /pets/1", &[KEY]),
        ("GET /pets/13", &[]),
        ("PATCH /pets/1", &[KEY]),
    ] {
        server.send(request, headers, "").await;
    }
    let expected = [
        "listPets 200 without key",
        "removePet 204 with key",
        "removePet 401 without key",
        "replacePet 400 with key",
        "getPet 500 without key",
        "getPet 405 without key",
    ];
    assert_eq!(server.answered(), expected);
}
