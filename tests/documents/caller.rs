//! Shows that the caller fails a test that gets an unlisted answer, and names the reason.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use test_support::caller::{Caller, Request};

/// A server that answers its first request with this text, whatever the request is. Returns its
/// address.
fn answers(text: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let mut request = [0; 4096];
        let _ = stream.read(&mut request)?;
        stream.write_all(text.as_bytes())
    });
    format!("http://{address}")
}

/// Sends a request to a server that answers `text`. Returns the test's failure, if it fails.
async fn failure(text: String) -> Option<String> {
    let caller = Caller::new(answers(text));
    let request = Request::new("GET", "/api/v1/products?limit=1").bearer("inv_live_secret");
    let sent = tokio::spawn(async move { caller.send(request).await }).await;
    let panic = sent.err()?.into_panic();
    Some(*panic.downcast::<String>().expect("a panic has a text"))
}

fn answer(status: &str, header: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nx-request-id: 1\r\ncontent-type: application/json\r\n\
         {header}content-length: {length}\r\n\r\n{body}"
    )
}

const EMPTY_PAGE: &str = r#"{"data":{"data":[],"hasMore":false,"nextCursor":null}}"#;

#[tokio::test]
async fn a_listed_answer_passes() {
    assert_eq!(failure(answer("200 OK", "", EMPTY_PAGE)).await, None);
}

#[tokio::test]
async fn an_unlisted_answer_fails_the_test_that_got_it() {
    for (text, expected) in [
        (
            answer("418 No Coffee", "", "{}"),
            "- status 418 is not listed for list_products",
        ),
        (
            answer("200 OK", "etag: 1\r\n", EMPTY_PAGE),
            "- header etag: 1 is not listed",
        ),
        (
            answer("200 OK", "", r#"{"data":{}}"#),
            "- the body violates \"required\"",
        ),
    ] {
        let failure = failure(text).await.expect("the answer is not listed");
        assert!(failure.contains(expected), "{failure}");
    }
}

#[tokio::test]
async fn the_failure_tells_request_and_answer_but_no_credential() {
    let failure = failure(answer("418 No Coffee", "", r#"{"tea":true}"#)).await;
    let failure = failure.expect("the answer is not listed");
    for part in [
        "openapi/catalog.yaml does not list this answer",
        "request: GET /api/v1/products?limit=1",
        "authorization: (22 bytes)",
        "answer: 418",
        r#"{"tea":true}"#,
    ] {
        assert!(failure.contains(part), "{part:?} is missing in {failure}");
    }
    assert!(!failure.contains("secret"), "{failure}");
}
