//! `GET /api/v1/products`

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::caller::Request;
use test_support::deployment::say;
use test_support::given;
use test_support::schema::Violation;

use crate::given::{Given, PRODUCTS, given, path, product};

/// A page of a list.
async fn page(given: &Given, query: &str) -> Value {
    let request = given.live("GET", format!("{PRODUCTS}?{query}"));
    given.send(request).await.expect_status(200).data()
}

fn paths(page: &Value) -> Vec<String> {
    page["data"]
        .as_array()
        .expect("a page has products")
        .iter()
        .map(path)
        .collect()
}

/// All pages, followed from the first.
async fn walk(given: &Given, query: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = page(given, &format!("{query}{cursor}")).await;
        all.extend(paths(&page));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => return all,
        }
    }
}

/// A test's own team with this many products, oldest first.
async fn with_products(count: usize) -> Option<(Given, Vec<String>)> {
    let mut given = given().map_err(|skip| skip.print()).ok()?;
    given.team = given.service.new_team().map_err(|skip| skip.print()).ok()?;
    let mut paths = Vec::new();
    for _ in 0..count {
        paths.push(given.path_of_new().await);
    }
    Some((given, paths))
}

#[tokio::test]
async fn a_list_without_parameters_is_the_twenty_newest_active_products() {
    let Some((given, created)) = with_products(22).await else {
        return;
    };
    given
        .send(given.live("DELETE", &created[21]))
        .await
        .expect_status(204);
    let expected: Vec<_> = created[1..21].iter().rev().cloned().collect();
    assert_eq!(paths(&page(&given, "").await), expected);
    let archived: Vec<_> = created[21..].to_vec();
    assert_eq!(paths(&page(&given, "status=archived").await), archived);
    let all: Vec<_> = created.iter().rev().cloned().collect();
    assert_eq!(paths(&page(&given, "status=all&limit=100").await), all);
}

#[tokio::test]
async fn the_last_page_says_so_also_when_it_is_full_or_empty() {
    let Some((given, created)) = with_products(4).await else {
        return;
    };
    let first = page(&given, "limit=2").await;
    assert_eq!((paths(&first).len(), &first["hasMore"]), (2, &json!(true)));
    let cursor = first["nextCursor"].as_str().expect("there is more");
    let last = page(&given, &format!("limit=2&after={cursor}")).await;
    assert_eq!(
        (paths(&last).len(), &last["hasMore"], &last["nextCursor"]),
        (2, &json!(false), &Value::Null)
    );
    let empty = page(&given, "status=archived").await;
    assert_eq!(
        empty,
        json!({ "data": [], "hasMore": false, "nextCursor": null })
    );
    drop(created);
}

#[tokio::test]
async fn a_walk_shows_what_existed_when_it_began_exactly_once_whatever_happens_meanwhile() {
    let Some((given, created)) = with_products(9).await else {
        return;
    };
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for round in 0.. {
        let page = page(&given, &format!("limit=2{cursor}")).await;
        seen.extend(paths(&page));
        // A product is added, and one that was seen is archived.
        given.path_of_new().await;
        given
            .send(given.live("DELETE", &seen[round * 2]))
            .await
            .expect_status(204);
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&after={next}"),
            None => break,
        }
    }
    let expected: Vec<_> = created.iter().rev().cloned().collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_walk_shows_every_product_once_with_any_limit() {
    let Some((given, created)) = with_products(7).await else {
        return;
    };
    let expected: Vec<_> = created.iter().rev().cloned().collect();
    for limit in 1..=8 {
        assert_eq!(
            walk(&given, &format!("limit={limit}")).await,
            expected,
            "limit={limit}"
        );
    }
}

/// Asserts that a cursor does not belong to the list that it is used in.
async fn is_foreign(given: &Given, request: Request) {
    let answer = given.send(request).await.expect(400, "invalid_query");
    assert_eq!(
        answer.violations(),
        BTreeSet::from([Violation::new("after", "cursor")])
    );
}

#[tokio::test]
async fn a_cursor_works_only_where_it_was_made() {
    let Some((given, _)) = with_products(3).await else {
        return;
    };
    let cursor = page(&given, "limit=1").await["nextCursor"].clone();
    let cursor = cursor.as_str().expect("there is more");
    let list = |query: &str| given.live("GET", format!("{PRODUCTS}?after={cursor}{query}"));
    given.send(list("&limit=7")).await.expect_status(200);
    given.send(list("&status=active")).await.expect_status(200);
    given
        .send(list("").bearer(&given.team.live_read_only))
        .await
        .expect_status(200);
    is_foreign(&given, list("&status=all")).await;
    is_foreign(&given, list("&status=archived")).await;
    is_foreign(&given, list("").bearer(&given.team.test)).await;
    let other = given!(given.service.other_team_key());
    is_foreign(&given, list("").bearer(&other)).await;
}

#[tokio::test]
async fn a_cursor_altered_by_one_character_is_not_ours() {
    let Some((given, _)) = with_products(3).await else {
        return;
    };
    let cursor = page(&given, "limit=1").await["nextCursor"].clone();
    let cursor = cursor.as_str().expect("there is more").to_owned();
    for index in 0..cursor.len() {
        let mut altered = cursor.clone().into_bytes();
        altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
        let altered = String::from_utf8(altered).expect("it is ASCII");
        is_foreign(
            &given,
            given.live("GET", format!("{PRODUCTS}?after={altered}")),
        )
        .await;
    }
    for altered in [format!("{cursor}A"), cursor[1..].to_owned(), "A".to_owned()] {
        is_foreign(
            &given,
            given.live("GET", format!("{PRODUCTS}?after={altered}")),
        )
        .await;
    }
}

#[tokio::test]
async fn a_cursor_outlives_the_server() {
    let Some((mut given, created)) = with_products(3).await else {
        return;
    };
    if given.service.process_id().is_none() {
        return say("a deployment is not restarted for a test");
    }
    let cursor = page(&given, "limit=2").await["nextCursor"].clone();
    given.service.crash_and_restart();
    let cursor = cursor.as_str().expect("there is more");
    let last = page(&given, &format!("after={cursor}")).await;
    assert_eq!(paths(&last), created[..1]);
}

#[tokio::test]
async fn unknown_and_repeated_parameters_are_refused_all_at_once() {
    let given = given!(given());
    let target = format!("{PRODUCTS}?limit=0&status=active&status=all&page=2&after=%20");
    let answer = given
        .send(given.live("GET", target))
        .await
        .expect(400, "invalid_query");
    let expected = [
        Violation::new("limit", "minimum"),
        Violation::new("status", "repeated"),
        Violation::new("page", "unknown"),
        Violation::new("after", "pattern"),
    ];
    assert_eq!(answer.violations(), expected.into());
}

#[tokio::test]
async fn a_product_stays_where_it_is_in_the_list_when_it_changes() {
    let Some((given, created)) = with_products(3).await else {
        return;
    };
    let change = given.live("PATCH", &created[0]).json(&product());
    given.send(change).await.expect_status(200);
    let expected: Vec<_> = created.iter().rev().cloned().collect();
    assert_eq!(walk(&given, "").await, expected);
}
