//! Settings for one call, observing attempts, and the texts of errors.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use invoicing_client::{Client, Error, InMemory, RetryPolicy};

use crate::stub::{Reply, Stub};
use crate::{FILE, ID, TEAM, builder, client, field_and_reason};

fn busy() -> Reply {
    Reply::error(503, "server_error", "unavailable")
}

#[tokio::test(start_paused = true)]
async fn a_call_has_a_policy_of_its_own() {
    let stub = Stub::script([busy()]);
    let client = client(&stub);
    let list = client.products().list().retry(RetryPolicy::off());
    list.send().await.unwrap_err();
    assert_eq!(stub.requests().len(), 1);
    client.products().list().send().await.unwrap_err();
    assert_eq!(stub.requests().len(), 1 + 4, "the client's is as it was");
}

#[tokio::test]
async fn a_call_has_a_timeout_of_its_own() {
    let stub = Stub::start(|_| {
        std::thread::sleep(Duration::from_secs(5));
        Reply::product(200)
    });
    let get = client(&stub).products().get(ID).retry(RetryPolicy::off());
    let error = get
        .timeout(Duration::from_millis(50))
        .send()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error:?}");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn headers_of_the_program_go_with_every_call_or_with_one() {
    let stub = Stub::example();
    let client = builder(&stub).header("x-tenant", "shop-7").build().unwrap();
    client
        .products()
        .list()
        .header("x-page", "1")
        .send()
        .await
        .unwrap();
    client
        .products()
        .get(ID)
        .header("x-tenant", "shop-8")
        .send()
        .await
        .unwrap();
    client
        .products()
        .update(ID)
        .header("x-a", "b")
        .sku("1")
        .send()
        .await
        .unwrap();
    client
        .products()
        .create("x", 1, "EUR")
        .header("x-a", "b")
        .send()
        .await
        .unwrap();
    client
        .products()
        .archive(ID)
        .header("x-a", "b")
        .send()
        .await
        .unwrap();
    client
        .links()
        .list(TEAM, "file", FILE)
        .header("x-a", "b")
        .send()
        .await
        .unwrap();
    client
        .sessions()
        .refresh("r", "app")
        .header("x-a", "b")
        .send()
        .await
        .unwrap();
    let requests = stub.requests();
    let tenant = |index: usize| requests[index].header("x-tenant");
    assert_eq!(
        (tenant(0), tenant(1), tenant(2)),
        (Some("shop-7"), Some("shop-8"), Some("shop-7"))
    );
    assert_eq!(requests[0].header("x-page"), Some("1"));
    assert_eq!(requests[1].header("x-page"), None);
    assert!(
        requests[2..]
            .iter()
            .all(|request| request.header("x-a") == Some("b"))
    );
    assert_eq!(requests.len(), 7);
}

#[tokio::test]
async fn a_header_that_is_the_clients_own_or_none_at_all_is_refused() {
    let stub = Stub::example();
    let client = client(&stub);
    let list = |name: &str, value: &str| client.products().list().header(name, value).send();
    let own = "authorization is a header that the client sends itself".to_owned();
    assert_eq!(
        field_and_reason(list("Authorization", "Bearer x").await),
        ("header", own)
    );
    for (name, value) in [
        ("two words", "x"),
        ("x-a", "a\nb"),
        ("idempotency-key", "1"),
    ] {
        assert_eq!(
            field_and_reason(list(name, value).await).0,
            "header",
            "{name}"
        );
    }
    let built = Client::builder("http://localhost")
        .header("host", "x")
        .build();
    assert_eq!(field_and_reason(built).0, "header");
    assert_eq!(stub.requests().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_sees_each_attempt() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = seen.clone();
    let stub = Stub::script([Reply::hang_up(), busy(), Reply::product(201)]);
    let client = builder(&stub)
        .on_attempt(move |attempt| {
            let status = attempt.status.map(|status| status.as_u16());
            let outcome = (status, attempt.request_id.map(str::to_owned));
            let lost = attempt.error.is_some();
            let line = (
                attempt.operation,
                attempt.method.to_string(),
                attempt.number,
            );
            seeing
                .lock()
                .unwrap()
                .push((line, outcome, lost, attempt.retry_in.is_some()));
        })
        .build()
        .unwrap();
    client
        .products()
        .create("x", 1, "EUR")
        .send()
        .await
        .unwrap();
    let line = |number| ("create_product", "POST".to_owned(), number);
    let id = || Some("req-1".to_owned());
    assert_eq!(
        *seen.lock().unwrap(),
        [
            (line(1), (None, None), true, true),
            (line(2), (Some(503), id()), false, true),
            (line(3), (Some(201), id()), false, false),
        ]
    );
}

#[tokio::test]
async fn renewals_are_watched_too() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = seen.clone();
    let stub = Stub::example();
    let client = builder(&stub)
        .on_attempt(move |attempt| seeing.lock().unwrap().push(attempt.operation))
        .build()
        .unwrap();
    let signed_in = client.with_session(crate::sessions::session(-1), InMemory);
    signed_in
        .links()
        .list(TEAM, "file", FILE)
        .send()
        .await
        .unwrap();
    assert_eq!(*seen.lock().unwrap(), ["exchange_token", "list_links"]);
}

#[tokio::test(start_paused = true)]
async fn archiving_gives_the_headers_of_its_answer() {
    let archived = Reply::error(409, "conflict_error", "already_archived");
    let stub = Stub::script([Reply::new(204), Reply::hang_up(), archived]);
    let client = client(&stub);
    let response = client
        .products()
        .archive(ID)
        .send_for_response()
        .await
        .unwrap();
    assert_eq!(
        (response.status().as_u16(), response.request_id()),
        (204, Some("req-1"))
    );
    let response = client
        .products()
        .archive(ID)
        .send_for_response()
        .await
        .unwrap();
    assert_eq!(
        (response.status().as_u16(), response.request_id()),
        (409, Some("req-1"))
    );
    assert!(response.rate_limit().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_error_says_whether_it_is_worth_another_try() {
    let error = async |reply: Reply| {
        let stub = Stub::script([reply]);
        client(&stub).products().get(ID).send().await.unwrap_err()
    };
    for (status, retryable) in [
        (400, false),
        (401, false),
        (409, false),
        (429, true),
        (500, false),
        (503, true),
    ] {
        let error = error(Reply::error(status, "server_error", "internal_error")).await;
        assert_eq!(error.is_retryable(), retryable, "{status}");
        assert_eq!(error.headers().unwrap()["x-request-id"], "req-1");
    }
    for (status, retryable) in [(404, false), (502, true), (504, true)] {
        let error = error(Reply::new(status).body("<h1>")).await;
        assert_eq!(
            (error.is_retryable(), error.is_not_found()),
            (retryable, false),
            "{status}"
        );
    }
    assert!(error(Reply::hang_up()).await.is_retryable());
    for (code, missing) in [
        ("product_not_found", true),
        ("item_not_found", true),
        ("other", false),
    ] {
        let error = error(Reply::error(404, "not_found_error", code)).await;
        assert_eq!(error.is_not_found(), missing, "{code}");
    }
}
