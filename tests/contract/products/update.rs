//! `PATCH /api/v1/products/{id}`

use serde_json::{Value, json};
use test_support::given;

use crate::given::{Given, given, path, product, unique, updated_at};

/// A product with every field.
async fn complete(given: &Given) -> Value {
    let complete = json!({
        "name": "Espresso beans", "unitPrice": 18.9, "currency": "EUR", "description": "Dark roast",
        "sku": unique("BEAN"), "taxRate": 7, "type": "GOODS", "unitOfMeasure": "kg",
    });
    given.created(&complete).await
}

async fn updated(given: &Given, product: &Value, change: Value) -> Value {
    let update = given.live("PATCH", path(product)).json(&change);
    given.send(update).await.expect_status(200).data()
}

#[tokio::test]
async fn what_is_left_out_keeps_its_value() {
    let given = given!(given());
    let created = complete(&given).await;
    let changed = updated(&given, &created, json!({ "unitPrice": 19.9 })).await;
    for (member, value) in created.as_object().expect("a product is an object") {
        match member.as_str() {
            "unitPrice" => assert_eq!(changed[member], json!(19.9)),
            "updatedAt" => assert!(updated_at(&changed) > updated_at(&created)),
            _ => assert_eq!(&changed[member], value, "{member}"),
        }
    }
}

#[tokio::test]
async fn null_clears_description_sku_and_tax_rate() {
    let given = given!(given());
    let created = complete(&given).await;
    for member in ["description", "sku", "taxRate"] {
        let changed = updated(&given, &created, json!({ member: null })).await;
        assert_eq!(changed.get(member), Some(&Value::Null), "{member}");
    }
}

#[tokio::test]
async fn type_and_unit_change_but_cannot_be_cleared() {
    let given = given!(given());
    let created = complete(&given).await;
    let changed = updated(
        &given,
        &created,
        json!({ "type": "SERVICES", "unitOfMeasure": "hr" }),
    )
    .await;
    assert_eq!(
        (&changed["type"], &changed["unitOfMeasure"]),
        (&json!("SERVICES"), &json!("hr"))
    );
    for member in ["type", "unitOfMeasure", "name", "unitPrice", "currency"] {
        let clear = given
            .live("PATCH", path(&created))
            .json(&json!({ member: null }));
        given.send(clear).await.expect(400, "invalid_body");
    }
}

#[tokio::test]
async fn an_empty_update_moves_updated_at_strictly_each_time() {
    let given = given!(given());
    let created = complete(&given).await;
    let mut last = created["updatedAt"].to_string();
    for _ in 0..10 {
        let now = updated(&given, &created, json!({})).await["updatedAt"].to_string();
        assert!(now > last, "{now} came after {last}");
        last = now;
    }
}

#[tokio::test]
async fn a_sku_conflicts_with_active_products_only() {
    let given = given!(given());
    let (first, second) = (complete(&given).await, complete(&given).await);
    let take = |sku: &Value| {
        given
            .live("PATCH", path(&second))
            .json(&json!({ "sku": sku }))
    };
    given
        .send(take(&first["sku"]))
        .await
        .expect(409, "duplicate_sku");
    given.send(take(&second["sku"])).await.expect_status(200);
    given
        .send(given.live("DELETE", path(&first)))
        .await
        .expect_status(204);
    given.send(take(&first["sku"])).await.expect_status(200);
}

#[tokio::test]
async fn an_archived_product_is_updated_without_conflicts_and_stays_archived() {
    let given = given!(given());
    let (active, archived) = (complete(&given).await, complete(&given).await);
    given
        .send(given.live("DELETE", path(&archived)))
        .await
        .expect_status(204);
    let changed = updated(
        &given,
        &archived,
        json!({ "sku": active["sku"], "name": "Old" }),
    )
    .await;
    assert_eq!(changed["status"], "archived");
    assert_eq!(changed["sku"], active["sku"]);
    let status = given
        .live("PATCH", path(&archived))
        .json(&json!({ "status": "active" }));
    given.send(status).await.expect(400, "invalid_body");
}

#[tokio::test]
async fn a_refused_update_changes_nothing() {
    let given = given!(given());
    let created = given.created(&product()).await;
    let refused = given
        .live("PATCH", path(&created))
        .json(&json!({ "name": "New", "taxRate": 101 }));
    given.send(refused).await.expect(400, "invalid_body");
    let read = given.send(given.live("GET", path(&created))).await;
    assert_eq!(read.data(), created);
}
