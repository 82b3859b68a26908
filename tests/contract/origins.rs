//! Requests that browsers send for pages of other origins. `tests/interop/docs/` has such pages in a browser.

use serde_json::json;
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::response_validator::Received;

use crate::given::{Given, PRODUCTS, TOKEN, given, given_own};

const PAGE: &str = "https://app.example.com";
const OTHER: &str = "https://elsewhere.example";
const LINKS: &str = "/api/mobile/items/file/01a1faef-295b-7c3e-9f21-6d0b8a4c5e17/links";
const DOCUMENTS: [&str; 4] = [
    "/api/v1/openapi.json",
    "/api/v1/openapi.yaml",
    "/api/mobile/openapi.json",
    "/api/mobile/openapi.yaml",
];

fn allowing(origins: &str) -> Result<Given, Skip> {
    given_own(&[("INVOICING_CORS_ORIGINS", origins)])
}

async fn send(given: &Given, request: Request) -> Received {
    let answer = given.service.caller.send_unchecked(request).await;
    answer.expect("an answer comes")
}

/// The preflight of a browser before it lets a page of `origin` send `method` there.
fn preflight(origin: &str, method: &str, path: &str) -> Request {
    Request::new("OPTIONS", path)
        .header("origin", origin)
        .header("access-control-request-method", method)
        .header(
            "access-control-request-headers",
            "authorization,content-type",
        )
}

/// The headers of an answer that are about other origins.
fn about_origins(received: &Received) -> Vec<&str> {
    let names = received.headers.iter().map(|(name, _)| name.as_str());
    names
        .filter(|it| it.starts_with("access-control-"))
        .collect()
}

#[tokio::test]
async fn a_page_of_a_listed_origin_may_call_the_operations_and_read_the_documents() {
    let given = given!(allowing("https://first.example,https://app.example.com"));
    let product = json!({ "name": "from a page", "unitPrice": 1, "currency": "EUR" });
    let created = given.live("POST", PRODUCTS).json(&product);
    let created = send(&given, created.header("origin", PAGE)).await;
    assert_eq!(created.status, 201);
    assert_eq!(created.header("access-control-allow-origin"), Some(PAGE));
    let readable = created
        .header("access-control-expose-headers")
        .expect("a list");
    for name in ["Location", "RateLimit", "Retry-After", "x-request-id"] {
        assert!(
            readable.split(", ").any(|it| it == name),
            "{name}: {readable}"
        );
    }
    // Errors, too, or a page could not tell one from a network failure.
    for (method, path, status) in [
        ("GET", PRODUCTS, 401),
        ("PUT", PRODUCTS, 405),
        ("POST", TOKEN, 400),
    ] {
        let request = Request::new(method, path).text("{}").header("origin", PAGE);
        let refused = send(&given, request).await;
        assert_eq!(refused.status, status, "{method} {path}");
        assert_eq!(refused.header("access-control-allow-origin"), Some(PAGE));
    }
    for path in DOCUMENTS {
        let read = send(&given, Request::new("GET", path).header("origin", PAGE)).await;
        assert_eq!(read.status, 200, "{path}");
        assert_eq!(read.header("access-control-allow-origin"), Some(PAGE));
    }
}

#[tokio::test]
async fn an_answer_of_a_listed_origin_is_not_stored_for_another() {
    let given = given!(allowing(PAGE));
    for request in [
        Request::new("GET", PRODUCTS),
        Request::new("GET", PRODUCTS).header("origin", OTHER),
        Request::new("GET", PRODUCTS).header("origin", PAGE),
        Request::new("GET", DOCUMENTS[0]).header("origin", OTHER),
    ] {
        let received = send(&given, request).await;
        let varies: Vec<_> = received
            .headers
            .iter()
            .filter(|(name, _)| name.as_str() == "vary")
            .collect();
        let names = varies.iter().any(|(_, value)| value == "Origin");
        assert!(names, "{varies:?}");
    }
}

