//! What `by_hand` gets for free from SQLite's single writer holds here, too: concurrent requests have the same effect
//! as one after the other.

use axum::body::to_bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use serde_json::{Value, json};

use super::{CONNECTIONS, Database, change, fill, mobile};
use crate::dataset::{self, CLIENT, Dataset};
use crate::postgres::Cluster;
use crate::running::free_address;
use crate::servers::by_hand_api::ApiError;

/// A database with a small data set.
struct Setup {
    database: Database,
    dataset: Dataset,
    /// Ends with the test.
    _cluster: Cluster,
    _folder: tempfile::TempDir,
}

async fn set_up() -> Setup {
    let folder = tempfile::tempdir().expect("a folder");
    let dataset = Dataset::make(folder.path(), 32, 1).await;
    let dataset = dataset.expect("a data set");
    let cluster = Cluster::start(|| Ok(free_address()?.port())).expect("PostgreSQL starts");
    fill(&cluster.url(), &dataset).await.expect("it is filled");
    Setup {
        database: Database::open(&cluster.url(), CONNECTIONS).expect("a URL"),
        dataset,
        _cluster: cluster,
        _folder: folder,
    }
}

impl Setup {
    fn headers(&self, key: Option<&'static str>) -> HeaderMap {
        let credential = format!("Bearer {}", self.dataset.key);
        let credential = credential.try_into().expect("a header");
        let mut headers = HeaderMap::from_iter([(header::AUTHORIZATION, credential)]);
        if let Some(key) = key {
            let name = HeaderName::from_static("idempotency-key");
            headers.insert(name, HeaderValue::from_static(key));
        }
        headers
    }

    async fn create(&self, key: Option<&'static str>, body: Value) -> Response {
        let database = State(self.database.clone());
        let created =
            change::create_product(database, self.headers(key), body.to_string().into()).await;
        created.unwrap_or_else(ApiError::into_response)
    }

    async fn update(&self, body: Value) -> Response {
        let (database, id) = (State(self.database.clone()), Path(dataset::id(0)));
        let updated =
            change::update_product(database, id, self.headers(None), body.to_string().into()).await;
        updated.unwrap_or_else(ApiError::into_response)
    }
}

fn product(sku: Option<&str>) -> Value {
    json!({ "name": "A", "unitPrice": 1, "currency": "EUR", "sku": sku })
}

/// The answer, and whether it is an earlier one.
async fn read(response: Response) -> (StatusCode, bool, Value) {
    let replayed = response.headers().contains_key("idempotency-replayed");
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await;
    let body = body.expect("a body");
    (
        status,
        replayed,
        serde_json::from_slice(&body).expect("JSON"),
    )
}

#[tokio::test]
async fn one_request_sent_several_times_at_once_is_made_once() {
    let setup = set_up().await;
    for (key, sku) in [("with-sku", Some("S")), ("without", None)] {
        let requests = (0..8).map(|_| setup.create(Some(key), product(sku)));
        let answers = join_all(join_all(requests).await.into_iter().map(read)).await;
        let first = answers.iter().filter(|(_, replayed, _)| !replayed).count();
        assert_eq!(first, 1, "{answers:?}");
        for (status, _, body) in &answers {
            assert_eq!((*status, body), (StatusCode::CREATED, &answers[0].2));
        }
    }
}

#[tokio::test]
async fn a_key_for_something_else_and_a_sku_that_is_taken_are_conflicts() {
    let setup = set_up().await;
    let both = [
        setup.create(Some("key"), product(None)),
        setup.create(Some("key"), product(Some("other"))),
    ];
    let [one, other] = <[Response; 2]>::try_from(join_all(both).await).expect("two");
    let (one, other) = (read(one).await, read(other).await);
    let (refused, made) = match one.0 {
        StatusCode::CREATED => (other, one),
        _ => (one, other),
    };
    assert_eq!(made.0, StatusCode::CREATED);
    assert_eq!(refused.2["error"]["code"], "idempotency_key_reused");

    let all = (0..4).map(|_| setup.create(None, product(Some("one of a kind"))));
    let answers = join_all(join_all(all).await.into_iter().map(read)).await;
    let refused = answers.iter().filter(|(status, _, body)| {
        *status == StatusCode::CONFLICT && body["error"]["code"] == "duplicate_sku"
    });
    assert_eq!(refused.count(), 3, "{answers:?}");
}

#[tokio::test]
async fn changes_of_different_fields_at_once_are_all_kept() {
    let setup = set_up().await;
    let changes = [
        json!({ "name": "Another" }),
        json!({ "unitPrice": 7 }),
        json!({ "description": null }),
        json!({ "taxRate": 5 }),
        json!({ "type": "SERVICES" }),
    ];
    for response in join_all(changes.map(|body| setup.update(body))).await {
        assert_eq!(response.status(), StatusCode::OK);
    }
    let (_, _, body) = read(setup.update(json!({})).await).await;
    for (field, value) in [
        ("name", json!("Another")),
        ("unitPrice", json!(7)),
        ("description", json!(null)),
        ("taxRate", json!(5)),
        ("type", json!("SERVICES")),
    ] {
        assert_eq!(body["data"][field], value, "{field}");
    }
}

#[tokio::test]
async fn a_token_that_is_presented_twice_at_once_is_spent_once_and_ends_its_session() {
    let setup = set_up().await;
    let present = async |token: String| {
        let request = json!({
            "grant_type": "refresh_token", "refresh_token": token, "client_id": CLIENT,
        });
        let request = serde_json::from_value(request).expect("a request");
        let database = State(setup.database.clone());
        let answer = mobile::exchange_token(database, axum::Json(request)).await;
        read(answer.unwrap_or_else(ApiError::into_response)).await
    };
    let token = &setup.dataset.mobile.devices[0].refresh_token;
    let answers = join_all([0; 8].map(|_| present(token.clone()))).await;
    let good: Vec<_> = answers
        .iter()
        .filter(|(status, ..)| *status == StatusCode::OK)
        .collect();
    assert_eq!(good.len(), 1, "{answers:?}");
    let next = good[0].2["refresh_token"].as_str().expect("a token");
    let (status, ..) = present(next.to_owned()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}
