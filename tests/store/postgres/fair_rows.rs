//! Whoever shares a row all the time neither keeps others from changing it nor from anything else.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::author::CatalogMember;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::member::Role;
use test_support::postgres::{Locked, ask};

use super::signed_in::join;
use super::support::{Service, plain};

/// Waits until so many connections wait for a lock.
async fn so_many_wait(service: &Service, count: usize) {
    let waiting = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let begun = Instant::now();
    while ask(service.database().url(), waiting) != count.to_string() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "never {count}");
    }
}

/// Sharers of a row lock may overtake: by changing things all the time, a user could not be deactivated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_does_not_overtake_what_ends_its_user() {
    let service = Arc::new(Service::new().await);
    let team = service.team().await;
    let ada = join(&service.app, team, "ada@example.com", Role::Owner).await;
    let row = format!(
        "DO $$ BEGIN PERFORM 1 FROM \"user\" WHERE id = '{}' FOR SHARE; END $$",
        ada.user_id
    );
    let shared = Locked::by(service.database().url(), &row);
    let (by, id) = (Arc::clone(&service), ada.user_id);
    let deactivated = tokio::spawn(async move { by.app.deactivate_user(id).await });
    so_many_wait(&service, 1).await;
    let by = Arc::clone(&service);
    let invite = async move {
        let ada = Actor::Person(ada);
        by.app
            .invite(&ada, team, "bo@example.com", Role::Viewer)
            .await
    };
    let invited = tokio::spawn(invite);
    so_many_wait(&service, 2).await;
    drop(shared);
    deactivated.await.unwrap().unwrap();
    let invited = invited.await.unwrap().map(drop);
    assert!(matches!(invited, Err(Error::InvalidToken)), "{invited:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_does_not_overtake_what_takes_its_users_role() {
    let service = Arc::new(Service::new().await);
    let team = service.team().await;
    let ada = join(&service.app, team, "ada@example.com", Role::Owner).await;
    let row = format!(
        "DO $$ BEGIN PERFORM 1 FROM member WHERE user_id = '{}' FOR SHARE; END $$",
        ada.user_id
    );
    let shared = Locked::by(service.database().url(), &row);
    let (by, id) = (Arc::clone(&service), ada.user_id);
    let demoted = tokio::spawn(async move {
        let role = by.app.set_role(&Actor::Operator, team, id, Role::Viewer);
        role.await
    });
    so_many_wait(&service, 1).await;
    let member = CatalogMember {
        catalog: Catalog {
            team_id: team,
            mode: Mode::Live,
        },
        role: Role::Owner,
        user_id: ada.user_id,
        session_id: ada.session_id,
    };
    let by = Arc::clone(&service);
    let created = tokio::spawn(async move {
        let created = by.app.create_product(&member, plain("A"), None);
        created.await.map(drop)
    });
    so_many_wait(&service, 2).await;
    drop(shared);
    demoted.await.unwrap().unwrap();
    let created = created.await.unwrap();
    assert!(
        matches!(created, Err(Error::RoleInsufficient)),
        "{created:?}"
    );
}

/// What one user keeps busy stays until the next run; what everybody else leaves does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_keeps_a_row_busy_keeps_nothing_else_from_being_deleted() {
    let service = Service::new().await;
    let (url, team) = (service.database().url(), service.team().await);
    let ada = join(&service.app, team, "ada@example.com", Role::Owner).await;
    let generation = format!(
        "UPDATE \"user\" SET session_generation = session_generation + 1 WHERE id = '{}'",
        ada.user_id
    );
    ask(url, &generation);
    ask(url, "UPDATE audit_event SET created_at = 1");
    let lock = format!("UPDATE \"user\" SET id = id WHERE id = '{}'", ada.user_id);
    let locked = Locked::by(url, &lock);
    let ended = service.app.delete_expired().await;
    assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    assert_eq!(ask(url, "SELECT count(*) FROM audit_event"), "0");
    drop(locked);
    service.app.delete_expired().await.unwrap();
}
