//! What holds after a crash.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use test_support::caller::{Caller, Request};

use crate::writer::{Change, PRODUCTS, Writer};

/// Checks everything, and settles what was in doubt. How many requests were acknowledged so far comes
/// back.
pub async fn all(caller: &Caller, key: &str, writers: &mut [Writer]) -> usize {
    let there = catalog(caller, key).await;
    assert_same(&there, &expected_of_all(writers, &there));
    for writer in writers.iter_mut() {
        replays(caller, writer).await;
        settles(caller, writer, &there).await;
    }
    let settled = catalog(caller, key).await;
    assert_same(&settled, &expected_of_all(writers, &settled));
    writers.iter().map(|writer| writer.acknowledged.len()).sum()
}

/// Exactly what was acknowledged is there, and what was in doubt as far as it was carried out.
#[track_caller]
fn assert_same(there: &BTreeMap<String, Value>, expected: &BTreeMap<String, Value>) {
    let skus: BTreeSet<_> = there.keys().chain(expected.keys()).collect();
    let different: Vec<_> = skus
        .into_iter()
        .map(|sku| (there.get(sku), expected.get(sku)))
        .filter(|(there, expected)| there != expected)
        .collect();
    assert!(different.is_empty(), "there, and expected: {different:#?}");
}

fn expected_of_all(writers: &[Writer], there: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let products = writers.iter().flat_map(|writer| expected(writer, there));
    products.collect()
}

/// All products by sku, each sku being there once.
async fn catalog(caller: &Caller, key: &str) -> BTreeMap<String, Value> {
    let mut products = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let target = format!("{PRODUCTS}?status=all&limit=100{cursor}");
        let answer = caller.send(Request::new("GET", target).bearer(key)).await;
        let page = answer.expect_status(200).data();
        for product in page["data"].as_array().expect("a page has products") {
            let sku = product["sku"].as_str().expect("these products have skus");
            let twice = products.insert(sku.to_owned(), product.clone());
            assert!(twice.is_none(), "{sku} is there twice");
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => return products,
        }
    }
}

/// The products of a writer as they must be. Where a request was in doubt there are two ways; the one
/// that is there is taken when it is one of the two.
fn expected(writer: &Writer, there: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut products: BTreeMap<String, Value> = BTreeMap::new();
    for (change, received) in &writer.acknowledged {
        match received.status {
            204 => {
                let product = products.get_mut(&change.sku).expect("it was created");
                archived(product, &there[&change.sku]);
            }
            _ => drop(products.insert(change.sku.clone(), received.json()["data"].clone())),
        }
    }
    if let Some(doubt) = &writer.in_doubt
        && let Some(found) = there.get(&doubt.sku)
    {
        let carried_out = carried_out(doubt, products.get(&doubt.sku), found);
        products.extend(carried_out.map(|product| (doubt.sku.clone(), product)));
    }
    products
}

/// An archived product, whose new `updatedAt` its answer did not tell.
fn archived(product: &mut Value, found: &Value) {
    let (before, after) = (
        product["updatedAt"].to_string(),
        found["updatedAt"].to_string(),
    );
    assert!(before < after, "archiving moves updatedAt: {found}");
    product["status"] = "archived".into();
    product["updatedAt"] = found["updatedAt"].clone();
}

/// The product that the request in doubt would have left, when that is what was found.
fn carried_out(doubt: &Change, before: Option<&Value>, found: &Value) -> Option<Value> {
    if before == Some(found) {
        return None;
    }
    let mut product = before.unwrap_or(found).clone();
    for member in ["unitPrice", "description", "status", "updatedAt"] {
        product[member] = found[member].clone();
    }
    let complete = match (doubt.request.method_name(), before) {
        ("POST", None) => found["unitPrice"] == 1 && found["status"] == "active",
        ("PATCH", Some(_)) => found["unitPrice"] == 2 && found["description"] == doubt.sku.as_str(),
        ("DELETE", Some(_)) => found["status"] == "archived",
        _ => false,
    };
    assert!(complete, "{found} is neither before nor after {doubt:?}");
    Some(product)
}

/// Every key that was acknowledged replays its answer.
async fn replays(caller: &Caller, writer: &Writer) {
    // The first ones were tried in the rounds before.
    for (change, received) in writer.acknowledged.iter().rev().take(20) {
        if change.keyed {
            let again = caller.send(change.request.clone()).await;
            assert_eq!(
                again.header("idempotency-replayed"),
                Some("true"),
                "{change:?}"
            );
            assert_eq!(again.header("location"), received.header("location"));
            assert_eq!(
                (again.status(), again.json()),
                (received.status, received.json())
            );
        }
    }
}

/// The request in doubt, sent again, is carried out if it was not, and replayed if it was.
async fn settles(caller: &Caller, writer: &mut Writer, there: &BTreeMap<String, Value>) {
    let Some(doubt) = writer.in_doubt.take() else {
        return;
    };
    let answer = caller.send(doubt.request.clone()).await;
    if doubt.keyed {
        let replayed = answer.header("idempotency-replayed").is_some();
        let product = answer.data();
        if replayed {
            assert_eq!(
                there.get(&doubt.sku),
                Some(&product),
                "a replay tells what is there"
            );
        } else {
            assert_ne!(there.get(&doubt.sku), Some(&product));
        }
        assert!(answer.status() < 300, "{doubt:?} {}", answer.text());
    } else {
        let archived = there[&doubt.sku]["status"] == "archived";
        assert_eq!(
            answer.status(),
            if archived { 409 } else { 204 },
            "{doubt:?}"
        );
    }
    if answer.status() < 300 {
        writer.acknowledged.push((doubt, answer.received));
    } else {
        let mut received = answer.received;
        received.status = 204;
        writer.acknowledged.push((doubt, received));
    }
}
