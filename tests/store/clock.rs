//! A clock that is set years ahead, or back: nothing counted meanwhile locks a user out or keeps one signed in, and
//! what has no end stays. Idempotency keys, sessions of apps, ids and products are in the files of their noun, and in
//! `tests/hostile/suspects/clock.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::domain::Error;
use invoicing::domain::api_key::{KEYS_PER_TEAM, Scope};
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::catalog::Mode;
use invoicing::domain::holder::Holder;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::time::Clock as _;
use invoicing::store::{Sql, api_key};

use super::engine::{RANDOM_DIGEST, RANDOM_ID};
use super::people::support::{EMAIL, PASSWORD, browser, look_up, person, sign_in, with_ada};
use super::signed_in::join;
use super::support::{START, Service, live_key, mailing, plain, STRANGER};

const HOUR: Duration = Duration::from_secs(60 * 60);
const YEARS: Duration = HOUR.saturating_mul(10 * 365 * 24);

#[tokio::test]
async fn whom_a_clock_years_ahead_has_signed_in_is_signed_out_once_it_is_right() {
    let (service, early) = with_ada().await;
    service.clock.set(START.after(YEARS));
    let ahead = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.1")).await.unwrap();
    let found = look_up(&service, &ahead).await.unwrap();
    assert!(found.session.is_fresh(service.clock.now()));
    // A small step back has no effect.
    service.clock.set(START.after(YEARS - 12 * HOUR));
    let found = look_up(&service, &ahead).await.unwrap();
    assert!(!found.session.is_fresh(service.clock.now()));
    service.clock.set(START);
    let over = look_up(&service, &ahead).await;
    assert!(matches!(over, Err(Error::InvalidToken)), "{over:?}");
    // Users who were signed in before still are: nothing was deleted, and the proof is as fresh as it was.
    assert!(early.session.is_fresh(service.clock.now()));
    service.app.change_name(person(&early), "Ada L.").await.unwrap();
}

#[tokio::test]
async fn wrong_passwords_of_a_clock_years_ahead_keep_nobody_out() {
    let (service, _) = with_ada().await;
    service.clock.set(START.after(YEARS));
    for _ in 0..10 {
        let refused = sign_in(&service, EMAIL, "wrong", browser("192.0.2.2")).await;
        assert!(matches!(refused, Err(Error::WrongPassword)), "{refused:?}");
    }
    let refused = sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await;
    assert!(matches!(refused, Err(Error::TooManyWrongPasswords(_))), "{refused:?}");
    service.clock.set(START);
    sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
}

#[tokio::test]
async fn letters_of_a_clock_years_ahead_keep_none_back() {
    let (service, mail) = Service::mailing().await;
    join(&service.app, service.team().await, EMAIL, Role::Owner).await;
    service.clock.set(START.after(YEARS));
    for _ in 0..3 {
        service.app.ask_for_reset(EMAIL, STRANGER).unwrap();
        mail.next().await;
    }
    let other = Arc::new(mailing(service.another().await, &mail));
    other.ask_for_reset(EMAIL, STRANGER).unwrap();
    other.finish_mail().await;
    assert_eq!(mail.waiting().await, None);
    service.clock.set(START);
    service.app.ask_for_reset(EMAIL, STRANGER).unwrap();
    assert_eq!(mail.next().await.to, [EMAIL]);
}

