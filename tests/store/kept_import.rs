//! Import plans that are kept until their user confirms them.

use std::iter::repeat_with;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;

use invoicing::domain::Error;
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::member::Role;
use invoicing::domain::product_import::KEPT_FOR_TEAM;

use super::product_import::{all, catalog, import, large, plan};
use super::signed_in::{join, told};
use super::support::Service;

#[tokio::test]
async fn a_kept_plan_is_good_once_and_for_its_user_team_and_mode_alone() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let user = person.user_id;
    let (elsewhere, stranger) = self::catalog(&service).await;
    let colleague = join(app, catalog.team_id, "grace@example.com", Role::Owner).await;
    let csv = large(3, "1");
    let plan = plan(app, catalog, &csv).await;
    let id = app.keep_import_plan(&person, &plan, csv.into()).await.unwrap();
    let test = Catalog { mode: Mode::Test, ..catalog };
    for (somebody, catalog) in [(&colleague, catalog), (&person, test), (&stranger, elsewhere)] {
        let done = app.carry_out_kept_import(somebody.clone(), catalog, id, Arc::default()).await;
        assert!(matches!(done, Err(Error::ImportNotKept)), "{done:?}");
    }
    let done = app.carry_out_kept_import(stranger.clone(), catalog, id, Arc::default()).await;
    assert!(matches!(done, Err(Error::NotAMember)), "{done:?}");
    let shown = app.get_kept_import(user, catalog, id).await.unwrap();
    assert_eq!(shown.planned, plan.planned);
    let confirm = || app.carry_out_kept_import(person.clone(), catalog, id, Arc::default());
    let (done, refused): (Vec<_>, Vec<_>) =
        join_all(repeat_with(confirm).take(10)).await.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 1);
    for again in refused {
        assert!(matches!(again, Err(Error::ImportNotKept)), "{again:?}");
    }
    assert_eq!(service.database().rows("product_import"), 0);
    assert_eq!(all(app, catalog).await.len(), 3);
    assert_eq!(told(app, catalog.team_id, Action::ImportProducts).await, 1);
}

#[tokio::test]
async fn a_kept_plan_is_carried_out_by_nobody_who_has_signed_out() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let csv = large(3, "1");
    let plan = plan(app, catalog, &csv).await;
    let id = app.keep_import_plan(&person, &plan, csv.into()).await.unwrap();
    app.sign_out(person.clone()).await.unwrap();
    let done = app.carry_out_kept_import(person, catalog, id, Arc::default()).await;
    assert!(matches!(done, Err(Error::InvalidToken)), "{done:?}");
    assert_eq!(all(app, catalog).await.len(), 0);
    assert_eq!(told(app, catalog.team_id, Action::ImportProducts).await, 0);
}

#[tokio::test]
async fn a_plan_is_kept_for_nobody_who_has_signed_out_while_it_was_made() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let csv = large(3, "1");
    let plan = plan(app, catalog, &csv).await;
    app.sign_out(person.clone()).await.unwrap();
    let kept = app.keep_import_plan(&person, &plan, csv.into()).await;
    assert!(matches!(kept, Err(Error::InvalidToken)), "{kept:?}");
    assert_eq!(service.database().rows("product_import"), 0);
}

#[tokio::test]
async fn a_kept_plan_ends_after_an_hour_with_the_next_one_and_with_the_role() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let user = person.user_id;
    let csv = large(3, "1");
    let plan = plan(app, catalog, &csv).await;
    let keep = async || app.keep_import_plan(&person, &plan, csv.clone().into()).await.unwrap();
    let first = keep().await;
    let second = keep().await;
    let done = app.carry_out_kept_import(person.clone(), catalog, first, Arc::default()).await;
    assert!(matches!(done, Err(Error::ImportNotKept)), "replaced: {done:?}");

    app.remove_member(&Actor::Operator, catalog.team_id, user, false).await.unwrap();
    app.add_member(catalog.team_id, user, Role::Viewer).await.unwrap();
    let done = app.carry_out_kept_import(person.clone(), catalog, second, Arc::default()).await;
    assert!(matches!(done, Err(Error::RoleInsufficient)), "{done:?}");
    app.remove_member(&Actor::Operator, catalog.team_id, user, false).await.unwrap();
    app.add_member(catalog.team_id, user, Role::Admin).await.unwrap();

    service.clock.advance(Duration::from_millis(3_599_999));
    app.get_kept_import(user, catalog, second).await.unwrap();
    app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("product_import"), 1);
    service.clock.advance(Duration::from_millis(1));
    let done = app.carry_out_kept_import(person.clone(), catalog, second, Arc::default()).await;
    assert!(matches!(done, Err(Error::ImportNotKept)), "expired: {done:?}");
    app.delete_expired().await.unwrap();
    assert_eq!(service.database().rows("product_import"), 0);
    assert_eq!(all(app, catalog).await.len(), 0);
}

#[tokio::test]
async fn a_kept_plan_of_a_catalog_that_has_changed_is_refused() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let user = person.user_id;
    let csv = large(3, "1");
    let plan = plan(app, catalog, &csv).await;
    let id = app.keep_import_plan(&person, &plan, csv.into()).await.unwrap();
    assert_eq!(import(app, catalog, "sku,name,unitPrice,currency\nS-1,Mine,1,EUR\n").await.new, 1);
    let shown = app.get_kept_import(user, catalog, id).await;
    assert!(matches!(shown, Err(Error::CatalogChanged)), "{shown:?}");
    let done = app.carry_out_kept_import(person.clone(), catalog, id, Arc::default()).await;
    assert!(matches!(done, Err(Error::CatalogChanged)), "{done:?}");
    assert_eq!(all(app, catalog).await.len(), 1);
}

#[tokio::test]
async fn a_team_has_so_many_kept_plans_and_the_oldest_goes() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let (elsewhere, stranger) = self::catalog(&service).await;
    let csv = large(3, "1");
    let (plan, of_others) = (plan(app, catalog, &csv).await, self::plan(app, elsewhere, &csv).await);
    app.keep_import_plan(&stranger, &of_others, csv.clone().into()).await.unwrap();
    let first = app.keep_import_plan(&person, &plan, csv.clone().into()).await.unwrap();
    for number in 1..KEPT_FOR_TEAM {
        let email = format!("puppet-{number}@example.com");
        let puppet = join(app, catalog.team_id, &email, Role::Owner).await;
        app.keep_import_plan(&puppet, &plan, csv.clone().into()).await.unwrap();
    }
    app.get_kept_import(person.user_id, catalog, first).await.unwrap();
    let one_more = join(app, catalog.team_id, "one-more@example.com", Role::Owner).await;
    app.keep_import_plan(&one_more, &plan, csv.into()).await.unwrap();
    let gone = app.get_kept_import(person.user_id, catalog, first).await;
    assert!(matches!(gone, Err(Error::ImportNotKept)), "{gone:?}");
    assert_eq!(service.database().rows("product_import"), 1 + i64::from(KEPT_FOR_TEAM));
}

/// A user may have two browsers, and each of them an import.
#[tokio::test]
async fn plans_kept_at_once_for_one_user_replace_each_other() {
    let service = Service::new().await;
    let app = &service.app;
    let (catalog, person) = catalog(&service).await;
    let csv = large(3, "1");
    let plan = plan(app, catalog, &csv).await;
    let keep = || app.keep_import_plan(&person, &plan, csv.clone().into());
    for kept in join_all(repeat_with(keep).take(10)).await {
        kept.unwrap();
    }
    assert_eq!(service.database().rows("product_import"), 1);
}
