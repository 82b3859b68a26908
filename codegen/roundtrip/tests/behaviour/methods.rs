//! Methods that a path does not have, and paths that are not written as published.

use crate::connection::Server;

const ALL: [&str; 9] = [
    "GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
];

#[tokio::test]
async fn every_absent_method_answers_405_with_the_present_ones() {
    let server = Server::start();
    for (path, allow) in [
        ("/pets", "GET, POST"),
        ("/pets/1", "GET, PUT, DELETE"),
        ("/area", "POST"),
    ] {
        for method in ALL
            .into_iter()
            .filter(|it| !allow.split(", ").any(|one| one == *it))
        {
            let mut connection = server.connect().await;
            connection
                .write(crate::connection::head(&format!("{method} {path}"), &[], 0))
                .await;
            // HEAD has no body, whatever its length says.
            if method == "HEAD" {
                connection.finish().await;
                continue;
            }
            let answer = connection.answer().await;
            assert_eq!(
                (answer.status, answer.header("allow")),
                (405, Some(allow)),
                "{method} {path}"
            );
            assert!(answer.header("x-request-id").is_some());
        }
    }
}

#[tokio::test]
async fn an_absent_method_is_told_before_authentication_in_the_words_of_the_path() {
    let server = Server::start();
    let answer = server.send("DELETE /pets", &[], "").await;
    assert_eq!(answer.json()["violations"][0]["rule"], "method");
    let answer = server.send("PUT /v1/books", &[], "").await;
    assert_eq!(answer.json()["title"], " method");
}

#[tokio::test]
async fn an_absent_method_is_answered_whatever_its_path_variables_are() {
    let server = Server::start();
    assert_eq!(
        server.send("POST /pets/no-number", &[], "").await.status,
        405
    );
}

#[tokio::test]
async fn an_answer_to_head_has_its_headers_and_no_body() {
    let server = Server::start();
    let long = "a".repeat(21);
    for (name, status, pieces) in [("a", 200, Some("2")), (&long, 400, None)] {
        let mut connection = server.connect().await;
        let request = format!("HEAD /files/{name}");
        connection
            .write(crate::connection::head(&request, &["Connection: close"], 0))
            .await;
        let answer = connection.answer().await;
        assert_eq!((answer.status, answer.header("x-pieces")), (status, pieces));
        assert_eq!(connection.rest().await, "", "{name}");
    }
    assert_eq!(server.errors(), Vec::<String>::new());
}

#[tokio::test]
async fn a_path_leads_to_an_operation_only_as_it_is_written() {
    let server = Server::start();
    for path in ["//pets/1", "/pets//1", "/pets/1/", "/%70ets/1"] {
        for method in ["GET", "DELETE", "POST"] {
            let answer = server.send(&format!("{method} {path}"), &[], "").await;
            assert_eq!(answer.status, 404, "{method} {path}");
            let id = answer.header("x-request-id").expect("every answer has one");
            assert_eq!(answer.json()["message"], "Not Found", "{method} {path}");
            assert_eq!(answer.json()["request_id"], id, "{method} {path}");
        }
    }
    assert_ne!(server.send("GET /pets/%31", &[], "").await.status, 404);
}
