//! Lists of products, page by page.

use std::collections::BTreeSet;

use invoicing::domain::catalog::Mode;
use invoicing::domain::api_key::{ApiKey, Scope};
use invoicing::domain::id::ProductId;
use invoicing::domain::product::{Page, Product, StatusFilter};
use invoicing::app::App;
use invoicing::domain::Error;

use super::support::{Service, plain};

async fn create(app: &App, key: &ApiKey, names: std::ops::Range<u32>) -> Vec<ProductId> {
    let mut ids = Vec::new();
    for name in names {
        let made = app
            .create_product(key, plain(&name.to_string()), None)
            .await
            .unwrap();
        ids.push(made.value.id);
    }
    ids
}

fn ids(page: &Page<Product>) -> Vec<ProductId> {
    page.items.iter().map(|product| product.id).collect()
}

#[tokio::test]
async fn a_list_is_newest_first_also_within_one_millisecond() {
    let service = Service::new().await;
    let key = service.writer().await;
    let mut made = create(&service.app, &key, 0..5).await;
    made.reverse();
    let page = service
        .app
        .list_products(&key, StatusFilter::Active, 20, None)
        .await
        .unwrap();
    assert_eq!((ids(&page), page.next), (made, None));
}

#[tokio::test]
async fn a_page_has_a_next_one_only_if_something_follows() {
    let service = Service::new().await;
    let key = service.writer().await;
    let list = async |limit, after: Option<String>| {
        let after = after.as_deref();
        service
            .app
            .list_products(&key, StatusFilter::Active, limit, after)
            .await
            .unwrap()
    };
    let empty = list(1, None).await;
    assert_eq!((empty.items.len(), empty.next), (0, None));

    create(&service.app, &key, 0..4).await;
    assert_eq!(list(4, None).await.next, None);
    let first = list(2, None).await;
    let second = list(2, first.next).await;
    assert_eq!((second.items.len(), second.next), (2, None));
}

#[tokio::test]
async fn each_status_lists_its_own() {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = create(&service.app, &key, 0..4).await;
    service.app.archive_product(&key, made[1], None).await.unwrap();
    for (status, expected) in [
        (StatusFilter::Active, vec![made[3], made[2], made[0]]),
        (StatusFilter::Archived, vec![made[1]]),
        (StatusFilter::All, vec![made[3], made[2], made[1], made[0]]),
    ] {
        let page = service
            .app
            .list_products(&key, status, 100, None)
            .await
            .unwrap();
        assert_eq!(ids(&page), expected, "{status}");
    }
}

#[tokio::test]
async fn a_list_shows_one_team_and_mode_only() {
    let service = Service::new().await;
    let key = service.writer().await;
    let test_mode = service.key(key.team_id, Mode::Test, Scope::ReadWrite).await;
    create(&service.app, &key, 0..2).await;
    let made = create(&service.app, &test_mode, 0..1).await;
    let page = service
        .app
        .list_products(&test_mode, StatusFilter::All, 100, None)
        .await
        .unwrap();
    assert_eq!(ids(&page), made);
}

#[tokio::test]
async fn a_walk_shows_all_that_was_there_exactly_once_while_others_come_and_go() {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = create(&service.app, &key, 0..23).await;
    let mut archived = BTreeSet::new();
    let mut seen = Vec::new();
    let mut after = None;
    for step in 0.. {
        let status = StatusFilter::Active;
        let page = service
            .app
            .list_products(&key, status, 3, after.as_deref())
            .await
            .unwrap();
        seen.extend(ids(&page));
        create(&service.app, &key, 100..102).await;
        // One that was shown, one that was not; and the very product that the cursor names.
        for id in [made[step], made[22 - step], *seen.last().unwrap()] {
            if archived.insert(id) {
                service.app.archive_product(&key, id, None).await.unwrap();
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let once: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(once.len(), seen.len(), "something was shown twice");
    for id in made {
        assert!(
            once.contains(&id) || archived.contains(&id),
            "{id} was never shown"
        );
    }
}

#[tokio::test]
async fn a_cursor_is_worth_nothing_in_another_list() {
    let service = Service::new().await;
    let key = service.writer().await;
    create(&service.app, &key, 0..2).await;
    let page = service
        .app
        .list_products(&key, StatusFilter::Active, 1, None)
        .await
        .unwrap();
    let cursor = page.next.unwrap();
    let test_mode = service.key(key.team_id, Mode::Test, Scope::ReadWrite).await;
    let stranger = service.writer().await;
    for (key, status) in [
        (&key, StatusFilter::Archived),
        (&key, StatusFilter::All),
        (&test_mode, StatusFilter::Active),
        (&stranger, StatusFilter::Active),
    ] {
        let refused = service
            .app
            .list_products(key, status, 1, Some(&cursor))
            .await;
        assert!(
            matches!(refused, Err(Error::InvalidCursor)),
            "{status} {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_cursor_is_valid_in_another_process_and_with_another_key_and_limit() {
    let service = Service::new().await;
    let key = service.writer().await;
    let made = create(&service.app, &key, 0..3).await;
    let page = service
        .app
        .list_products(&key, StatusFilter::Active, 1, None)
        .await
        .unwrap();
    let other = service.another().await;
    let reader = service.key(key.team_id, Mode::Live, Scope::ReadOnly).await;
    let cursor = page.next.as_deref();
    let rest = other
        .list_products(&reader, StatusFilter::Active, 100, cursor)
        .await
        .unwrap();
    assert_eq!(ids(&rest), [made[1], made[0]]);
}
