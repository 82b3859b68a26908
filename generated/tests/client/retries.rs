//! Which calls are retried, when, and under which key.

use std::time::Duration;

use invoicing_client::{Client, Code, Error, RetryPolicy};
use tokio::time::Instant;

use crate::stub::{Reply, Stub};
use crate::{FILE, ID, TEAM, builder, client};

const SECOND: Duration = Duration::from_secs(1);

fn unavailable() -> Reply {
    Reply::error(503, "server_error", "unavailable").header("retry-after", "1")
}

fn limited(retry_after: &str) -> Reply {
    Reply::error(429, "rate_limit_error", "rate_limit_exceeded").header("retry-after", retry_after)
}

fn keys(stub: &Stub) -> Vec<Option<String>> {
    let requests = stub.requests();
    let key = |name| move |request: &crate::stub::Request| request.header(name).map(str::to_owned);
    requests.iter().map(key("idempotency-key")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_read_is_tried_again_after_503_until_it_succeeds() {
    let stub = Stub::script([unavailable(), unavailable(), Reply::product(200)]);
    client(&stub).products().get(ID).send().await.unwrap();
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_last_error_is_returned_when_the_attempts_are_used_up() {
    let stub = Stub::script([unavailable()]);
    let error = client(&stub).products().get(ID).send().await.unwrap_err();
    assert!(matches!(&error, Error::Api(error) if error.code == Code::Unavailable));
    assert_eq!(error.retry_after(), Some(SECOND));
    assert_eq!(stub.requests().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for() {
    let stub = Stub::script([limited("7"), Reply::product(200)]);
    let began = Instant::now();
    client(&stub).products().get(ID).send().await.unwrap();
    assert!(
        (7 * SECOND..8 * SECOND).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_the_budget_fails_at_once() {
    let stub = Stub::script([limited("3600")]);
    let began = Instant::now();
    let error = client(&stub).products().get(ID).send().await.unwrap_err();
    assert_eq!(error.retry_after(), Some(3600 * SECOND));
    assert_eq!(
        (stub.requests().len(), began.elapsed()),
        (1, Duration::ZERO)
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxys_429_counts_as_well() {
    let proxy = Reply::new(429).header("retry-after", "2").body("slow down");
    let stub = Stub::script([proxy, Reply::product(200)]);
    client(&stub).products().get(ID).send().await.unwrap();
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn other_errors_are_not_tried_again() {
    for status in [400, 401, 403, 404, 409, 500, 502, 504] {
        let stub = Stub::script([Reply::error(status, "server_error", "internal_error")]);
        client(&stub).products().get(ID).send().await.unwrap_err();
        assert_eq!(stub.requests().len(), 1, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_can_be_turned_off() {
    let stub = Stub::script([unavailable()]);
    let client = builder(&stub).retry(RetryPolicy::off()).build().unwrap();
    client.products().get(ID).send().await.unwrap_err();
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_tried_again() {
    let stub = Stub::script([Reply::hang_up(), Reply::hang_up(), Reply::product(200)]);
    client(&stub).products().get(ID).send().await.unwrap();
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_short_is_a_lost_answer() {
    let cut = Reply::product(200)
        .header("content-length", "9999")
        .header("connection", "close");
    let stub = Stub::script([cut, Reply::product(200)]);
    client(&stub).products().get(ID).send().await.unwrap();
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_tried_again_and_then_an_error() {
    let url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let policy = RetryPolicy::new()
        .max_attempts(3)
        .base_delay(60 * SECOND)
        .budget(999 * SECOND);
    let http = reqwest::Client::new();
    let client = Client::builder(url)
        .api_key("k")
        .retry(policy.max_delay(60 * SECOND));
    let client = client.http_client(http).build().unwrap();
    let began = Instant::now();
    let error = client.products().get(ID).send().await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(began.elapsed() > Duration::ZERO, "it has paused");
}

#[tokio::test]
async fn a_silent_service_is_a_timeout_and_tried_again() {
    let stub = Stub::start(|_| {
        loop {
            std::thread::park();
        }
    });
    let quick = Duration::from_millis(300);
    let policy = RetryPolicy::new()
        .max_attempts(2)
        .base_delay(Duration::from_millis(1));
    let client = builder(&stub).timeout(quick).retry(policy).build().unwrap();
    let error = client.products().get(ID).send().await.unwrap_err();
    assert!(matches!(error, Error::Timeout(_)), "{error}");
    // The stub may still be reading an abandoned request.
    while stub.requests().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_write_share_one_key_and_every_call_has_its_own() {
    let stub = Stub::script([
        unavailable(),
        Reply::hang_up(),
        Reply::product(201),
        limited("1"),
        Reply::product(200),
    ]);
    let client = client(&stub);
    client
        .products()
        .create("Consulting", "120.00", "EUR")
        .send()
        .await
        .unwrap();
    client
        .products()
        .update(ID)
        .sku("C-2")
        .send()
        .await
        .unwrap();
    let keys = keys(&stub);
    assert_eq!(keys.len(), 5);
    assert!(keys.iter().all(Option::is_some));
    assert!(keys[0] == keys[1] && keys[1] == keys[2]);
    assert!(keys[3] == keys[4]);
    assert_ne!(keys[2], keys[3]);
    let bodies: Vec<_> = stub
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert!(bodies[0] == bodies[1] && bodies[1] == bodies[2]);
}

#[tokio::test(start_paused = true)]
async fn a_given_key_is_used() {
    let stub = Stub::script([unavailable(), Reply::product(201)]);
    let call = client(&stub)
        .products()
        .create("Consulting", "120.00", "EUR");
    call.idempotency_key("import-7-row-12")
        .send()
        .await
        .unwrap();
    let key = Some("import-7-row-12".to_owned());
    assert_eq!(keys(&stub), [key.clone(), key]);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_a_key_is_tried_once() {
    for reply in [unavailable(), limited("1"), Reply::hang_up()] {
        let stub = Stub::script([reply]);
        let client = client(&stub);
        let create = client.products().create("Consulting", "120.00", "EUR");
        create.without_idempotency_key().send().await.unwrap_err();
        let update = client.products().update(ID).name("Coaching");
        update.without_idempotency_key().send().await.unwrap_err();
        assert_eq!(keys(&stub), [None, None]);
    }
}

#[tokio::test(start_paused = true)]
async fn archiving_twice_counts_as_done_after_a_lost_answer_only() {
    let archived = || Reply::error(409, "conflict_error", "already_archived");
    for (first, done) in [
        (Some(Reply::hang_up()), true),
        (Some(unavailable()), true),
        (Some(limited("1")), false),
        (None, false),
    ] {
        let stub = Stub::script(first.clone().into_iter().chain([archived()]));
        let result = client(&stub).products().archive(ID).send().await;
        assert_eq!(result.is_ok(), done, "{first:?}");
        if let Err(error) = result {
            assert!(matches!(error, Error::Api(error) if error.code == Code::AlreadyArchived));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn listing_links_is_tried_again() {
    let stub = Stub::script([
        unavailable(),
        Reply::error(404, "not_found_error", "item_not_found"),
    ]);
    client(&stub)
        .links()
        .list(TEAM, "file", FILE)
        .send()
        .await
        .unwrap_err();
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_code_is_exchanged_once() {
    for reply in [
        Reply::oauth_error(503, "temporarily_unavailable"),
        Reply::hang_up(),
    ] {
        let stub = Stub::script([reply]);
        let verifier = "v".repeat(43);
        let client = client(&stub);
        let call = client
            .sessions()
            .exchange_code("code", verifier.as_str(), "app:/in", "app");
        call.send().await.unwrap_err();
        assert_eq!(stub.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_refresh_is_tried_again() {
    let stub = Stub::script([Reply::hang_up(), Reply::tokens("access-1", "refresh-1")]);
    let policy = RetryPolicy::new().base_delay(Duration::from_millis(1));
    let client = builder(&stub).retry(policy).build().unwrap();
    let session = client
        .sessions()
        .refresh("refresh-0", "app")
        .send()
        .await
        .unwrap();
    assert_eq!(session.refresh_token.as_str(), "refresh-1");
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test]
async fn a_refresh_is_not_tried_again_beyond_the_grace() {
    let busy = Reply::oauth_error(503, "temporarily_unavailable").header("retry-after", "21");
    let stub = Stub::script([busy]);
    let error = client(&stub)
        .sessions()
        .refresh("refresh-0", "app")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.retry_after(), Some(21 * SECOND));
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_generated_clients_try_again_by_the_same_rules() {
    let stub = Stub::script([unavailable(), Reply::product(200)]);
    let catalog = client(&stub).catalog().unwrap();
    catalog.get_product().id(ID).send().await.unwrap();
    assert_eq!(stub.requests().len(), 2);

    let stub = Stub::script([unavailable()]);
    let catalog = client(&stub).catalog().unwrap();
    catalog.update_product().id(ID).send().await.unwrap_err();
    assert_eq!(stub.requests().len(), 1);
    catalog
        .update_product()
        .id(ID)
        .idempotency_key("k")
        .send()
        .await
        .unwrap_err();
    assert_eq!(stub.requests().len(), 5);
}
