//! Values that are returned as they were sent.

use crate::connection::{Response, Server};

async fn add(body: &str) -> Response {
    Server::start()
        .send("POST /pets", &["X-Store-Key: secret"], body)
        .await
}

#[tokio::test]
async fn decimals_come_back_as_they_were_written() {
    for weight in [
        "12.50",
        "1e-400",
        "0.1000000000000000055511151231257827",
        "999.99",
    ] {
        let body = format!("{{\"name\":\"Rex\",\"species\":\"dog\",\"weight\":{weight}}}");
        let answer = add(&body).await;
        assert!(
            answer.body.contains(&format!("\"weight\":{weight}")),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn everything_that_is_wrong_with_a_body_comes_at_once() {
    let body = r#"{"name":"","weight":1000,"nickname":1,"tags":["a","a"],"born":"today","x":null}"#;
    let answer = add(body).await;
    let violations = answer.json()["violations"].clone();
    let violations: Vec<String> = violations
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            format!(
                "{} {}",
                it["where"].as_str().unwrap(),
                it["rule"].as_str().unwrap()
            )
        })
        .collect();
    let expected = [
        "/species required",
        "/name minLength",
        "/weight maximum",
        "/nickname type",
        "/tags uniqueItems",
        "/born format",
        "/x additionalProperties",
    ];
    assert_eq!(
        (answer.status, violations.as_slice()),
        (400, &expected.map(String::from)[..])
    );
}

#[tokio::test]
async fn a_default_of_a_property_is_no_licence_to_leave_it_out() {
    assert_eq!(
        add(r#"{"name":"Rex"}"#).await.json()["violations"][0]["where"],
        "/species"
    );
}

#[tokio::test]
async fn a_one_of_is_told_by_its_discriminator_with_exact_numbers() {
    let server = Server::start();
    let send = |body: &'static str| server.send("POST /area", &[], body);
    let circle = r#"{"kind":"circle","radius":1.10}"#;
    assert_eq!(
        send(circle).await.body,
        format!("{{\"shape\":{circle},\"area\":0}}")
    );
    let square = r#"{"label":null,"sides":[2.0],"kind":"square"}"#;
    let answer = send(square).await;
    assert!(
        answer.body.contains("2.0") && answer.body.contains("\"label\":null"),
        "{}",
        answer.body
    );
    let answer = send(r#"{"kind":"square","sides":[-0],"layer":-0}"#).await;
    let shape = r#"{"kind":"square","sides":[-0],"layer":0}"#;
    assert_eq!(answer.body, format!("{{\"shape\":{shape},\"area\":0}}"));
    for (body, message) in [
        (r#"{"radius":1}"#, "/kind required"),
        (r#"{"kind":"line"}"#, "/kind enum"),
        (
            r#"{"kind":"circle","sides":[1]}"#,
            "/radius required, /sides additionalProperties",
        ),
        (r#"{"kind":"triangle","sides":[]}"#, "/sides minItems"),
        (r#"{"kind":"circle","kind":"square"}"#, " json"),
    ] {
        let answer = send(body).await;
        assert_eq!(
            (answer.status, answer.json()["message"].as_str()),
            (400, Some(message)),
            "{body}"
        );
    }
}
