//! Walking through all pages.

use futures::{StreamExt, TryStreamExt};
use invoicing_client::Error;

use crate::client;
use crate::stub::{PRODUCT, Reply, Request, Stub};

fn targets(stub: &Stub) -> Vec<String> {
    stub.requests()
        .into_iter()
        .map(|request| request.target)
        .collect()
}

/// Three pages of two products, two products, and one.
fn three_pages(request: &Request) -> Reply {
    let (_, query) = request.target.split_once('?').unwrap();
    let mut parameters = query.split('&');
    match parameters.find_map(|parameter| parameter.strip_prefix("after=")) {
        None => Reply::products(&[PRODUCT, PRODUCT], Some("page-2")),
        Some("page-2") => Reply::products(&[PRODUCT, PRODUCT], Some("page-3")),
        Some(_) => Reply::products(&[PRODUCT], None),
    }
}

#[tokio::test]
async fn a_page_is_fetched_only_when_its_first_product_is_wanted() {
    let stub = Stub::start(three_pages);
    let mut products = client(&stub).products().stream();
    assert_eq!(stub.requests().len(), 0);
    for expected in [1, 1, 2, 2, 3] {
        products.try_next().await.unwrap().unwrap();
        assert_eq!(stub.requests().len(), expected);
    }
    assert!(products.next().await.is_none());
    assert!(products.next().await.is_none());
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test]
async fn filters_and_page_size_hold_for_every_page() {
    let stub = Stub::start(three_pages);
    let list = client(&stub).products().list().status("archived").limit(2);
    assert_eq!(list.stream().count().await, 5);
    let path = "/api/v1/products?";
    let targets = targets(&stub);
    assert!(targets.iter().all(|target| target.starts_with(path)));
    let queries: Vec<_> = targets
        .iter()
        .map(|target| sorted(&target[path.len()..]))
        .collect();
    assert_eq!(queries[0], ["limit=2", "status=archived"]);
    assert_eq!(queries[1], ["after=page-2", "limit=2", "status=archived"]);
    assert_eq!(queries[2], ["after=page-3", "limit=2", "status=archived"]);
}

fn sorted(query: &str) -> Vec<&str> {
    let mut parameters: Vec<_> = query.split('&').collect();
    parameters.sort_unstable();
    parameters
}

#[tokio::test]
async fn a_stream_asks_for_the_largest_pages_and_a_page_for_the_services_default() {
    let stub = Stub::example();
    client(&stub).products().stream().count().await;
    client(&stub).products().list().send().await.unwrap();
    assert_eq!(
        targets(&stub),
        ["/api/v1/products?limit=100", "/api/v1/products"]
    );
}

#[tokio::test]
async fn a_walk_can_begin_in_the_middle() {
    let stub = Stub::start(three_pages);
    assert_eq!(
        client(&stub)
            .products()
            .list()
            .after("page-3")
            .stream()
            .count()
            .await,
        1
    );
}

#[tokio::test]
async fn an_empty_page_with_a_cursor_is_not_the_end() {
    let stub = Stub::script([
        Reply::products(&[], Some("next")),
        Reply::products(&[PRODUCT], None),
    ]);
    assert_eq!(client(&stub).products().stream().count().await, 1);
}

#[tokio::test]
async fn an_error_ends_the_walk() {
    let forbidden = Reply::error(403, "permission_error", "scope_insufficient");
    let stub = Stub::script([Reply::products(&[PRODUCT], Some("next")), forbidden]);
    let mut products = client(&stub).products().stream();
    assert!(products.next().await.unwrap().is_ok());
    assert!(matches!(products.next().await, Some(Err(Error::Api(_)))));
    assert!(products.next().await.is_none());
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test]
async fn a_stream_of_a_wrong_listing_is_its_error() {
    let stub = Stub::example();
    let first = client(&stub)
        .products()
        .list()
        .limit(0)
        .stream()
        .next()
        .await;
    assert!(matches!(first, Some(Err(Error::InvalidRequest(_)))));
    assert_eq!(stub.requests().len(), 0);
}

#[tokio::test]
async fn a_stream_can_be_moved_to_a_task() {
    let stub = Stub::example();
    let products = client(&stub).products().stream();
    let count = tokio::spawn(products.count()).await.unwrap();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn pages_come_one_by_one_and_tell_where_to_go_on() {
    let stub = Stub::start(three_pages);
    let mut pages = client(&stub).products().list().pages();
    assert_eq!((pages.cursor(), stub.requests().len()), (None, 0));
    for (products, cursor) in [(2, Some("page-2")), (2, Some("page-3")), (1, None)] {
        let page = pages.try_next().await.unwrap().unwrap();
        assert_eq!(page.data.len(), products);
        assert_eq!(pages.cursor().map(|it| it.as_str()), cursor);
    }
    assert!(pages.next().await.is_none() && pages.next().await.is_none());
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test]
async fn a_walk_that_failed_goes_on_where_it_was() {
    let failed = std::sync::atomic::AtomicBool::new(false);
    let stub = Stub::start(move |request| {
        let is_second = request.target.contains("after=page-2");
        match is_second && !failed.swap(true, std::sync::atomic::Ordering::SeqCst) {
            true => Reply::error(500, "server_error", "internal_error"),
            false => three_pages(request),
        }
    });
    let list = client(&stub).products().list().status("all");
    let mut pages = list.clone().pages();
    assert!(pages.next().await.unwrap().is_ok());
    assert!(pages.next().await.unwrap().is_err());
    assert!(pages.next().await.is_none());
    let cursor = pages.cursor().cloned().expect("a place to go on from");
    assert_eq!(cursor, "page-2");
    let rest: Vec<_> = list.after(cursor).pages().try_collect().await.unwrap();
    assert_eq!(rest.len(), 2);
}

#[tokio::test]
async fn a_stream_of_products_tells_the_place_of_its_page() {
    let stub = Stub::start(three_pages);
    let mut products = client(&stub).products().stream();
    let mut cursors = Vec::new();
    while products.try_next().await.unwrap().is_some() {
        cursors.push(products.cursor().map(ToString::to_string));
    }
    let cursors: Vec<_> = cursors.iter().map(Option::as_deref).collect();
    let (second, third) = (Some("page-2"), Some("page-3"));
    assert_eq!(cursors, [None, second, second, third, None]);
}

#[tokio::test]
async fn all_of_a_listing_at_once() {
    let stub = Stub::start(three_pages);
    let all = client(&stub).products().list().status("all").all();
    assert_eq!(all.await.unwrap().len(), 5);
    assert_eq!(stub.requests().len(), 3);
    assert!(targets(&stub)[0].contains("limit=100"));
    let wrong = client(&stub).products().list().limit(0).all().await;
    assert!(matches!(wrong, Err(Error::InvalidRequest(_))));
}
