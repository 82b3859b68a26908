//! `POST /api/auth/mobile/token`

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::given;
use test_support::service::Device;
use uuid::Uuid;

use crate::given::{Given, TOKEN, given};

/// A service with a signed-in device.
pub async fn signed_in() -> Option<(Given, Device)> {
    let given = given().map_err(|skip| skip.print()).ok()?;
    // Without its database, a deployment provides no codes.
    given
        .service
        .command(&["team", "list"])
        .map_err(|skip| skip.print())
        .ok()?;
    let device = given.device().await.map_err(|skip| skip.print()).ok()?;
    Some((given, device))
}

impl Given {
    async fn exchange(&self, grant: &Value) -> Answer {
        let answer = self.service.exchange(grant).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        answer
    }

    pub async fn lists_links(&self, device: &Device, access_token: &str) -> bool {
        let request = Request::new("GET", device.links()).bearer(access_token);
        let answer = self
            .send(request.header("x-team-id", &device.team_id))
            .await;
        match answer.status() {
            200 => true,
            _ => {
                answer.expect(401, "invalid_token");
                false
            }
        }
    }
}

fn token(answer: &Answer, member: &str) -> String {
    answer.json()[member]
        .as_str()
        .expect("tokens are texts")
        .to_owned()
}

#[tokio::test]
async fn a_code_becomes_a_pair_of_tokens() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let code = given!(given.service.authorization_code(&device));
    let answer = given
        .exchange(&device.code_grant(&code))
        .await
        .expect_status(200);
    let tokens = answer.json();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["expires_in"], 3600);
    assert_eq!(tokens["user_id"], device.user_id.as_str());
    assert_ne!(tokens["access_token"], tokens["refresh_token"]);
    assert!(
        given
            .lists_links(&device, &token(&answer, "access_token"))
            .await
    );
}

#[tokio::test]
async fn a_second_use_of_a_code_is_refused_and_ends_the_session_of_the_first() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let code = given!(given.service.authorization_code(&device));
    let first = given
        .exchange(&device.code_grant(&code))
        .await
        .expect_status(200);
    given
        .exchange(&device.code_grant(&code))
        .await
        .expect(400, "invalid_grant");
    assert!(
        !given
            .lists_links(&device, &token(&first, "access_token"))
            .await
    );
    let refresh = device.refresh_grant(&token(&first, "refresh_token"));
    given.exchange(&refresh).await.expect(400, "invalid_grant");
    assert!(
        given.lists_links(&device, &device.access_token).await,
        "other sessions go on"
    );
}

#[tokio::test]
async fn a_refused_exchange_spends_nothing() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let code = given!(given.service.authorization_code(&device));
    let grant = device.code_grant(&code);
    let wrong = [
        ("code_verifier", json!("a".repeat(43)), "invalid_grant"),
        (
            "redirect_uri",
            json!("com.example.app:/signed-in/"),
            "invalid_grant",
        ),
        (
            "client_id",
            json!(Uuid::new_v4().to_string()),
            "invalid_client",
        ),
        ("code", json!("unknown"), "invalid_grant"),
        ("code_verifier", json!("short"), "invalid_request"),
    ];
    for (member, value, code) in wrong {
        let mut refused = grant.clone();
        refused[member] = value;
        given.exchange(&refused).await.expect(400, code);
    }
    given.exchange(&grant).await.expect_status(200);
}

#[tokio::test]
async fn each_refresh_answers_a_new_pair_and_the_old_access_token_stays_valid() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let first = given
        .exchange(&device.refresh_grant(&device.refresh_token))
        .await
        .expect_status(200);
    let refresh_token = token(&first, "refresh_token");
    assert_ne!(refresh_token, device.refresh_token);
    let second = given
        .exchange(&device.refresh_grant(&refresh_token))
        .await
        .expect_status(200);
    for access_token in [
        &device.access_token,
        &token(&first, "access_token"),
        &token(&second, "access_token"),
    ] {
        assert!(given.lists_links(&device, access_token).await);
    }
}

#[tokio::test]
async fn a_spent_refresh_token_gets_the_same_pair_until_its_successor_is_used() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let spent = device.refresh_grant(&device.refresh_token);
    let first = given.exchange(&spent).await.expect_status(200);
    assert!(
        given
            .lists_links(&device, &token(&first, "access_token"))
            .await
    );
    let again = given.exchange(&spent).await.expect_status(200);
    for member in ["access_token", "refresh_token"] {
        assert_eq!(token(&again, member), token(&first, member));
    }
    let left = again.json()["expires_in"].as_u64().expect("it is a number");
    assert!((3500..=3600).contains(&left), "{left}");
    let successor = device.refresh_grant(&token(&first, "refresh_token"));
    let next = given.exchange(&successor).await.expect_status(200);
    given.exchange(&spent).await.expect(400, "invalid_grant");
    // There is a copy: the whole session has ended.
    assert!(
        !given
            .lists_links(&device, &token(&next, "access_token"))
            .await
    );
    let last = device.refresh_grant(&token(&next, "refresh_token"));
    given.exchange(&last).await.expect(400, "invalid_grant");
}

