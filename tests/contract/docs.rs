//! The documentation pages, as a browser requests them. `tests/interop/docs/` opens them in one.

use serde_json::Value;
use test_support::caller::Request;
use test_support::document;
use test_support::given;
use test_support::response_validator::Received;

use crate::given::{Given, given};

const PAGES: [(&str, &str); 2] = [
    ("/docs/catalog", "/api/v1/openapi.json"),
    ("/docs/mobile", "/api/mobile/openapi.json"),
];

/// The whole policy: anything not in it is forbidden.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async fn send(given: &Given, request: Request) -> Received {
    let answer = given.service.caller.send_unchecked(request).await;
    answer.expect("an answer comes")
}

async fn get(given: &Given, path: &str) -> Received {
    send(given, Request::new("GET", path)).await
}

fn text(received: Received) -> String {
    String::from_utf8(received.body).expect("pages are UTF-8")
}

/// The values of this attribute in HTML.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    let values = html.split(begin.as_str()).skip(1);
    values.filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn the_start_of_the_documentation_leads_to_a_document() {
    let given = given!(given());
    let received = get(&given, "/docs").await;
    assert_eq!(received.status, 302);
    assert_eq!(received.header("location"), Some("/docs/catalog"));
    assert!(text(received).contains("href=\"/docs/catalog\""));
}

#[tokio::test]
async fn a_page_shows_a_published_document_and_links_the_others() {
    let given = given!(given());
    for (path, served) in PAGES {
        let page = text(get(&given, path).await);
        assert_eq!(values(&page, "data-document"), [served]);
        let links = values(&page, "href");
        for (other, _) in PAGES {
            assert!(links.contains(&other), "{path}: {links:?}");
        }
        let document: Value = serde_json::from_str(&text(get(&given, served).await)).expect("JSON");
        let title = document["info"]["title"].as_str().expect("a title");
        assert!(page.contains(&format!("<title>{title}</title>")), "{path}");
        assert!(
            page.contains(&format!("<a href=\"{path}\">{title}</a>")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn everything_that_a_page_names_is_on_this_server_under_the_strict_policy() {
    let given = given!(given());
    for (path, _) in PAGES {
        let page = text(get(&given, path).await);
        let mut named = [values(&page, "href"), values(&page, "src")].concat();
        // A link to a place in the page is left to the browser's test (`tests/interop/docs`).
        named.retain(|name| *name != "data:," && !name.starts_with('#'));
        assert!(named.len() > 6, "{named:?}");
        for name in named {
            assert!(name.starts_with('/') && !name.starts_with("//"), "{name}");
            let received = get(&given, name).await;
            assert_eq!(received.status, 200, "{name}");
            if name.starts_with("/docs/") {
                assert_eq!(
                    received.header("content-security-policy"),
                    Some(POLICY),
                    "{name}"
                );
                assert_eq!(received.header("x-content-type-options"), Some("nosniff"));
                assert_eq!(received.header("referrer-policy"), Some("no-referrer"));
            }
        }
    }
}

#[tokio::test]
async fn a_file_that_the_browser_has_is_not_sent_again() {
    let given = given!(given());
    let path = "/docs/swagger-ui-bundle.js";
    let first = get(&given, path).await;
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    assert_eq!(first.header("content-encoding"), Some("gzip"));
    let tag = first.header("etag").expect("a tag");
    let conditional = |tag: &str| Request::new("GET", path).header("if-none-match", tag);

    let second = send(&given, conditional(tag)).await;
    assert_eq!((second.status, second.body.len()), (304, 0));
    assert_eq!(second.header("etag"), Some(tag));
    let other = send(&given, conditional("\"other\"")).await;
    assert_eq!((other.status, other.body), (200, first.body));
}

#[tokio::test]
async fn the_pages_are_in_no_document() {
    for document in [document::catalog(), document::mobile()] {
        let paths = document.json["paths"].as_object().expect("paths");
        assert!(
            paths.keys().all(|path| path.starts_with("/api/")),
            "{paths:?}"
        );
    }
}
