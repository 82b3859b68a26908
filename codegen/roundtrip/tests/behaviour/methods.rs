//! Methods that a path does not have.

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
