//! Redis, the mail server, the OpenID provider and the collector of traces.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;
use test_support::mail::{MailServer, Manner};
use test_support::redis::Redis;

use super::{examine, expect, founded, of};
use crate::traces::Collector;

#[test]
fn redis_that_answers_does_not_or_is_not_used_is_told_apart() {
    let place = founded();
    let mut redis = Redis::start();
    let url = redis.url();
    expect(&place, &["--redis", &url], "redis", "good", "answers");
    expect(
        &place,
        &["--redis", &url, "--rate-limit", "off"],
        "redis",
        "warn",
        "rate_limit is off",
    );
    redis.freeze();
    expect(
        &place,
        &["--redis", &url],
        "redis",
        "bad",
        "does not answer",
    );
    redis.kill();
    let with_password = url.replace("://", "://:hunter2@");
    let (_, findings) = examine(&place, &["--redis", &with_password]);
    assert_eq!(of(&findings, "redis").0, "bad");
    assert!(!json!(findings).to_string().contains("hunter2"));
}

#[test]
fn a_mail_server_that_lets_us_in_does_not_or_is_not_used_is_told_apart_and_gets_no_letter() {
    let place = founded();
    let server = MailServer::start(Manner::Takes);
    let url = server.url();
    let options = |origin| {
        [
            "--smtp-url",
            &url,
            "--mail-from",
            "a@b.example",
            "--origin",
            origin,
        ]
        .map(str::to_owned)
    };
    let with = |origin, state, text| {
        let options = options(origin);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        expect(&place, &options, "mail", state, text);
    };
    with("https://a.example", "good", "nothing was sent");
    assert_eq!(server.attempts(), 1);
    with("http://a.example", "warn", "there are none");
    server.behave(Manner::Hangs);
    with("https://a.example", "bad", "");
    let nobody = [
        "--smtp-url",
        "smtp://127.0.0.1:1",
        "--mail-from",
        "a@b.example",
        "--origin",
        "https://a.example",
    ];
    expect(&place, &nobody, "mail", "bad", "cannot be used");
}

/// An OpenID provider with its metadata and its own clock.
pub(super) struct Provider(String);

impl Provider {
    pub(super) fn start(date: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let metadata = json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/a"), "token_endpoint": format!("{issuer}/t"),
            "jwks_uri": format!("{issuer}/keys"), "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
        });
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut lines = BufReader::new(client.try_clone().unwrap())
                    .lines()
                    .map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                lines.find(String::is_empty);
                let body = match first.contains("/keys") {
                    true => json!({ "keys": [] }).to_string(),
                    false => metadata.to_string(),
                };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Type: application/json\r\n"
                );
                let length = format!(
                    "Content-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = client.write_all([head, length, body].concat().as_bytes());
            }
        });
        Self(issuer)
    }

    pub(super) fn settings(&self) -> [&str; 8] {
        [
            "--oidc-issuer",
            &self.0,
            "--oidc-client-id",
            "x",
            "--oidc-client-secret",
            "hunter2",
            "--origin",
            "http://localhost:8080",
        ]
    }
}

#[test]
fn a_provider_that_says_who_it_is_or_does_not_is_told_apart_and_its_secret_is_not_shown() {
    let place = founded();
    expect(&place, &[], "provider", "good", "not set");
    let provider = Provider::start("Sun, 06 Nov 1994 08:49:37 GMT");
    expect(
        &place,
        &provider.settings(),
        "provider",
        "good",
        "says who it is",
    );
    let mut settings = provider.settings();
    let other = format!("{}/", provider.0);
    settings[1] = &other;
    expect(&place, &settings, "provider", "bad", "");
    settings[1] = "http://127.0.0.1:1";
    let (_, findings) = examine(&place, &settings);
    assert_eq!(of(&findings, "provider").0, "bad");
    assert!(!json!(findings).to_string().contains("hunter2"));
}

#[test]
fn a_collector_that_takes_spans_does_not_or_is_not_used_is_told_apart() {
    let place = founded();
    expect(&place, &[], "collector", "good", "not set");
    for (status, state, text) in [(200, "good", "takes spans"), (401, "bad", "401")] {
        let collector = Collector::answering(status);
        let endpoint = ["--otlp-endpoint", &collector.url];
        expect(&place, &endpoint, "collector", state, text);
        assert_eq!(collector.spans(), []);
    }
    let nobody = ["--otlp-endpoint", "http://127.0.0.1:1"];
    expect(&place, &nobody, "collector", "bad", "refused");
}

#[test]
fn a_check_that_gets_no_answer_is_given_up_after_five_seconds_and_hides_no_other() {
    let place = founded();
    // It accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let begun = Instant::now();
    let url = format!("postgres://ada@127.0.0.1:{port}/x?connect_timeout=60");
    let (code, findings) = examine(&place, &["--database", &url]);
    assert_eq!(code, 1);
    let (state, said) = of(&findings, "database");
    assert_eq!(state, "bad", "{said}");
    assert_eq!(of(&findings, "listen").0, "good");
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}
