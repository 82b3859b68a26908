//! The records of refused sign-ins.

use std::time::Duration;

use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::refused_sign_in::ROWS_PER_DAY;
use invoicing::domain::secret::Secret;

use super::super::support::{START, Service};
use super::support::{EMAIL, PASSWORD, browser, sign_in, with_ada};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A refused sign-in.
async fn refused(service: &Service, address: &str) {
    let refused = sign_in(service, EMAIL, "wrong", browser(address)).await;
    assert!(refused.is_err(), "{refused:?}");
}

/// The recorded addresses, and how often each was refused.
async fn told(service: &Service, ada: &InBrowser) -> Vec<(String, i64)> {
    let refused = service.app.list_refused_sign_ins(ada.user.id).await.unwrap();
    let refused = refused.into_iter().map(|it| (it.client_address, it.count));
    refused.collect()
}

fn row(address: &str, count: i64) -> (String, i64) {
    (address.to_owned(), count)
}

#[tokio::test]
async fn an_address_has_one_row_a_minute_with_a_count_of_the_held_ones_too() {
    let (service, ada) = with_ada().await;
    for _ in 0..12 {
        refused(&service, "192.0.2.9").await;
    }
    refused(&service, "192.0.2.10").await;
    assert_eq!(
        told(&service, &ada).await,
        [row("192.0.2.10", 1), row("192.0.2.9", 12)]
    );
    service.clock.advance(MINUTE);
    refused(&service, "192.0.2.9").await;
    let all = service.app.list_refused_sign_ins(ada.user.id).await.unwrap();
    assert_eq!(all[0].minute, START.after(MINUTE).to_the_minute());
    assert_eq!((all.len(), all[0].count), (3, 1));
    // The page goes back 90 days, and records are kept for 400.
    service.clock.advance(89 * DAY);
    assert_eq!(told(&service, &ada).await.len(), 3);
    service.clock.advance(DAY);
    assert_eq!(told(&service, &ada).await, []);
    let kept = service.app.list_all_refused_sign_ins(ada.user.id, 2).await;
    assert_eq!(kept.unwrap(), all[..2]);
}

#[tokio::test]
async fn the_right_password_is_no_refused_sign_in() {
    let (service, ada) = with_ada().await;
    let right = || sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.9"));
    right().await.unwrap();
    assert_eq!(told(&service, &ada).await, []);
    refused(&service, "192.0.2.9").await;
    right().await.unwrap();
    assert_eq!(told(&service, &ada).await, [row("192.0.2.9", 1)]);
    let confirm = async |password| {
        let password = Secret::from_text(password);
        let browser = browser("192.0.2.9");
        service.app.confirm_by_password(&ada, password, browser).await
    };
    confirm("wrong").await.unwrap_err();
    confirm(PASSWORD).await.unwrap();
    assert_eq!(told(&service, &ada).await, [row("192.0.2.9", 2)]);
}

#[tokio::test]
async fn an_unknown_account_is_counted_and_leaves_nothing() {
    let (service, _) = with_ada().await;
    let unknown = sign_in(&service, "nobody@example.com", "wrong", browser("192.0.2.9"));
    unknown.await.unwrap_err();
    assert_eq!(service.database().rows("refused_sign_in"), 0);
    refused(&service, "192.0.2.9").await;
    let counts = service.app.refused_sign_ins();
    assert_eq!((counts.known(), counts.unknown()), (1, 1));
}

#[tokio::test]
async fn strangers_with_many_addresses_fill_no_more_rows_than_a_day_may_have() {
    let (service, ada) = with_ada().await;
    for address in 0..ROWS_PER_DAY + 20 {
        refused(&service, &format!("192.0.2.{address}")).await;
    }
    // An address that has a row keeps using it.
    refused(&service, "192.0.2.0").await;
    assert_eq!(service.database().rows("refused_sign_in"), ROWS_PER_DAY + 1);
    let all = service.app.list_all_refused_sign_ins(ada.user.id, 1000).await;
    let all = all.unwrap();
    let others = all.last().unwrap();
    assert_eq!((others.client_address.as_str(), others.count), ("", 20));
    assert_eq!(others.minute, START.to_the_day());
    assert_eq!((all[0].client_address.as_str(), all[0].count), ("192.0.2.0", 2));
    service.clock.advance(DAY);
    refused(&service, "192.0.2.200").await;
    assert_eq!(told(&service, &ada).await[0], row("192.0.2.200", 1));
}

#[tokio::test]
async fn the_right_password_is_none_where_a_day_has_no_room_either() {
    let (service, ada) = with_ada().await;
    let mut known = browser("192.0.3.1");
    known.device = sign_in(&service, EMAIL, PASSWORD, known.clone()).await.unwrap().device;
    for address in 0..=ROWS_PER_DAY {
        refused(&service, &format!("192.0.2.{address}")).await;
    }
    sign_in(&service, EMAIL, PASSWORD, known).await.unwrap();
    let all = service.app.list_all_refused_sign_ins(ada.user.id, 1000).await;
    let all = all.unwrap();
    assert_eq!(all.len() as i64, ROWS_PER_DAY + 1);
    let others = all.last().unwrap();
    assert_eq!((others.client_address.as_str(), others.count), ("", 1));
}

#[tokio::test]
async fn refused_sign_ins_are_kept_for_four_hundred_days_and_end_with_their_user() {
    let (service, ada) = with_ada().await;
    let rows = async || {
        service.app.delete_expired().await.unwrap();
        service.database().rows("refused_sign_in")
    };
    refused(&service, "192.0.2.9").await;
    service.clock.advance(399 * DAY);
    assert_eq!(rows().await, 1);
    service.clock.advance(DAY);
    assert_eq!(rows().await, 0);
    refused(&service, "192.0.2.9").await;
    assert_eq!(rows().await, 1);
    service.app.delete_user(ada.user.id).await.unwrap();
    assert_eq!(service.database().rows("refused_sign_in"), 0);
}
