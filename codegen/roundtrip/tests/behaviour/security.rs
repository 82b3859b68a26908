//! Credentials: found where their schemes define, alone, as alternatives and together.

use crate::connection::Server;

const HEADER: &str = "X-Key: good";
const BASIC: &str = "Authorization: Basic good";
const BEARER: &str = "Authorization: Bearer good";
const COOKIE: &str = "Cookie: other=1; sid=good";

#[tokio::test]
async fn an_operation_admits_by_each_of_its_alternatives_and_by_all_schemes_of_one() {
    let server = Server::start();
    for (request, headers, told) in [
        ("GET /key?the+key=good", &[][..], "query_key[]"),
        ("GET /key", &[HEADER], "header_key[]"),
        ("GET /key", &[BASIC], "login[]"),
        ("GET /both", &[COOKIE, HEADER], "cookie_key[]+header_key[]"),
        ("GET /scope", &[BEARER], r#"oauth["open", "close"]"#),
        ("POST /scope", &[BEARER], r#"oauth["close"]"#),
        ("GET /maybe", &[], ""),
        ("GET /token", &["Authorization: bEARER good"], "token[]"),
    ] {
        let answer = server.send(request, headers, "").await;
        assert_eq!(answer.status, 204, "{request} {headers:?}");
        let answered = server.answered();
        assert_eq!(answered.last().map(String::as_str), Some(told), "{request}");
    }
    for (request, headers) in [
        ("GET /key", &[][..]),
        ("GET /key?the+key=bad", &[]),
        ("GET /key", &[BEARER]),
        ("GET /both", &[HEADER]),
        ("GET /both", &[COOKIE]),
        ("GET /scope", &[BASIC]),
        ("GET /token", &["Authorization: good"]),
        ("GET /token", &[BEARER, BEARER]),
    ] {
        let answer = server.send(request, headers, "").await;
        assert_eq!(answer.status, 401, "{request} {headers:?}");
    }
    assert_eq!(server.send("GET /public", &[], "").await.status, 204);
}

#[tokio::test]
async fn a_query_has_the_credential_of_its_operation_and_of_no_other() {
    let server = Server::start();
    let answer = server.send("GET /token?the+key=good", &[BEARER], "").await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["seen"], "the key unknown");
}

#[tokio::test]
async fn an_error_has_the_body_that_its_status_says() {
    let server = Server::start();
    for (status, body) in [
        (202, ""),
        (204, ""),
        (404, ""),
        (412, r#"{"force":3}"#),
        (400, r#"{"seen":"a request"}"#),
    ] {
        let query = if status == 400 {
            "x".to_owned()
        } else {
            status.to_string()
        };
        let answer = server
            .send(&format!("GET /errors?status={query}"), &[], "")
            .await;
        assert_eq!((answer.status, &*answer.body), (status, body));
    }
    let answer = server.send("POST /errors", &[], "").await;
    assert_eq!((answer.status, &*answer.body), (404, ""));
    assert_eq!(server.errors(), Vec::<String>::new());
    let answer = server.send("GET /errors?status=1", &[], "").await;
    assert_eq!(answer.status, 401);
    assert_eq!(
        server.errors(),
        ["the body of an answer is not in the document"]
    );
}

#[tokio::test]
async fn a_success_of_several_has_the_body_of_its_status() {
    let server = Server::start();
    for (status, body) in [
        (200, r#"{"force":200}"#),
        (201, r#"{"seen":"201"}"#),
        (202, r#"{"seen":"202"}"#),
        (204, ""),
    ] {
        let request = format!("{{\"force\":{status}}}");
        let json = "Content-Type: application/json";
        let answer = server.send("PUT /steps", &[json], &request).await;
        assert_eq!((answer.status, &*answer.body), (status, body));
        assert_eq!(answer.header("x-step"), Some("x"));
        let media_type = answer.header("content-type");
        assert_eq!(media_type.is_some(), status != 204, "{status}");
    }
    assert_eq!(server.errors(), Vec::<String>::new());
}

#[tokio::test]
async fn a_list_in_a_query_is_written_as_many_times_as_it_has_items() {
    let server = Server::start();
    for (query, told) in [
        ("", "None [] None"),
        ("?colours=red&floors=1", "Some([Red]) [1] None"),
        (
            "?colours=red&size=%31&colours=blue&size=2",
            "Some([Red, Blue]) [] Some([1, 2])",
        ),
    ] {
        let answer = server.send(&format!("GET /public{query}"), &[], "").await;
        assert_eq!(answer.status, 204, "{query}");
        let answered = server.answered();
        assert_eq!(answered.last().map(String::as_str), Some(told), "{query}");
    }
    for query in [
        "colours=green",
        "colours=red&colours=red&colours=red",
        "colours=red,blue",
        "size=1&size=x",
        "size=%ff&size=%ff",
    ] {
        let answer = server.send(&format!("GET /public?{query}"), &[], "").await;
        assert_eq!(answer.status, 400, "{query}");
    }
}
