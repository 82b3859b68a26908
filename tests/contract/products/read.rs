//! `GET /api/v1/products/{id}`

use test_support::given;

use crate::given::{given, path, product};

#[tokio::test]
async fn an_archived_product_can_be_read() {
    let given = given!(given());
    let created = given.created(&product()).await;
    given
        .send(given.live("DELETE", path(&created)))
        .await
        .expect_status(204);
    let read = given
        .send(given.live("GET", path(&created)))
        .await
        .expect_status(200);
    assert_eq!(read.data()["status"], "archived");
    assert_eq!(read.data()["id"], created["id"]);
}

#[tokio::test]
async fn the_other_key_of_the_team_reads_it_too() {
    let given = given!(given());
    let created = given.created(&product()).await;
    let read = given
        .live("GET", path(&created))
        .bearer(&given.team.live_read_only);
    assert_eq!(given.send(read).await.data(), created);
}

#[tokio::test]
async fn two_requests_never_share_an_id() {
    let given = given!(given());
    let address = given.path_of_new().await;
    let first = given.send(given.live("GET", &address)).await;
    let second = given.send(given.live("GET", &address)).await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}
