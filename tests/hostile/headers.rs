//! The headers of every answer for browsers and caches, and the answers to HEAD.

use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;
use test_support::caller::{Caller, Request};
use test_support::given;
use test_support::port;
use test_support::response_validator::Received;
use test_support::service::Service;

const BINARY: &str = env!("CARGO_BIN_EXE_invoicing");

const UNPUBLISHED: [&str; 12] = [
    "/",
    "/docs",
    "/docs/catalog",
    "/docs/mobile",
    "/docs/page.css",
    "/docs/page.js",
    "/docs/swagger-ui.css",
    "/docs/swagger-ui-bundle.js",
    "/api/v1/openapi.json",
    "/api/v1/openapi.yaml",
    "/api/mobile/openapi.json",
    "/api/mobile/openapi.yaml",
];

const HSTS: &str = "strict-transport-security";

async fn send(caller: &Caller, request: Request) -> Received {
    let sent = caller.send_unchecked(request.clone()).await;
    sent.unwrap_or_else(|error| panic!("no answer: {error:?}\n{request:?}"))
}

/// The headers that are the same in every answer.
fn lasting(received: &Received) -> Vec<(String, String)> {
    let mut headers = received.headers.clone();
    headers.retain(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    headers.sort();
    headers
}

/// The answers to both, of one length if that ever happens: numbers among the metrics grow.
async fn get_and_head(caller: &Caller, path: &str) -> (Received, Received) {
    let mut answers = None;
    for _ in 0..100 {
        let get = send(caller, Request::new("GET", path)).await;
        let head = send(caller, Request::new("HEAD", path)).await;
        let length = get.body.len().to_string();
        let is_same = head.header("content-length") == Some(&*length);
        answers = Some((get, head));
        if is_same {
            break;
        }
    }
    answers.expect("it was asked")
}

/// Asserts that for these paths HEAD matches GET, for each of the callers.
async fn assert_head_is_get(callers: &[Caller], paths: &[&str]) {
    for caller in callers {
        for path in paths {
            let (get, head) = get_and_head(caller, path).await;
            assert_eq!(head.status, get.status, "{path}");
            assert_eq!(lasting(&head), lasting(&get), "{path}");
            let length = get.body.len().to_string();
            assert_eq!(head.header("content-length"), Some(&*length), "{path}");
            assert_eq!(head.body.len(), 0, "{path}");
        }
    }
}

#[tokio::test]
async fn head_of_what_is_not_published_is_get_without_a_body() {
    let service = given!(Service::own(BINARY, &[]));
    let url = service.caller.base_url();
    let callers = [Caller::new(url), Caller::over_http2(url)];
    assert_head_is_get(&callers, &UNPUBLISHED).await;
}

#[tokio::test]
async fn head_asks_whether_a_file_has_changed_as_get_does() {
    let service = given!(Service::own(BINARY, &[]));
    let path = "/docs/page.css";
    let first = send(&service.caller, Request::new("HEAD", path)).await;
    let tag = first.header("etag").expect("a tag");
    for method in ["GET", "HEAD"] {
        let again = Request::new(method, path).header("if-none-match", tag);
        assert_eq!(send(&service.caller, again).await.status, 304, "{method}");
    }
}

#[tokio::test]
async fn head_of_what_balancers_ask_is_get_without_a_body() {
    let address = format!("127.0.0.1:{}", port::free());
    let settings = [("INVOICING_OPERATIONS_LISTEN", address.as_str())];
    let service = given!(Service::own(BINARY, &settings));
    // The listener starts after the server, which has reported that it listens.
    let url = format!("http://{address}");
    let up = async {
        while Caller::new(&*url)
            .send_unchecked(Request::new("GET", "/healthz"))
            .await
            .is_err()
        {
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    let waited = tokio::time::timeout(patience, up).await;
    waited.expect("the listener for operators comes up");
    // It speaks only HTTP/1.1.
    assert_head_is_get(&[Caller::new(&*url)], &["/healthz", "/readyz", "/metrics"]).await;
    drop(service);
}

#[tokio::test]
async fn a_published_path_has_no_head_and_says_so_without_a_body() {
    let service = given!(Service::own(BINARY, &[]));
    let url = service.caller.base_url();
    for caller in [Caller::new(url), Caller::over_http2(url)] {
        let head = send(&caller, Request::new("HEAD", "/api/v1/products")).await;
        assert_eq!((head.status, head.body.len()), (405, 0));
        let length = head.header("content-length").map(str::parse::<usize>);
        assert!(matches!(length, Some(Ok(1..))), "{length:?}");
    }
}

#[tokio::test]
async fn a_redirect_to_the_documentation_is_protected_as_its_pages_are() {
    let service = given!(Service::own(BINARY, &[]));
    let page = send(&service.caller, Request::new("GET", "/docs/catalog")).await;
    for path in ["/docs"] {
        let redirect = send(&service.caller, Request::new("GET", path)).await;
        assert_eq!(redirect.status, 302, "{path}");
        for name in [
            "x-content-type-options",
            "referrer-policy",
            "content-security-policy",
        ] {
            let value = redirect.header(name);
            assert!(value.is_some(), "{path} {name}");
            assert_eq!(value, page.header(name), "{path} {name}");
        }
    }
}

#[tokio::test]
async fn no_answer_about_links_may_be_stored() {
    let service = given!(Service::own(BINARY, &[]));
    let team = given!(service.team());
    let device = given!(service.device(&team).await);
    let list = || Request::new("GET", device.links()).bearer(&device.access_token);
    let stranger = "01a1faef-295b-7c3e-9f21-6d0b8a4c5e17";
    let nothing = format!("/api/mobile/items/file/{stranger}/links");
    let cases = [
        (200, list().header("x-team-id", &device.team_id)),
        (400, list()),
        (401, Request::new("GET", device.links())),
        (403, list().header("x-team-id", stranger)),
        (
            404,
            list().target(nothing).header("x-team-id", &device.team_id),
        ),
        (405, list().method("POST")),
        (405, list().method("FOO")),
    ];
    for (status, request) in cases {
        let received = send(&service.caller, request).await;
        let told = (received.status, received.header("cache-control"));
        assert_eq!(told, (status, Some("no-store")));
    }
}

/// Writes a new certificate and its key. Returns the settings of a server that uses them, and the certificate.
fn certificate(folder: &Path) -> ([(&'static str, String); 2], String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate can be made");
    let (file, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&file, cert.pem()).expect("the folder can be written");
    std::fs::write(&key, signing_key.serialize_pem()).expect("the folder can be written");
    let settings = [
        ("INVOICING_TLS_CERT", file.display().to_string()),
        ("INVOICING_TLS_KEY", key.display().to_string()),
    ];
    (settings, cert.pem())
}

/// The HSTS header of a server that speaks TLS in its answers to each of these requests, with this setting.
async fn hsts_of(seconds: &str) -> Vec<(u16, Option<String>)> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (tls, certificate) = certificate(folder.path());
    let mut settings: Vec<_> = tls.iter().map(|(name, value)| (*name, &**value)).collect();
    settings.push(("INVOICING_HSTS", seconds));
    let service = Service::own(BINARY, &settings).expect("no deployment is given");
    let certificate = reqwest::Certificate::from_pem(certificate.as_bytes()).expect("it is PEM");
    let client = reqwest::Client::builder()
        .tls_certs_only([certificate])
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .expect("a client can be made");
    let mut told = Vec::new();
    for (method, path) in [
        ("GET", "/"),
        ("HEAD", "/docs/catalog"),
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/v1/products"),
        ("PUT", "/api/v1/products"),
        ("POST", "/api/auth/mobile/token"),
    ] {
        let method = method.parse().expect("a method");
        let url = format!("{}{path}", service.caller.base_url());
        let answer = client.request(method, url).body("{}").send().await;
        let answer = answer.expect("an answer comes");
        let hsts = answer.headers().get(HSTS);
        let hsts = hsts.map(|it| it.to_str().expect("text").to_owned());
        told.push((answer.status().as_u16(), hsts));
    }
    told
}

#[tokio::test]
async fn a_server_that_speaks_tls_tells_browsers_to_stay_with_it_when_asked_to() {
    if test_support::deployment::is_given() {
        return test_support::deployment::say("needs a server of its own");
    }
    let statuses = [303, 200, 200, 401, 405, 400];
    let hsts = Some("max-age=86400".to_owned());
    let expected = statuses.map(|status| (status, hsts.clone()));
    assert_eq!(hsts_of("86400").await, expected);
    assert_eq!(hsts_of("0").await, statuses.map(|status| (status, None)));
}

#[tokio::test]
async fn a_server_in_clear_never_tells_of_tls() {
    let service = given!(Service::own(BINARY, &[]));
    let received = send(&service.caller, Request::new("GET", "/docs/catalog")).await;
    assert_eq!(received.header(HSTS), None);
    let output = std::process::Command::new(BINARY)
        .args(["serve", "--hsts", "60", "--listen", "127.0.0.1:0"])
        .output()
        .expect("the binary can be run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("give tls_cert and tls_key too"), "{errors}");
}

#[tokio::test]
async fn the_product_of_another_answer_is_not_in_a_head() {
    // A body that was not announced would be taken for the start of the next answer.
    let service = given!(Service::own(BINARY, &[]));
    for caller in [
        service.caller.clone(),
        Caller::over_http2(service.caller.base_url()),
    ] {
        for _ in 0..3 {
            let head = send(&caller, Request::new("HEAD", "/api/v1/openapi.json")).await;
            assert_eq!((head.status, head.body.len()), (200, 0));
            let get = send(&caller, Request::new("GET", "/api/v1/openapi.json")).await;
            assert_eq!(get.json()["openapi"], json!("3.0.3"));
        }
    }
}
