//! `Idempotency-Key`

use serde_json::json;
use test_support::caller::{Answer, Request};
use test_support::given;

use crate::given::{Given, PRODUCTS, given, given_own, path, product, unique};

fn keyed(given: &Given, key: &str, body: &str) -> Request {
    given
        .live("POST", PRODUCTS)
        .header("idempotency-key", key)
        .text(body)
}

const BODY: &str = r#"{"name":"contract test","unitPrice":12.50,"currency":"EUR"}"#;

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotency-replayed") == Some("true")
}

#[tokio::test]
async fn a_repeat_answers_the_first_success_with_a_fresh_request_id() {
    let given = given!(given());
    let key = unique("key");
    let first = given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201);
    assert!(!is_replay(&first));
    let again = given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201);
    assert!(is_replay(&again));
    assert_eq!(again.text(), first.text());
    assert_eq!(again.header("location"), first.header("location"));
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
}

#[tokio::test]
async fn spacing_order_and_spelling_of_numbers_do_not_count() {
    let given = given!(given());
    let key = unique("key");
    given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201);
    for same in [
        "{ \"currency\": \"EUR\",\n \"unitPrice\": 12.5, \"name\": \"contract test\" }",
        r#"{"name":"contract\u0020test","unitPrice":125e-1,"currency":"EUR"}"#,
    ] {
        let again = given
            .send(keyed(&given, &key, same))
            .await
            .expect_status(201);
        assert!(is_replay(&again), "{same}");
    }
}

#[tokio::test]
async fn the_same_key_with_a_different_request_is_refused() {
    let given = given!(given());
    let key = unique("key");
    let created = given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201)
        .data();
    let different = [
        keyed(&given, &key, &BODY.replace("12.50", "12.51")),
        keyed(&given, &key, &BODY.replace('}', r#","sku":null}"#)),
        given
            .live("PATCH", path(&created))
            .header("idempotency-key", &key)
            .text(BODY),
    ];
    for request in different {
        given
            .send(request)
            .await
            .expect(409, "idempotency_key_reused");
    }
    let change = given.live("PATCH", path(&created)).json(&json!({}));
    let key = unique("key");
    given
        .send(change.clone().header("idempotency-key", &key))
        .await
        .expect_status(200);
    let elsewhere = change
        .target(given.path_of_new().await)
        .header("idempotency-key", &key);
    given
        .send(elsewhere)
        .await
        .expect(409, "idempotency_key_reused");
}

#[tokio::test]
async fn an_update_replays_what_it_answered_though_the_product_has_changed_since() {
    let given = given!(given());
    let address = given.path_of_new().await;
    let change = |name: &str| given.live("PATCH", &address).json(&json!({ "name": name }));
    let key = unique("key");
    let keyed = || change("First").header("idempotency-key", &key);
    let first = given.send(keyed()).await.expect_status(200);
    let second = given.send(change("Second")).await.expect_status(200);
    let again = given.send(keyed()).await.expect_status(200);
    assert!(is_replay(&again));
    assert_eq!(again.text(), first.text());
    let now = given.send(given.live("GET", &address)).await;
    assert_eq!(now.data(), second.data(), "nothing was done again");
}

#[tokio::test]
async fn only_successes_are_kept() {
    let given = given!(given());
    let key = unique("key");
    let refused = given
        .send(keyed(&given, &key, r#"{"name":"contract test"}"#))
        .await;
    refused.expect(400, "invalid_body");
    let mut taken = product();
    taken["sku"] = json!(unique("sku"));
    given.created(&taken).await;
    given
        .send(keyed(&given, &key, &taken.to_string()))
        .await
        .expect(409, "duplicate_sku");
    let corrected = given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201);
    assert!(!is_replay(&corrected));
}

#[tokio::test]
async fn one_of_many_at_once_executes_and_the_others_replay() {
    let given = given!(given());
    let key = unique("key");
    let sent = (0..16).map(|_| given.send(keyed(&given, &key, BODY)));
    let answers = futures::future::join_all(sent).await;
    let text = answers[0].text();
    for answer in &answers {
        assert_eq!((answer.status(), answer.text()), (201, text.clone()));
    }
    let executed = answers.iter().filter(|answer| !is_replay(answer)).count();
    assert_eq!(executed, 1);
}

#[tokio::test]
async fn keys_of_one_team_share_the_key_space() {
    let given = given!(given());
    let other = given!(given.service.api_key(&given.team.id, "live", "read-write"));
    let key = unique("key");
    let first = given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201);
    let again = given
        .send(keyed(&given, &key, BODY).bearer(&other))
        .await
        .expect_status(201);
    assert!(is_replay(&again));
    assert_eq!(again.text(), first.text());
}

#[tokio::test]
async fn a_replay_is_for_those_only_who_may_do_it() {
    let given = given!(given());
    let key = unique("key");
    given
        .send(keyed(&given, &key, BODY))
        .await
        .expect_status(201);
    let reader = keyed(&given, &key, BODY).bearer(&given.team.live_read_only);
    given.send(reader).await.expect(403, "scope_insufficient");
    let stranger = keyed(&given, &key, BODY).without_header("authorization");
    given.send(stranger).await.expect(401, "invalid_token");
}

#[tokio::test]
async fn a_replay_costs_quota() {
    let settings = [
        ("INVOICING_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_RATE_LIMIT_BURST", "3"),
    ];
    let given = given!(given_own(&settings));
    let mut codes = Vec::new();
    for _ in 0..8 {
        codes.push(given.send(keyed(&given, "key", BODY)).await.code());
    }
    assert_eq!(codes[0], "");
    assert!(
        codes.contains(&"rate_limit_exceeded".to_owned()),
        "{codes:?}"
    );
}

#[tokio::test]
async fn a_repeated_header_is_refused() {
    let given = given!(given());
    let twice = keyed(&given, "one", BODY).header("idempotency-key", "two");
    let answer = given.send(twice).await.expect(400, "invalid_header");
    let constraints: Vec<_> = answer
        .violations()
        .into_iter()
        .map(|it| it.constraint)
        .collect();
    assert_eq!(constraints, ["repeated"]);
}
