//! Rate limits of API keys and sessions.

use test_support::caller::{Answer, Request};
use test_support::given;

use crate::given::{PRODUCTS, given_own};

#[tokio::test]
async fn every_authenticated_answer_tells_the_quota() {
    let given = given!(given_own(&[
        ("INVOICING_RATE_LIMIT_PER_SECOND", "100"),
        ("INVOICING_RATE_LIMIT_BURST", "200"),
    ]));
    let list = given.live("GET", PRODUCTS);
    let nonsense = given.live("GET", format!("{PRODUCTS}/nonsense"));
    let forbidden = Request::new("POST", PRODUCTS).bearer(&given.team.live_read_only);
    for (request, status) in [(list, 200), (nonsense, 400), (forbidden, 403)] {
        let answer = given.send(request).await.expect_status(status);
        assert_eq!(
            answer.header("ratelimit-policy"),
            Some("\"default\";q=200;w=2")
        );
        let limit = answer.header("ratelimit").expect("limits are on");
        assert!(limit.starts_with("\"default\";r=1"), "{limit}");
    }
}

#[tokio::test]
async fn the_first_answer_of_a_key_leaves_the_burst_but_one() {
    let given = given!(given_own(&[
        ("INVOICING_RATE_LIMIT_PER_SECOND", "100"),
        ("INVOICING_RATE_LIMIT_BURST", "200"),
    ]));
    let answer = given.send(given.live("GET", PRODUCTS)).await;
    assert_eq!(answer.header("ratelimit"), Some("\"default\";r=199;t=1"));
}

#[tokio::test]
async fn a_refused_request_says_when_to_come_back_and_comes_before_the_scope() {
    let given = given!(given_own(&[
        ("INVOICING_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_RATE_LIMIT_BURST", "2"),
    ]));
    let write = Request::new("POST", PRODUCTS).bearer(&given.team.live_read_only);
    let mut answers: Vec<Answer> = Vec::new();
    for _ in 0..6 {
        answers.push(given.send(write.clone()).await);
    }
    answers[0].clone().expect(403, "scope_insufficient");
    let refused = answers
        .iter()
        .find(|answer| answer.status() == 429)
        .expect("the quota is 2");
    let seconds: u64 = refused
        .header("retry-after")
        .unwrap_or_default()
        .parse()
        .expect("whole seconds");
    assert!(seconds >= 1);
    assert_eq!(
        refused.header("ratelimit-policy"),
        Some("\"default\";q=2;w=2")
    );
    assert!(
        refused
            .header("ratelimit")
            .is_some_and(|limit| limit.starts_with("\"default\";r=0;"))
    );
    // Another key has a separate quota.
    given
        .send(given.live("GET", PRODUCTS))
        .await
        .expect_status(200);
}

#[tokio::test]
async fn limits_can_be_off_and_then_no_answer_tells_of_them() {
    let given = given!(given_own(&[
        ("INVOICING_RATE_LIMIT", "off"),
        ("INVOICING_RATE_LIMIT_BURST", "1")
    ]));
    for _ in 0..5 {
        let answer = given
            .send(given.live("GET", PRODUCTS))
            .await
            .expect_status(200);
        assert_eq!(answer.header("ratelimit"), None);
        assert_eq!(answer.header("ratelimit-policy"), None);
    }
}

#[tokio::test]
async fn the_token_endpoint_is_limited_by_address_and_believes_trusted_proxies_only() {
    let limits = [
        ("INVOICING_TOKEN_RATE_LIMIT_PER_SECOND", "1"),
        ("INVOICING_TOKEN_RATE_LIMIT_BURST", "2"),
    ];
    let trusting = [
        limits[0],
        limits[1],
        ("INVOICING_TRUSTED_PROXIES", "127.0.0.0/8"),
    ];
    for (settings, limited) in [(&limits[..], true), (&trusting[..], false)] {
        let given = given!(given_own(settings));
        let mut refused = false;
        for number in 0..8 {
            let request = Request::new("POST", crate::given::TOKEN)
                .header("x-forwarded-for", format!("203.0.113.{number}, 127.0.0.9"))
                .text("{}");
            refused |= given.send(request).await.status() == 429;
        }
        assert_eq!(refused, limited, "{settings:?}");
    }
}