#[tokio::test]
async fn many_refreshes_at_once_all_get_the_same_pair() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let grant = device.refresh_grant(&device.refresh_token);
    let answers = futures::future::join_all((0..12).map(|_| given.exchange(&grant))).await;
    let pair = |answer: &Answer| {
        (
            token(answer, "access_token"),
            token(answer, "refresh_token"),
        )
    };
    for answer in &answers {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(pair(answer), pair(&answers[0]));
    }
}

#[tokio::test]
async fn a_spent_token_with_a_wrong_client_or_install_ends_the_session() {
    let other_install = |grant: &mut Value| grant["install_id"] = json!("another phone");
    let other_client = |grant: &mut Value| grant["client_id"] = json!("another app");
    for spoil in [other_install as fn(&mut Value), other_client] {
        let Some((given, device)) = signed_in().await else {
            return;
        };
        let code = given!(given.service.authorization_code(&device));
        let mut grant = device.code_grant(&code);
        grant["install_id"] = json!("phone");
        let first = given.exchange(&grant).await.expect_status(200);
        let mut refresh = device.refresh_grant(&token(&first, "refresh_token"));
        refresh["install_id"] = json!("phone");
        let second = given.exchange(&refresh).await.expect_status(200);
        let mut stolen = refresh.clone();
        spoil(&mut stolen);
        assert_eq!(given.exchange(&stolen).await.status(), 400);
        assert!(
            !given
                .lists_links(&device, &token(&second, "access_token"))
                .await
        );
    }
}

#[tokio::test]
async fn a_session_that_began_with_an_install_id_needs_it() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let code = given!(given.service.authorization_code(&device));
    let mut grant = device.code_grant(&code);
    grant["install_id"] = json!("phone");
    let first = given.exchange(&grant).await.expect_status(200);
    let refresh = device.refresh_grant(&token(&first, "refresh_token"));
    given.exchange(&refresh).await.expect(400, "invalid_grant");
    let mut wrong = refresh.clone();
    wrong["install_id"] = json!("another phone");
    given.exchange(&wrong).await.expect(400, "invalid_grant");
    let mut right = refresh;
    right["install_id"] = json!("phone");
    given.exchange(&right).await.expect_status(200);
}

#[tokio::test]
async fn unknown_members_are_ignored_and_unknown_grants_are_not() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let mut grant = device.refresh_grant(&device.refresh_token);
    grant["scope"] = json!("everything");
    grant["grant_type"] = json!("password");
    given
        .exchange(&grant)
        .await
        .expect(400, "unsupported_grant_type");
    grant["grant_type"] = json!("refresh_token");
    given.exchange(&grant).await.expect_status(200);
}

#[tokio::test]
async fn an_unknown_token_or_code_of_any_form_is_an_invalid_grant() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    for text in ["x", "not a token", "😀", &"a".repeat(512)] {
        given
            .exchange(&device.refresh_grant(text))
            .await
            .expect(400, "invalid_grant");
        given
            .exchange(&device.code_grant(text))
            .await
            .expect(400, "invalid_grant");
    }
}

#[tokio::test]
async fn a_revoked_session_ends_at_once() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let sessions = given!(
        given
            .service
            .command(&["session", "list", "--user", &device.user_id])
    );
    let session = sessions[0]["id"].as_str().expect("a session has an id");
    given!(given.service.command(&["session", "revoke", session]));
    assert!(!given.lists_links(&device, &device.access_token).await);
    given
        .exchange(&device.refresh_grant(&device.refresh_token))
        .await
        .expect(400, "invalid_grant");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_described_in_the_words_of_oauth() {
    let Some((given, device)) = signed_in().await else {
        return;
    };
    let answer = given
        .exchange(&json!({ "grant_type": "refresh_token" }))
        .await;
    let description = token(&answer.expect(400, "invalid_request"), "error_description");
    for member in ["/refresh_token", "/client_id"] {
        assert!(description.contains(member), "{description}");
    }
    let body = device.refresh_grant("\" \\ é").to_string();
    let request = Request::new("POST", TOKEN).text(format!("{body}x"));
    let answer = given.send(request).await.expect(400, "invalid_request");
    assert!(token(&answer, "error_description").is_ascii());
}
