//! Every operation, with no credential, a bad one, and ones with the wrong scope, mode and team.
//!
//! The operations come from the documents: a new one is tried without being named here.

use std::sync::Arc;

use serde_json::{Value, json};
use test_support::caller::{Answer, Request};
use test_support::deployment::available;
use test_support::document::{self, Document};
use test_support::given;

use crate::given::{Given, PRODUCTS, given, path, product, unique};

/// The operations of a document that need a credential.
fn secured(document: &Document) -> Vec<String> {
    let operations = document.operations.iter();
    let secured = operations.filter(|operation| operation.secured);
    secured.map(|operation| operation.id.clone()).collect()
}

fn both() -> [Arc<Document>; 2] {
    [document::catalog(), document::mobile()]
}

/// Asserts a 401 with this challenge.
#[track_caller]
fn is_refused(answer: Answer, challenge: &str) {
    let answer = answer.expect(401, "invalid_token");
    assert_eq!(answer.header("www-authenticate"), Some(challenge));
    assert_eq!(
        answer.header("ratelimit"),
        None,
        "a stranger learns nothing of limits"
    );
}

#[tokio::test]
async fn no_credential_is_challenged_without_an_error() {
    let given = given!(given());
    for operation in both().iter().flat_map(|document| secured(document)) {
        let Some(request) = available(given.request(&operation).await) else {
            continue;
        };
        let request = request.without_header("authorization");
        is_refused(given.send(request).await, "Bearer");
    }
}

/// Credentials that are always refused: malformed, unknown, of another kind.
fn bad() -> Vec<String> {
    let secret = "0".repeat(43);
    [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer x".to_owned(),
        "Bearer two words".to_owned(),
        "Basic dXNlcjpwYXNzd29yZA==".to_owned(),
        format!("Bearer inv_live_{secret}000000"),
        format!("Bearer inv_prod_{secret}000000"),
        format!("Bearer {}", "a".repeat(10_000)),
    ]
    .into()
}

#[tokio::test]
async fn a_bad_credential_is_invalid_in_every_form() {
    let given = given!(given());
    for operation in both().iter().flat_map(|document| secured(document)) {
        let Some(valid) = available(given.request(&operation).await) else {
            continue;
        };
        for credential in bad() {
            let request = valid.clone().without_header("authorization");
            let answer = given
                .send(request.header("authorization", &credential))
                .await;
            let answer = answer.expect(401, "invalid_token");
            let challenge = answer.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer"), "{credential}: {challenge}");
            if credential.starts_with("Bearer inv") {
                assert_eq!(challenge, "Bearer error=\"invalid_token\"");
            }
        }
    }
}

#[tokio::test]
async fn a_key_altered_by_one_character_is_no_key() {
    let given = given!(given());
    let key = &given.team.live;
    for index in [0, 9, 20, key.len() - 1] {
        let mut altered = key.to_string().into_bytes();
        altered[index] = if altered[index] == b'7' { b'8' } else { b'7' };
        let altered = String::from_utf8(altered).expect("it is ASCII");
        let answer = given
            .send(Request::new("GET", PRODUCTS).bearer(&altered))
            .await;
        is_refused(answer, "Bearer error=\"invalid_token\"");
    }
}

#[tokio::test]
async fn a_key_is_no_access_token_and_an_access_token_no_key() {
    let given = given!(given());
    let device = given!(given.device().await);
    for document in both() {
        let stranger = match document.name.as_str() {
            "catalog" => &device.access_token,
            _ => &given.team.live,
        };
        for operation in secured(&document) {
            let request = given!(given.request(&operation).await).bearer(stranger);
            is_refused(given.send(request).await, "Bearer error=\"invalid_token\"");
        }
    }
}

#[tokio::test]
async fn an_operation_without_security_ignores_credentials() {
    let given = given!(given());
    let mut public = Vec::new();
    for document in both() {
        for operation in document
            .operations
            .iter()
            .filter(|operation| !operation.secured)
        {
            let request = given!(given.request(&operation.id).await).bearer("nonsense");
            given.send(request).await.expect_status(200);
            public.push(operation.id.clone());
        }
    }
    assert_eq!(public, ["exchange_token"]);
}

