//! Answers in gzip, and documents that a client already has.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use test_support::caller::Request;
use test_support::given;
use test_support::response_validator::Received;

use crate::given::{Given, PRODUCTS, TOKEN, given};

const DOCUMENTS: [&str; 4] = [
    "/api/v1/openapi.json",
    "/api/v1/openapi.yaml",
    "/api/mobile/openapi.json",
    "/api/mobile/openapi.yaml",
];

async fn send(given: &Given, request: Request) -> Received {
    let answer = given.service.caller.send_unchecked(request).await;
    answer.expect("an answer comes")
}

fn unzipped(received: &Received) -> Vec<u8> {
    assert_eq!(received.header("content-encoding"), Some("gzip"));
    let mut bytes = Vec::new();
    let mut decoder = GzDecoder::new(&*received.body);
    decoder.read_to_end(&mut bytes).expect("it is gzip");
    bytes
}

/// A page of more than a kilobyte.
async fn page(given: &Given) -> Request {
    for number in 0..5 {
        let product = json!({
            "name": format!("Product {number}"), "unitPrice": 1, "currency": "EUR", "description": "a word ".repeat(100),
        });
        given.created(&product).await;
    }
    given.live("GET", PRODUCTS)
}

#[tokio::test]
async fn a_large_answer_comes_in_gzip_where_that_is_asked_for() {
    let given = given!(given());
    let request = page(&given).await;
    let plain = send(&given, request.clone()).await;
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
    for asked in ["gzip", "br, gzip;q=0.5", "*", "identity;q=0, gzip"] {
        let gzip = send(&given, request.clone().header("accept-encoding", asked)).await;
        assert_eq!(gzip.header("vary"), Some("Accept-Encoding"), "{asked}");
        assert_eq!(gzip.header("content-type"), Some("application/json"));
        assert!(unzipped(&gzip) == plain.body, "{asked}: other bytes");
        assert!(
            gzip.body.len() < plain.body.len() / 3,
            "{}",
            gzip.body.len()
        );
        let length = gzip.header("content-length").expect("a length");
        assert_eq!(length, gzip.body.len().to_string());
    }
    for asked in [
        "identity",
        "br",
        "gzip;q=0, *",
        "gzip;q=0.1, identity",
        "identity;q=0",
    ] {
        let other = send(&given, request.clone().header("accept-encoding", asked)).await;
        assert_eq!(
            (other.status, other.header("content-encoding")),
            (200, None),
            "{asked}"
        );
        assert!(other.body == plain.body, "{asked}: other bytes");
    }
}

/// Reading all of them cost eighteen times as much as such a request costs otherwise.
#[tokio::test]
async fn of_a_list_of_thousands_of_codings_the_first_are_read() {
    let given = given!(given());
    let refused = Request::new("GET", PRODUCTS);
    for (before, coding) in [(31, Some("gzip")), (32, None), (15_000, None)] {
        let codings = format!("{}gzip, identity;q=0", ",".repeat(before - 1));
        let codings = format!("identity;q=0,{codings}");
        let answer = send(&given, refused.clone().header("accept-encoding", codings)).await;
        let received = (answer.status, answer.header("content-encoding"));
        assert_eq!(received, (401, coding), "{before} before it");
    }
}

#[tokio::test]
async fn a_small_answer_comes_as_it_is_unless_that_is_refused() {
    let given = given!(given());
    let request = given.live("GET", given.path_of_new().await);
    let plain = send(&given, request.clone().header("accept-encoding", "gzip")).await;
    assert_eq!(
        (plain.header("content-encoding"), plain.header("vary")),
        (None, None)
    );
    let refusing = |request: Request| request.header("accept-encoding", "gzip, identity;q=0");
    let gzip = send(&given, refusing(request)).await;
    assert_eq!(unzipped(&gzip), plain.body);
    // Errors, too; and an answer without a body has no coding.
    let error = send(&given, refusing(Request::new("GET", PRODUCTS))).await;
    let error: Value = serde_json::from_slice(&unzipped(&error)).expect("JSON");
    assert_eq!(error["error"]["code"], "invalid_token");
    let path = given.path_of_new().await;
    let deleted = send(&given, refusing(given.live("DELETE", path))).await;
    assert_eq!(
        (deleted.status, deleted.header("content-encoding")),
        (204, None)
    );
}

