//! All who exchange tokens, sign in or forget their passwords share a line each, since nobody knows who they are: nobody may
//! have all others wait in it for a row of their own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::member::Role;
use test_support::postgres::{Locked, ask};

use super::people::passkey::{answer, stranger, with_passkey};
use super::people::support::{browser, sign_in};
use super::session::Mobile;
use super::signed_in::join;
use super::support::Service;

/// More than anything takes here, and less than a lock is waited for.
const IN_TIME: Duration = Duration::from_secs(2);

/// More than those who present tokens may have of the seats.
const CROWD: usize = 200;

/// More than those who sign in may have of the connections.
const CONNECTIONS: usize = 40;

/// Waits until somebody waits for a lock.
async fn somebody_waits(service: &Service) {
    let waiting = "SELECT count(*) > 0 FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let begun = Instant::now();
    while ask(service.database().url(), waiting) != "t" {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody does");
    }
}

fn locked(service: &Service, table: &str, id: impl std::fmt::Display) -> Locked {
    let update = format!("UPDATE \"{table}\" SET id = id WHERE id = '{id}'");
    Locked::by(service.database().url(), &update)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_present_tokens_of_one_session_have_no_other_wait() {
    let mobile = Arc::new(Mobile::new().await);
    let (one, other) = (mobile.sign_in().await, mobile.sign_in().await);
    let next = mobile.refresh(&one.refresh_token).await.unwrap();
    let tokens = [one.refresh_token, next.refresh_token];
    let url = mobile.service.database().url();
    let session = ask(url, "SELECT id FROM session ORDER BY id LIMIT 1");
    let locked = locked(&mobile.service, "session", session);
    let crowd: Vec<_> = (0..CROWD)
        .map(|number| {
            let (mobile, token) = (Arc::clone(&mobile), tokens[number % 2].clone());
            tokio::spawn(async move { mobile.refresh(&token).await })
        })
        .collect();
    somebody_waits(&mobile.service).await;
    let begun = Instant::now();
    mobile.refresh(&other.refresh_token).await.unwrap();
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(locked);
    let mut refused = 0;
    for refreshed in join_all(crowd).await {
        match refreshed.unwrap() {
            Ok(_) | Err(Error::GrantReused(_) | Error::InvalidGrant) => {}
            Err(Error::Unavailable(_)) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    // One has its turn, and 32 wait.
    assert!(refused >= CROWD - 33, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_token_ends_its_session_while_the_row_of_its_user_is_busy() {
    let mobile = Mobile::new().await;
    let spent = mobile.sign_in().await;
    let next = mobile.refresh(&spent.refresh_token).await.unwrap();
    mobile.refresh(&next.refresh_token).await.unwrap();
    let _locked = locked(&mobile.service, "user", mobile.user.id);
    let begun = Instant::now();
    let ended = mobile.refresh(&spent.refresh_token).await;
    assert!(matches!(ended, Err(Error::GrantReused(_))), "{ended:?}");
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_clones_told_has_nobody_else_wait_to_sign_in() {
    let (service, ada, mut passkey) = with_passkey().await;
    let service = Arc::new(service);
    let app = &service.app;
    passkey.count = 5;
    let (secret, by) = stranger();
    let asked = app.ask_to_sign_in(&secret).await.unwrap().unwrap();
    let signed = answer(&asked, passkey.sign(&asked.options));
    app.sign_in_by_passkey(&signed, &secret, by).await.unwrap();
    passkey.count = 4;
    let (secret, by) = stranger();
    let asked = app.ask_to_sign_in(&secret).await.unwrap().unwrap();
    let copied = answer(&asked, passkey.sign(&asked.options));
    let locked = locked(&service, "user", ada.user.id);
    let crowd: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (app, copied) = (Arc::clone(app), copied.clone());
            let (secret, by) = (secret.clone(), by.clone());
            tokio::spawn(async move { app.sign_in_by_passkey(&copied, &secret, by).await })
        })
        .collect();
    somebody_waits(&service).await;
    let begun = Instant::now();
    let wrong = sign_in(&service, "bo@example.com", "wrong", browser("192.0.2.9")).await;
    assert!(matches!(wrong, Err(Error::WrongPassword)), "{wrong:?}");
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(locked);
    for told in join_all(crowd).await {
        let told = told.unwrap();
        let is_told = matches!(told, Err(Error::PasskeyRefused | Error::Unavailable(_)));
        assert!(is_told, "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_of_somebody_whose_row_is_locked_has_no_other_wait() {
    let (service, mail) = Service::mailing().await;
    let team = service.team().await;
    let ada = join(&service.app, team, "ada@example.com", Role::Owner).await;
    join(&service.app, team, "bo@example.com", Role::Owner).await;
    let locked = locked(&service, "user", ada.user_id);
    for _ in 0..20 {
        service.app.ask_for_reset("ada@example.com").unwrap();
    }
    somebody_waits(&service).await;
    let begun = Instant::now();
    service.app.ask_for_reset("bo@example.com").unwrap();
    assert_eq!(mail.next().await.to, ["bo@example.com"]);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(locked);
    for _ in 0..3 {
        assert_eq!(mail.next().await.to, ["ada@example.com"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_not_invited_waits_for_no_lock_of_the_team() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let invited = app.invite(&Actor::Operator, team, "bo@example.com", Role::Viewer);
    let link = invited.await.unwrap().secret;
    let other = service.team().await;
    let eve = join(app, other, "eve@example.com", Role::Owner).await;
    let _locked = locked(&service, "team", team);
    let begun = Instant::now();
    let joined = app.join_as_user(eve, &link).await;
    assert!(matches!(joined, Err(Error::LinkNotValid)), "{joined:?}");
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
}
