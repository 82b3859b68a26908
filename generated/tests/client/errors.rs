//! How a response that is not a success becomes an error.

use std::error::Error as _;
use std::time::Duration;

use invoicing_client::types::ErrorType;
use invoicing_client::{Client, Code, Error, OAuthCode};

use crate::stub::{Reply, Stub};
use crate::{ID, client};

async fn error(reply: Reply) -> Error {
    let stub = Stub::script([reply]);
    client(&stub).products().get(ID).send().await.unwrap_err()
}

async fn oauth_error(reply: Reply) -> Error {
    let stub = Stub::script([reply]);
    client(&stub)
        .sessions()
        .refresh("refresh-0", "app")
        .send()
        .await
        .unwrap_err()
}

#[tokio::test]
async fn an_error_object_is_read_with_all_its_details() {
    let body = serde_json::json!({ "error": {
        "type": "validation_error", "code": "invalid_body", "message": "Validation failed",
        "request_id": "req-9", "new_member": 1,
        "details": [
            { "path": "/sku", "constraint": "maxLength", "message": "must have at most 100 characters" },
            { "path": "", "constraint": "futureKeyword", "message": "is not what it should be" },
        ],
    }});
    let error = error(Reply::json(400, body)).await;
    assert_eq!(error.status().unwrap(), 400);
    assert_eq!(error.request_id(), Some("req-9"));
    let text = error.to_string();
    assert_eq!(
        text,
        "400 invalid_body: Validation failed: /sku must have at most 100 characters; \
         the body is not what it should be (request req-9)"
    );
    let Error::Api(error) = error else {
        panic!("{error:?}")
    };
    assert_eq!(error.error_type, ErrorType::ValidationError);
    assert_eq!(error.code, Code::InvalidBody);
    assert_eq!(error.details.len(), 2);
    assert!(!error.after_lost_answer);
}

#[tokio::test]
async fn a_code_from_the_future_is_unknown_but_there() {
    let Error::Api(error) = error(Reply::error(409, "conflict_error", "out_of_stock")).await else {
        panic!()
    };
    assert_eq!(error.code, Code::Unknown("out_of_stock".to_owned()));
    assert_eq!(error.code.as_str(), "out_of_stock");

    let Error::OAuth(error) = oauth_error(Reply::oauth_error(400, "consent_required")).await else {
        panic!()
    };
    assert_eq!(
        error.code,
        OAuthCode::Unknown("consent_required".to_owned())
    );
}

#[tokio::test]
async fn a_status_that_no_document_lists_is_read_by_its_body() {
    let Error::Api(error) = error(Reply::error(418, "server_error", "internal_error")).await else {
        panic!()
    };
    assert_eq!(error.status, 418);
}

