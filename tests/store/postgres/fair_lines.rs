//! Token exchanges, sign-ins and forgotten passwords have one queue each for all callers, who are still unknown: none
//! of them may make the others wait in it for a row of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::domain::Error;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::UserId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::session::Device;
use test_support::postgres::{Locked, ask, until_lock_waits};
use tokio::task::JoinHandle;

use super::mail::secret;
use super::people::passkey::{answer, stranger, with_passkey};
use super::people::support::{browser, sign_in};
use super::session::Mobile;
use super::signed_in::{assert_last_owner, join};
use super::support::{STRANGER, Service};

/// Longer than anything takes here, and shorter than the lock timeout.
const IN_TIME: Duration = Duration::from_secs(2);

/// More than the seats for callers who present tokens.
const CROWD: usize = 200;

/// More than the connections for callers who sign in.
const CONNECTIONS: usize = 40;

/// How many exchanges of a user may wait.
const OF_A_USER: usize = 64;

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
    until_lock_waits(mobile.service.database().url(), 1).await;
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
    // One has its turn, and 15 wait.
    assert!(refused >= CROWD - 16, "{refused}");
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

/// Locks a user as its removal does.
fn locked_to_remove(service: &Service, id: UserId) -> Locked {
    let lock = format!("PERFORM 1 FROM \"user\" WHERE id = '{id}' FOR UPDATE");
    Locked::by(
        service.database().url(),
        &format!("DO $$ BEGIN {lock}; END $$"),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_exchanges_codes_while_they_are_removed_has_no_other_wait() {
    let mobile = Arc::new(Mobile::new().await);
    let bo = mobile.create_user("bo@example.com", "Bo").await.unwrap();
    let other = mobile.sign_in_as(bo.id).await;
    let mut codes = Vec::new();
    for _ in 0..OF_A_USER + 16 {
        codes.push(mobile.code().await);
    }
    let locked = locked_to_remove(&mobile.service, mobile.user.id);
    let crowd: Vec<_> = codes
        .into_iter()
        .map(|code| {
            let mobile = Arc::clone(&mobile);
            tokio::spawn(async move { mobile.exchange(&code).await.map(drop) })
        })
        .collect();
    until_lock_waits(mobile.service.database().url(), 1).await;
    let begun = Instant::now();
    let next = mobile.refresh(&other.refresh_token).await.unwrap();
    mobile
        .revoke_token(&next.refresh_token, ClientId::new("app"), Device::default())
        .await
        .unwrap();
    mobile.sign_in_as(bo.id).await;
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(locked);
    // Each that waits has one of the permits of all addresses.
    let told = all_are_served_or_told(crowd).await;
    let beyond = told.iter().filter(|it| it.contains("of the same user"));
    assert_eq!(beyond.count(), 16, "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_presents_spent_tokens_while_they_are_removed_has_no_other_wait() {
    let mobile = Arc::new(Mobile::new().await);
    let bo = mobile.create_user("bo@example.com", "Bo").await.unwrap();
    let mut other = mobile.sign_in_as(bo.id).await;
    let mut spent = Vec::new();
    for _ in 0..CONNECTIONS {
        let first = mobile.sign_in().await;
        let second = mobile.refresh(&first.refresh_token).await.unwrap();
        mobile.refresh(&second.refresh_token).await.unwrap();
        spent.push(first.refresh_token);
    }
    let locked = locked_to_remove(&mobile.service, mobile.user.id);
    let begun = Instant::now();
    let mut crowd = Vec::new();
    for token in spent {
        let presents = Arc::clone(&mobile);
        let presents = async move { presents.refresh(&token).await.map(drop) };
        crowd.push(tokio::spawn(presents));
        other = mobile.refresh(&other.refresh_token).await.unwrap();
    }
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(locked);
    all_are_served_or_told(crowd).await;
}

/// Waits until each has ended as it may. Returns why some were not served.
async fn all_are_served_or_told(crowd: Vec<JoinHandle<Result<(), Error>>>) -> Vec<String> {
    let mut told = Vec::new();
    for ended in join_all(crowd).await {
        match ended.unwrap() {
            Ok(()) | Err(Error::GrantReused(_)) => {}
            Err(Error::Unavailable(cause)) => told.push(cause.to_string()),
            Err(error) => panic!("{error:?}"),
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_is_refused_waits_for_no_lock() {
    let service = Service::new().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = join(app, team, "ada@example.com", Role::Owner).await;
    join(app, team, "bo@example.com", Role::Member).await;
    let _user = locked(&service, "user", ada.user_id);
    let _team = locked(&service, "team", team);
    let begun = Instant::now();
    assert_last_owner(app.delete_account(ada).await);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_email_that_is_taken_is_refused_without_the_locks_of_teams() {
    let (service, mail) = Service::mailing().await;
    let (app, team) = (&service.app, service.team().await);
    let ada = join(app, team, "ada@example.com", Role::Owner).await;
    let new = "ada@example.org";
    app.ask_for_email_change(ada.clone(), new).await.unwrap();
    let link = secret(&mail.next().await);
    app.create_user(new, "Eve").await.unwrap();
    let _team = locked(&service, "team", team);
    for _ in 0..2 {
        let begun = Instant::now();
        let refused = app.change_email(ada.clone(), &link).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_use_of_a_busy_session_is_recorded_later_and_no_other_waits() {
    let mobile = Mobile::new().await;
    let both = [mobile.sign_in().await, mobile.sign_in().await];
    mobile.service.clock.advance(Duration::from_secs(60));
    for tokens in &both {
        let used = mobile.authenticate_access_token(&tokens.access_token);
        used.await.unwrap();
    }
    let unused = async || {
        let sessions = mobile.list_sessions(Some(mobile.user.id), Part::default());
        let sessions = sessions.await.unwrap();
        let unused = sessions
            .iter()
            .filter(|it| it.last_used_at == it.created_at);
        unused.count()
    };
    let url = mobile.service.database().url();
    let session = ask(url, "SELECT id FROM session ORDER BY id LIMIT 1");
    let locked = locked(&mobile.service, "session", session);
    let begun = Instant::now();
    mobile.record_uses().await.unwrap();
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    assert_eq!(unused().await, 1);
    drop(locked);
    mobile.record_uses().await.unwrap();
    assert_eq!(unused().await, 0);
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
    until_lock_waits(service.database().url(), 1).await;
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
        service
            .app
            .ask_for_reset("ada@example.com", STRANGER)
            .unwrap();
    }
    until_lock_waits(service.database().url(), 1).await;
    let begun = Instant::now();
    service
        .app
        .ask_for_reset("bo@example.com", STRANGER)
        .unwrap();
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
