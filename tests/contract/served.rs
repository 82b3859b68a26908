//! The documents that the running server serves.

use serde_json::Value;
use test_support::caller::Request;
use test_support::document;
use test_support::given;

use crate::given::given;

#[tokio::test]
async fn the_server_serves_the_published_documents_to_everybody() {
    let given = given!(given());
    for (document, path) in [
        (document::catalog(), "/api/v1"),
        (document::mobile(), "/api/mobile"),
    ] {
        for format in ["json", "yaml"] {
            let request = Request::new("GET", format!("{path}/openapi.{format}"));
            let received = given
                .service
                .caller
                .send_unchecked(request)
                .await
                .expect("an answer comes");
            assert_eq!(received.status, 200);
            let text = String::from_utf8(received.body).expect("documents are UTF-8");
            let served: Value = match format {
                "json" => serde_json::from_str(&text).expect("it is JSON"),
                _ => document::parse(&text),
            };
            assert_eq!(served, document.json, "{path} {format}");
        }
    }
}

#[tokio::test]
async fn the_documents_describe_seven_operations_and_nothing_else() {
    let ids: Vec<_> = [document::catalog(), document::mobile()]
        .iter()
        .flat_map(|document| &document.operations)
        .map(|operation| operation.id.clone())
        .collect();
    let mut expected = [
        "list_products",
        "create_product",
        "get_product",
        "update_product",
        "archive_product",
        "exchange_token",
        "list_links",
    ];
    let mut ids: Vec<_> = ids.iter().map(String::as_str).collect();
    ids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ids, expected);
}
