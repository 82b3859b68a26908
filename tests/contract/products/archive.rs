//! `DELETE /api/v1/products/{id}`

use serde_json::json;
use test_support::given;

use crate::given::{given, path, product, unique, updated_at};

#[tokio::test]
async fn archiving_moves_updated_at_and_nothing_else_but_the_status() {
    let given = given!(given());
    let mut expected = given.created(&product()).await;
    let answer = given.send(given.live("DELETE", path(&expected))).await;
    assert_eq!(answer.expect_status(204).text(), "");
    let read = given.send(given.live("GET", path(&expected))).await.data();
    assert!(updated_at(&read) > updated_at(&expected));
    expected["status"] = json!("archived");
    expected["updatedAt"] = read["updatedAt"].clone();
    assert_eq!(read, expected);
}

#[tokio::test]
async fn the_sku_of_an_archived_product_is_free() {
    let given = given!(given());
    let mut body = product();
    body["sku"] = json!(unique("free"));
    let first = given.created(&body).await;
    given
        .send(given.live("DELETE", path(&first)))
        .await
        .expect_status(204);
    given.created(&body).await;
}

#[tokio::test]
async fn one_of_two_at_once_archives() {
    let given = given!(given());
    let address = given.path_of_new().await;
    let archive = || given.send(given.live("DELETE", &address));
    let answers = futures::future::join_all((0..8).map(|_| archive())).await;
    let archived = answers
        .iter()
        .filter(|answer| answer.status() == 204)
        .count();
    let refused = answers
        .iter()
        .filter(|answer| answer.code() == "already_archived")
        .count();
    assert_eq!((archived, refused), (1, 7));
}