#[tokio::test]
async fn every_code_of_the_decisions_has_a_variant() {
    for code in [
        "invalid_body",
        "invalid_query",
        "invalid_path",
        "invalid_header",
        "invalid_token",
        "scope_insufficient",
        "not_a_member",
        "product_not_found",
        "item_not_found",
        "method_not_allowed",
        "duplicate_sku",
        "already_archived",
        "idempotency_key_reused",
        "request_timeout",
        "body_too_large",
        "unsupported_media_type",
        "rate_limit_exceeded",
        "internal_error",
        "unavailable",
    ] {
        assert!(!matches!(Code::from(code), Code::Unknown(_)), "{code}");
        assert_eq!(Code::from(code).to_string(), code);
    }
    for code in [
        "invalid_request",
        "invalid_grant",
        "invalid_client",
        "unauthorized_client",
        "unsupported_grant_type",
        "rate_limit_exceeded",
        "server_error",
        "temporarily_unavailable",
    ] {
        assert!(
            !matches!(OAuthCode::from(code), OAuthCode::Unknown(_)),
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_refusal_by_the_token_endpoint_says_what_and_when_to_come_back() {
    let reply = Reply::oauth_error(429, "rate_limit_exceeded").header("retry-after", "99");
    let error = oauth_error(reply).await;
    assert_eq!(
        error.to_string(),
        "429 rate_limit_exceeded: No. (request req-1)"
    );
    assert_eq!(error.retry_after(), Some(Duration::from_secs(99)));
    assert_eq!(error.request_id(), Some("req-1"));
}

#[tokio::test]
async fn a_body_that_is_not_json_keeps_status_request_id_and_retry_after() {
    let page = Reply::new(503)
        .header("retry-after", "99")
        .body("<html>Bad gateway</html>");
    let error = error(page).await;
    assert_eq!(error.status().unwrap(), 503);
    assert_eq!(error.request_id(), Some("req-1"));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(99)));
    assert!(
        error
            .to_string()
            .contains(r#"it begins "<html>Bad gateway</html>""#),
        "{error}"
    );
}

#[tokio::test]
async fn a_long_page_is_shown_by_its_beginning() {
    let error = error(Reply::new(502).body(&"\u{20ac}".repeat(10_000))).await;
    assert!(error.to_string().len() < 500, "{error}");
}

#[tokio::test]
async fn json_of_another_shape_or_none_at_all_is_unexpected() {
    for body in [
        "",
        "null",
        "{}",
        r#"{"error":{}}"#,
        r#"{"error":{"code":"duplicate_sku"}}"#,
    ] {
        let error = error(Reply::new(409).body(body)).await;
        let Error::UnexpectedResponse(answer) = error else {
            panic!("{error:?}")
        };
        assert_eq!(answer.status.unwrap(), 409);
        assert_eq!(answer.body, body);
    }
}

#[tokio::test]
async fn a_success_of_another_shape_is_unexpected() {
    let error = error(Reply::json(200, r#"{"data":{"id":"no uuid"}}"#)).await;
    let Error::UnexpectedResponse(answer) = error else {
        panic!("{error:?}")
    };
    assert_eq!(answer.status, None);
}

#[tokio::test]
async fn a_page_in_place_of_a_success_keeps_its_status() {
    let portal = Reply::new(200)
        .header("content-type", "text/html")
        .body("<html>Sign in</html>");
    let error = error(portal).await;
    assert_eq!(error.status().unwrap(), 200);
    assert!(error.to_string().contains("Sign in"), "{error}");
}

#[test]
fn errors_cross_threads_and_fit_into_a_box() {
    fn check<E: std::error::Error + Send + Sync + 'static>() {}
    check::<Error>();
    assert!(size_of::<Error>() <= 48, "cheap in every Result");
}

#[tokio::test]
async fn a_success_or_redirect_that_the_document_does_not_list_is_unexpected() {
    let elsewhere = Reply::new(302).header("location", "http://127.0.0.1:1/");
    for (reply, status) in [(Reply::product(202), 202), (elsewhere, 302)] {
        let stub = Stub::script([reply]);
        let client = Client::builder(stub.url()).api_key("k").build().unwrap();
        let error = client.products().get(ID).send().await.unwrap_err();
        let Error::UnexpectedResponse(answer) = error else {
            panic!("{error:?}")
        };
        assert_eq!(answer.status.unwrap(), status);
    }
}

#[tokio::test]
async fn a_broken_token_answer_shows_no_token() {
    let broken =
        r#"{"access_token":"top-secret","refresh_token":"top-secret","expires_in":"soon"}"#;
    let error = oauth_error(Reply::json(200, broken)).await;
    assert!(matches!(error, Error::UnexpectedResponse(_)), "{error:?}");
    assert!(
        !format!("{error:?} {error}").contains("top-secret"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_transport_error_names_its_cause_and_has_its_source() {
    let error = error(Reply::hang_up()).await;
    assert!(matches!(error, Error::Transport(_)));
    assert!(error.source().is_some());
    assert!(
        error
            .to_string()
            .starts_with("the connection to http://127.0.0.1:"),
        "{error}"
    );
    assert!(!error.to_string().contains(ID), "{error}");
}

/// Sends these bytes on every connection, after it has received something.
fn answers(bytes: &'static [u8]) -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(bytes);
        }
    });
    port
}

async fn told(base_url: String) -> String {
    let client = Client::builder(base_url).api_key("k").build().unwrap();
    let error = client.products().get(ID).send().await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error:?}");
    error.to_string()
}

#[tokio::test]
#[cfg(feature = "rustls")]
async fn https_to_a_port_of_plain_http_says_so_and_what_to_do() {
    let port = answers(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    let started = std::time::Instant::now();
    let text = told(format!("https://127.0.0.1:{port}")).await;
    assert!(
        text.ends_with("this port does not speak TLS: write http:// in the base URL, or the port that serves https"),
        "{text}"
    );
    let from = format!("the connection to https://127.0.0.1:{port} failed: ");
    assert!(text.starts_with(&from), "{text}");
    assert!(started.elapsed() < Duration::from_secs(5), "tried once");

    let silent = answers(b"");
    let text = told(format!("https://127.0.0.1:{silent}")).await;
    assert!(text.contains("plain HTTP, write http://"), "{text}");
}

#[tokio::test]
async fn plain_http_to_a_port_of_tls_says_so_and_what_to_do() {
    // The alert that a TLS server sends to a client that does not start a handshake.
    let port = answers(b"\x15\x03\x03\x00\x02\x02\x16");
    let told = told(format!("http://127.0.0.1:{port}")).await;
    assert!(
        told.ends_with("if it serves https, write https:// in the base URL"),
        "{told}"
    );
}

#[tokio::test]
async fn a_base_url_that_has_the_path_already_is_told_of() {
    let message = "Not Found: the published path closest to this one is /api/v1/products";
    let not_found = format!(r#"{{"request_id":"r","message":"{message}"}}"#);
    let stub = Stub::script([Reply::new(404).body(&not_found)]);
    let base_url = format!("{}/api/v1", stub.url());
    let client = Client::builder(base_url).api_key("k").build().unwrap();
    let error = client.products().get(ID).send().await.unwrap_err();
    assert!(matches!(error, Error::UnexpectedResponse(_)), "{error:?}");
    let said = error.to_string();
    let told = "the base URL is probably wrong, which ends before /api";
    assert!(said.contains(message) && said.contains(told), "{said}");
}