#[tokio::test]
async fn what_has_no_end_stays_when_the_clock_was_years_ahead_and_the_rest_is_deleted() {
    let (service, _) = with_ada().await;
    let app = &service.app;
    let team = service.team().await;
    let (key, secret) = live_key(app, team).await.unwrap();
    app.create_product(&key, plain("A"), None).await.unwrap();
    service.clock.set(START.after(YEARS));
    app.delete_expired().await.unwrap();
    service.clock.set(START);
    app.delete_expired().await.unwrap();
    let key = app.authenticate_api_key(secret.reveal()).await.unwrap();
    let page = app.list_products(&key, StatusFilter::All, 10, None);
    assert_eq!(page.await.unwrap().items.len(), 1);
    for table in ["browser_session", "audit_event"] {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
    sign_in(&service, EMAIL, PASSWORD, browser("192.0.2.2")).await.unwrap();
}

/// Those that have expired by the clock of whoever removes the member, but not in truth.
#[tokio::test]
async fn keys_are_revoked_with_a_member_also_while_the_clock_is_hours_ahead() {
    let (service, ada) = with_ada().await;
    let (app, team) = (&service.app, service.team().await);
    app.add_member(team, ada.user.id, Role::Admin).await.unwrap();
    let by = Actor::Person(person(&ada));
    let made = app.create_api_key(&by, team, Mode::Live, Scope::ReadOnly, None, Some(HOUR));
    let secret = made.await.unwrap().1;
    // Only those that expire last are looked at.
    service.database().change(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {KEYS_PER_TEAM}) \
         INSERT INTO api_key (team_id, id, digest, mode, scope, created_at, expires_at) \
             SELECT team_id, {RANDOM_ID}, {RANDOM_DIGEST}, mode, scope, created_at, expires_at - i FROM api_key CROSS JOIN n"
    ));
    service.clock.set(START.after(24 * HOUR));
    app.remove_member(&Actor::Operator, team, ada.user.id, true).await.unwrap();
    service.clock.set(START);
    let refused = app.authenticate_api_key(secret.reveal()).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
}

/// As long as other changes wait for it on SQLite.
#[tokio::test]
async fn the_keys_of_one_member_are_found_as_fast_however_many_of_the_team_have_expired() {
    let (service, ada) = with_ada().await;
    let team = service.team().await;
    let made = service.app.create_api_key(&Actor::Operator, team, Mode::Live, Scope::ReadOnly, None, Some(HOUR));
    made.await.unwrap();
    service.clock.advance(2 * HOUR);
    let (teams, creator, now) = ([team], Some(ada.user.id), service.clock.now());
    let shortest = async || {
        let mut shortest = Duration::MAX;
        for _ in 0..5 {
            let revoke = async move |sql: Sql<'_>| api_key::revoke_all(sql, (&teams, creator), now).await;
            let begun = Instant::now();
            let revoked = service.store.write(Holder::Service, revoke).await.unwrap();
            shortest = shortest.min(begun.elapsed());
            assert_eq!(revoked, []);
        }
        shortest
    };
    let before = shortest().await;
    service.database().change(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000) \
         INSERT INTO api_key (team_id, id, digest, mode, scope, created_at, expires_at) \
             SELECT team_id, {RANDOM_ID}, {RANDOM_DIGEST}, mode, scope, created_at, expires_at FROM api_key CROSS JOIN n"
    ));
    let after = shortest().await;
    assert!(after <= 2 * before + Duration::from_millis(20), "{before:?}, then {after:?}");
}

#[tokio::test]
async fn the_audit_is_in_the_order_in_which_it_was_done_and_keeps_what_a_clock_behind_has_told() {
    let (service, ada) = with_ada().await;
    let app = Arc::clone(&service.app);
    let names = ["First", "Second", "Third"];
    for (name, now) in names.iter().zip([START.after(HOUR), START, START.before(HOUR)]) {
        service.clock.set(now);
        app.change_name(person(&ada), name).await.unwrap();
    }
    let of_names = async || {
        let events = app.list_audit_events(None, Part::default()).await.unwrap();
        let events = events.into_iter().filter(|it| it.action == Action::ChangeName);
        events.map(|it| it.created_at).collect::<Vec<_>>()
    };
    let newest_first = [START.before(HOUR), START, START.after(HOUR)];
    assert_eq!(of_names().await, newest_first);
    // What lies in the future is not too old.
    service.clock.set(START.before(YEARS));
    app.delete_expired().await.unwrap();
    assert_eq!(of_names().await, newest_first);
}
