//! Request bodies: how they are read, for how long, and what happens to those that are not read.

use std::time::{Duration, Instant};

use openapi_dropshot_runtime::{DEADLINE, DRAIN_BYTES, MAX_BYTES};

use crate::connection::{Server, head};

const KEY: &str = "X-Store-Key: secret";
const CHUNKED: &str = "Transfer-Encoding: chunked";

/// A pet whose request has exactly this length.
fn pet_of(length: usize) -> String {
    let pet = r#"{"name":"Rex","species":"dog"}"#;
    pet.to_owned() + &" ".repeat(length - pet.len())
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn a_body_may_have_64_kib_and_not_one_byte_more() {
    let server = Server::start();
    for (length, status) in [(MAX_BYTES, 201), (MAX_BYTES + 1, 413)] {
        let answer = server.send("POST /pets", &[KEY], &pet_of(length)).await;
        assert_eq!(answer.status, status, "declared {length}");
        let mut connection = server.connect().await;
        connection
            .write(head("POST /pets", &[KEY, CHUNKED], 0))
            .await;
        connection.write(chunk(&pet_of(length)) + "0\r\n\r\n").await;
        assert_eq!(
            connection.answer().await.status,
            status,
            "in chunks {length}"
        );
    }
}

#[tokio::test]
async fn the_media_type_is_json_or_missing() {
    let server = Server::start();
    for (headers, status) in [
        (&[KEY][..], 201),
        (&[KEY, "Content-Type: application/json"], 201),
        (
            &[KEY, "content-type: Application/JSON ; charset=utf-8"],
            201,
        ),
        (&[KEY, "Content-Encoding: identity"], 201),
        (&[KEY, "Content-Type: "], 415),
        (&[KEY, "Content-Type: text/json"], 415),
        (&[KEY, "Content-Type: application/problem+json"], 415),
        (&[KEY, "Content-Type: application/jsonx"], 415),
        (
            &[KEY, "Content-Type: application/x-www-form-urlencoded"],
            415,
        ),
        (
            &[
                KEY,
                "Content-Type: application/json",
                "Content-Type: text/plain",
            ],
            415,
        ),
        (&[KEY, "Content-Encoding: gzip"], 415),
        (
            &[KEY, "Content-Encoding: identity", "Content-Encoding: gzip"],
            415,
        ),
    ] {
        let answer = server.send("POST /pets", headers, &pet_of(100)).await;
        assert_eq!(answer.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_missing_body_is_not_json() {
    let answer = Server::start().send("POST /pets", &[KEY], "").await;
    assert_eq!(
        (
            answer.status,
            answer.json()["violations"][0]["rule"].as_str()
        ),
        (400, Some("json"))
    );
}

#[tokio::test]
async fn a_body_where_there_should_be_none_is_ignored() {
    let server = Server::start();
    for (length, may_be_kept) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
        let mut kept = 0;
        for _ in 0..20 {
            let mut connection = server.connect().await;
            connection
                .write(head("GET /pets", &[], length) + &"x".repeat(length))
                .await;
            let answer = connection.answer().await;
            assert_eq!(answer.status, 200);
            if answer.header("connection") != Some("close") {
                kept += 1;
                connection.write(head("GET /pets", &[], 0)).await;
                assert_eq!(connection.answer().await.status, 200);
            }
        }
        // A busy machine may not have read all of it in time.
        assert_eq!(kept > 0, may_be_kept, "{length}: {kept}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_in_time_answers_408() {
    let server = Server::start();
    let mut connection = server.connect().await;
    let start = Instant::now();
    connection
        .write(head("POST /pets", &[KEY], 100) + "{")
        .await;
    assert_eq!(connection.answer().await.status, 408);
    assert!(start.elapsed() >= DEADLINE);
}

#[tokio::test]
async fn a_client_that_writes_before_it_reads_gets_an_early_answer() {
    let server = Server::start();
    let mut connection = server.connect().await;
    // More than the system buffers on both sides, so that writing ends only when the other side
    // reads.
    connection.write(head("POST /pets", &[], DRAIN_BYTES)).await;
    connection.write("x".repeat(DRAIN_BYTES)).await;
    let answer = connection.answer().await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn an_early_answer_does_not_wait_for_the_body() {
    let server = Server::start();
    let mut connection = server.connect().await;
    let start = Instant::now();
    connection.write(head("POST /pets", &[], 1000) + "x").await;
    assert_eq!(connection.answer().await.status, 401);
    assert!(
        start.elapsed() < Duration::from_millis(900),
        "{:?}",
        start.elapsed()
    );
    assert!(
        connection.is_closed().await,
        "nobody waits for the rest for ever"
    );
    assert!(start.elapsed() < DEADLINE);
}

#[tokio::test]
async fn a_client_that_waits_to_go_on_is_told_only_when_somebody_will_read() {
    let server = Server::start();
    let body = pet_of(100);
    let mut connection = server.connect().await;
    connection
        .write(head(
            "POST /pets",
            &[KEY, "Expect: 100-continue"],
            body.len(),
        ))
        .await;
    assert_eq!(connection.answer().await.status, 100);
    connection.write(&body).await;
    assert_eq!(connection.answer().await.status, 201);

    let mut connection = server.connect().await;
    connection
        .write(head("POST /pets", &["Expect: 100-continue"], body.len()))
        .await;
    assert_eq!(connection.answer().await.status, 401);
    assert!(connection.is_closed().await);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_nothing_behind() {
    let server = Server::start();
    let mut connection = server.connect().await;
    connection
        .write(head("POST /pets", &[KEY], 100) + "{")
        .await;
    connection.finish().await;
    drop(connection);
    assert_eq!(server.send("GET /pets", &[], "").await.status, 200);
    assert_eq!(server.errors(), Vec::<String>::new());
}