#[tokio::test]
async fn the_token_endpoint_is_never_compressed() {
    let given = given!(given());
    let exchange = given!(given.request("exchange_token").await);
    let tokens = send(
        &given,
        exchange.header("accept-encoding", "gzip, identity;q=0"),
    )
    .await;
    assert_eq!(
        (tokens.status, tokens.header("content-encoding")),
        (200, None)
    );
    assert!(tokens.json()["access_token"].is_string());
    let refused = Request::new("POST", TOKEN)
        .text("[")
        .header("accept-encoding", "gzip, *;q=0");
    let refused = send(&given, refused).await;
    assert_eq!(
        (refused.status, refused.header("content-encoding")),
        (400, None)
    );
}

#[tokio::test]
async fn a_page_of_the_longest_descriptions_comes_as_it_is() {
    let given = given!(given());
    let product = json!({
        "name": "Long", "unitPrice": 1, "currency": "EUR", "description": "\u{1f980}".repeat(2_000),
    });
    for _ in 0..9 {
        given.created(&product).await;
    }
    let list = given.live("GET", format!("{PRODUCTS}?limit=100"));
    let page = send(&given, list.header("accept-encoding", "gzip")).await;
    assert!(page.body.len() > 64 * 1024, "{}", page.body.len());
    assert_eq!((page.status, page.header("content-encoding")), (200, None));
}

#[tokio::test]
async fn links_are_never_compressed() {
    let given = given!(given());
    let list = given!(given.request("list_links").await);
    let links = send(&given, list.header("accept-encoding", "gzip, identity;q=0")).await;
    assert_eq!(
        (links.status, links.header("content-encoding")),
        (200, None)
    );
}

#[tokio::test]
async fn a_document_that_the_client_has_is_not_sent_again() {
    let given = given!(given());
    for path in DOCUMENTS {
        let asking = |encoding: &str| Request::new("GET", path).header("accept-encoding", encoding);
        let plain = send(&given, asking("identity")).await;
        let gzip = send(&given, asking("gzip")).await;
        assert!(unzipped(&gzip) == plain.body, "{path}");
        assert!(gzip.body.len() < plain.body.len() / 3, "{path}");
        let tags = [&plain, &gzip].map(|it| it.header("etag").expect("a tag").to_owned());
        assert_ne!(tags[0], tags[1], "{path}");
        for (encoding, tag, other) in [
            ("identity", &tags[0], &tags[1]),
            ("gzip", &tags[1], &tags[0]),
        ] {
            let has = |tag: &str| asking(encoding).header("if-none-match", tag);
            let unchanged = send(&given, has(tag)).await;
            assert_eq!((unchanged.status, unchanged.body.len()), (304, 0), "{path}");
            assert_eq!(unchanged.header("etag"), Some(&**tag));
            assert_eq!(unchanged.header("cache-control"), Some("no-cache"));
            assert_eq!(unchanged.header("vary"), Some("Accept-Encoding"));
            let weak = send(&given, has(&format!("\"other\", W/{tag}"))).await;
            assert_eq!(weak.status, 304, "{path}");
            let changed = send(&given, has(other)).await;
            assert_eq!(changed.status, 200, "{path}");
            assert_eq!(changed.header("cache-control"), Some("no-cache"));
        }
        let head = send(&given, asking("gzip").method("HEAD")).await;
        assert_eq!((head.status, head.header("etag")), (200, Some(&*tags[1])));
        assert_eq!(head.header("content-length"), gzip.header("content-length"));
    }
}