#[tokio::test]
async fn a_stranger_learns_nothing_about_what_is_wrong_with_a_request() {
    let given = given!(given());
    let nonsense = format!("{PRODUCTS}/nonsense?surprise=1");
    for request in [
        Request::new("PATCH", &nonsense).header("content-type", "text/plain"),
        Request::new("GET", &nonsense),
        Request::new("POST", PRODUCTS).text("x".repeat(70_000)),
        Request::new("GET", "/api/mobile/items/nothing/nonsense/links"),
    ] {
        is_refused(given.send(request).await, "Bearer");
    }
}

#[tokio::test]
async fn a_read_only_key_reads_and_does_not_write() {
    let given = given!(given());
    for operation in &document::catalog().operations {
        let request = given!(given.request(&operation.id).await);
        let answer = given.send(request.bearer(&given.team.live_read_only)).await;
        match operation.method.as_str() {
            "GET" => answer.expect_status(200),
            _ => answer.expect(403, "scope_insufficient"),
        };
    }
}

#[tokio::test]
async fn scope_is_checked_before_the_request() {
    let given = given!(given());
    let nonsense = Request::new("POST", format!("{PRODUCTS}?surprise=1")).text("{");
    let answer = given
        .send(nonsense.bearer(&given.team.live_read_only))
        .await;
    answer.expect(403, "scope_insufficient");
}

/// Tries every operation of the catalog on a product of the team's live catalog, with a key of another
/// catalog: for this key, the product does not exist.
async fn is_hidden_from(given: &Given, stranger: &str) {
    let product = given.created(&product()).await;
    for operation in &document::catalog().operations {
        if !operation.path.contains("{id}") {
            continue;
        }
        let request = given
            .live(&operation.method, path(&product))
            .bearer(stranger);
        let request = match operation.body {
            Some(_) => request.json(&json!({ "name": "taken over" })),
            None => request,
        };
        given.send(request).await.expect(404, "product_not_found");
    }
    let read = given.live("GET", path(&product));
    assert_eq!(given.send(read).await.data(), product, "it is as it was");
    let list = Request::new("GET", format!("{PRODUCTS}?status=all&limit=100")).bearer(stranger);
    let page = given.send(list).await.expect_status(200).data();
    let listed = page["data"].as_array().expect("a page has products");
    assert!(listed.iter().all(|other| path(other) != path(&product)));
}

#[tokio::test]
async fn a_product_does_not_exist_for_a_key_of_the_other_mode() {
    let given = given!(given());
    is_hidden_from(&given, &given.team.test).await;
}

#[tokio::test]
async fn a_product_does_not_exist_for_a_key_of_another_team() {
    let given = given!(given());
    let stranger = given!(given.service.other_team_key());
    is_hidden_from(&given, &stranger).await;
}

#[tokio::test]
async fn modes_and_teams_share_neither_skus_nor_idempotency_keys() {
    let given = given!(given());
    let others = [
        given.team.test.to_string(),
        given!(given.service.other_team_key()),
    ];
    let key = unique("key");
    let mut taken = product();
    taken["sku"] = Value::String(unique("sku"));
    let create = given
        .live("POST", PRODUCTS)
        .header("idempotency-key", &key)
        .json(&taken);
    let first = given.send(create.clone()).await.expect_status(201).data();
    for other in others {
        let answer = given
            .send(create.clone().bearer(&other))
            .await
            .expect_status(201);
        assert_eq!(answer.header("idempotency-replayed"), None);
        assert_ne!(answer.data()["id"], first["id"]);
    }
}

#[tokio::test]
async fn an_item_of_another_team_does_not_exist_and_a_foreign_team_is_forbidden() {
    let given = given!(given());
    let device = given!(given.device().await);
    let links = |team: &str, file: &str| {
        let target = format!("/api/mobile/items/file/{file}/links");
        let request = Request::new("GET", target).bearer(&device.access_token);
        request.header("x-team-id", team)
    };
    let answer = given.send(links(&device.team_id, &device.file_id)).await;
    answer.expect_status(200);
    let answer = given
        .send(links(&device.other_team_id, &device.file_id))
        .await;
    answer.expect(403, "not_a_member");
    let nobody = uuid::Uuid::new_v4().to_string();
    given
        .send(links(&nobody, &device.file_id))
        .await
        .expect(403, "not_a_member");
    let other_team = given!(given.service.new_team());
    let other = given!(given.service.device(&other_team).await);
    let answer = given.send(links(&device.team_id, &other.file_id)).await;
    answer.expect(404, "item_not_found");
}