#[tokio::test]
async fn other_origins_are_told_nothing() {
    let given = given!(allowing(PAGE));
    for origin in [
        OTHER,
        "null",
        "https://app.example.com.elsewhere.example",
        "http://app.example.com",
    ] {
        for request in [
            Request::new("GET", PRODUCTS).header("origin", origin),
            Request::new("GET", DOCUMENTS[0]).header("origin", origin),
            preflight(origin, "POST", PRODUCTS),
        ] {
            let received = send(&given, request).await;
            assert_eq!(about_origins(&received), [""; 0], "{origin}");
        }
        assert_eq!(
            send(&given, preflight(origin, "POST", PRODUCTS))
                .await
                .status,
            405
        );
    }
    // Two origins count as none: no browser sends that.
    let two = preflight(PAGE, "POST", PRODUCTS).header("origin", PAGE);
    assert_eq!(about_origins(&send(&given, two).await), [""; 0]);
}

#[tokio::test]
async fn a_preflight_needs_no_credential_and_names_what_the_path_takes() {
    let given = given!(allowing(PAGE));
    for (path, methods) in [
        (PRODUCTS, "GET, POST"),
        (
            "/api/v1/products/01a1faef-295b-7c3e-9f21-6d0b8a4c5e17",
            "GET, PATCH, DELETE",
        ),
        (LINKS, "GET"),
        (TOKEN, "POST"),
    ] {
        let answer = send(&given, preflight(PAGE, "POST", path)).await;
        assert_eq!((answer.status, answer.body.len()), (204, 0), "{path}");
        let header = |name| answer.header(name);
        assert_eq!(header("access-control-allow-origin"), Some(PAGE), "{path}");
        assert_eq!(
            header("access-control-allow-methods"),
            Some(methods),
            "{path}"
        );
        assert_eq!(
            header("access-control-allow-headers"),
            Some("Authorization, Content-Type, Idempotency-Key, X-Team-Id")
        );
        assert_eq!(header("access-control-max-age"), Some("7200"));
        assert_eq!(
            (header("allow"), header("content-type")),
            (None, None),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_preflight_is_answered_on_published_paths_and_nowhere_else() {
    let given = given!(allowing("*"));
    for path in [
        "/",
        "/docs",
        "/docs/catalog",
        DOCUMENTS[0],
        "/api/v1/products/",
        "/nothing",
    ] {
        let answer = send(&given, preflight(PAGE, "GET", path)).await;
        assert!(
            [404, 405].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
        assert_eq!(about_origins(&answer), [""; 0], "{path}");
    }
    for path in ["/docs/catalog", "/docs/page.js"] {
        let page = send(&given, Request::new("GET", path).header("origin", PAGE)).await;
        assert_eq!(about_origins(&page), [""; 0], "{path}");
    }
    // Without the preflight's header, OPTIONS is answered as ever.
    let plain = Request::new("OPTIONS", PRODUCTS).header("origin", PAGE);
    assert_eq!(send(&given, plain).await.status, 405);
}

#[tokio::test]
async fn all_origins_may_be_allowed_but_no_cookie_ever_counts() {
    let given = given!(allowing("*"));
    let cookie = format!("session={0}; Authorization=Bearer {0}", given.team.live);
    let request = Request::new("GET", PRODUCTS)
        .header("origin", PAGE)
        .header("cookie", cookie);
    for (request, status) in [
        (request, 401),
        (given.live("GET", PRODUCTS).header("origin", PAGE), 200),
        (preflight(OTHER, "POST", PRODUCTS), 204),
    ] {
        let received = send(&given, request).await;
        assert_eq!(received.status, status);
        assert_eq!(received.header("access-control-allow-origin"), Some("*"));
        assert_eq!(received.header("access-control-allow-credentials"), None);
    }
}

#[tokio::test]
async fn without_the_setting_no_other_origin_may_anything() {
    let given = given!(given());
    for request in [
        given.live("GET", PRODUCTS).header("origin", PAGE),
        Request::new("GET", DOCUMENTS[0]).header("origin", PAGE),
    ] {
        let received = send(&given, request).await;
        assert_eq!(received.status, 200);
        assert_eq!(about_origins(&received), [""; 0]);
    }
    assert_eq!(
        send(&given, preflight(PAGE, "POST", PRODUCTS)).await.status,
        405
    );
}
