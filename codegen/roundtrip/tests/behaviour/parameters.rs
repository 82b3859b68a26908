//! Parameters in path, query and headers.

use crate::connection::{Response, Server};

const READER: &str = "Authorization: Bearer reader";

async fn books(query: &str) -> Response {
    Server::start()
        .send(&format!("GET /v1/books{query}"), &[READER], "")
        .await
}

#[tokio::test]
async fn what_is_left_out_has_its_default() {
    for query in ["", "?", "?&&"] {
        assert_eq!(books(query).await.json()["next"], "10||title", "{query}");
    }
}

#[tokio::test]
async fn names_and_values_are_percent_decoded() {
    let answer = books("?page%5Fsize=%32%30&sort=published%2eat&cursor=a1").await;
    assert_eq!(answer.json()["next"], "20|a1|published.at");
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_query_comes_at_once() {
    for (query, title) in [
        ("?page_size=0", "page_size minimum"),
        ("?page_size=51", "page_size maximum"),
        ("?page_size=1.0", "page_size type"),
        ("?page_size=", "page_size type"),
        ("?page_size", "page_size type"),
        ("?page_size=+1", "page_size type"),
        ("?page_size=ten", "page_size type"),
        ("?sort=Title", "sort enum"),
        ("?cursor=a+b", "cursor pattern"),
        ("?cursor=%ff", "cursor format"),
        ("?Page_size=1", "Page_size unknown"),
        ("?cursor=a&cursor=a&cursor=a", "cursor repeated"),
        (
            "?x=1&page_size=51&x=2&page_size=0",
            "x unknown, page_size repeated, page_size maximum",
        ),
    ] {
        let answer = books(query).await;
        assert_eq!(
            (answer.status, answer.json()["title"].as_str()),
            (400, Some(title)),
            "{query}"
        );
    }
}

#[tokio::test]
async fn the_first_hundred_of_nine_thousand_unknown_parameters_are_told() {
    let query: String = (0..9_000).map(|index| format!("&x{index}")).collect();
    let answer = books(&format!("?{query}")).await;
    assert_eq!(
        answer.json()["title"].as_str().unwrap().split(", ").count(),
        100
    );
}

#[tokio::test]
async fn path_variables_are_decoded_and_checked() {
    let server = Server::start();
    let copy = |path: &'static str| server.send(path, &[READER], "");
    let answer = copy("GET /v1/books/978316148410%30/copies/%37").await;
    assert_eq!(
        answer.body,
        r#"{"number":7,"lent":false,"history":["9783161484100",null]}"#
    );
    for (path, title) in [
        ("GET /v1/books/x/copies/0", "isbn pattern, number minimum"),
        (
            "GET /v1/books/9783161484100/copies/2147483648",
            "number maximum",
        ),
        ("GET /v1/books/9783161484100/copies/1e0", "number type"),
    ] {
        assert_eq!(copy(path).await.json()["title"], title, "{path}");
    }
}

#[tokio::test]
async fn headers_are_typed_and_may_come_once() {
    let server = Server::start();
    let path = "PATCH /parcels/0190f3a2-7b64-7c1e-9d5a-3f0c8e2b1a47";
    let token = "Authorization: Bearer carrier";
    let send = async |headers: &[&str]| server.send(path, headers, "{}").await;
    let answer = send(&[token, "if-match: v1", "x-dry-run: true"]).await;
    assert_eq!((answer.status, answer.header("etag")), (200, Some("v1")));
    assert_eq!(answer.json()["fragile"], true);
    for (header, wrong) in [
        ("X-Dry-Run: yes", "X-Dry-Run type"),
        ("X-Dry-Run: 1", "X-Dry-Run type"),
        ("If-Match: v1", "If-Match repeated"),
        ("X-Trace: \u{e9}", ""),
    ] {
        let answer = send(&[token, "If-Match: v1", header]).await;
        assert_eq!(
            answer.json()["header"].as_str().unwrap_or_default(),
            wrong,
            "{header}"
        );
    }
}

#[tokio::test]
async fn an_operation_without_parameters_has_none() {
    let server = Server::start();
    assert_eq!(server.send("GET /v1/status?x=1", &[], "").await.status, 400);
    assert_eq!(server.send("GET /v1/status", &[], "").await.body, "{}");
}
