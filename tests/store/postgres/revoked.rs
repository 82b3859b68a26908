//! A revocation does not slip in between the check that a key is valid and the commit of a change that relies on it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::audit::Actor;
use invoicing::domain::holder::Holder;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::member::Role;
use invoicing::domain::product::{NewProduct, ProductChanges};
use invoicing::domain::time::SystemClock;
use invoicing::store::{Sql, api_key, open};
use openapi_dropshot_runtime::json;
use test_support::postgres::{ask, until_lock_waits};

use super::relay::{Relay, migrated};
use super::signed_in::{actor, assert_no_link, join};
use super::support::{START, live_key, plain, with_sku};

/// How long the database's answers take to reach the replica that makes a change.
const FAR: Duration = Duration::from_millis(200);

async fn app(url: &str) -> App {
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    app.await.unwrap()
}

#[tokio::test]
async fn who_revokes_a_key_waits_for_what_is_being_changed_on_its_word() {
    let url = migrated().await;
    let near = app(&url).await;
    let team = near.create_team("Acme").await.unwrap().id;
    let made = live_key(&near, team);
    let (key, _) = made.await.unwrap();

    let store = open(&url.parse().unwrap()).await.unwrap();
    let (_relay, through) = Relay::slow(&url, FAR).await;
    // Unprepared, it checks the key with its first statement.
    let unprepared = format!("{through}&prepared_statements=false");
    let (far, caller) = (app(&unprepared).await, key.clone());
    let create = tokio::spawn(async move { far.create_product(&caller, plain("A"), None).await });
    something_is_being_changed(&url).await;
    let revoke = async move |sql: Sql<'_>| {
        sql.run((api_key::lock(key.id), api_key::revoke(key.id, START)))
            .await
    };
    store.write(Holder::Service, revoke).await.unwrap();
    let products = || ask(&url, "SELECT count(*) FROM product");
    let then = products();
    create.await.unwrap().unwrap();
    assert_eq!((then, products()), ("1".into(), "1".into()));
}

/// Waits until a change has started, and the server waits for its client.
async fn something_is_being_changed(url: &str) {
    let changing = "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND state = 'idle in transaction'";
    let begun = Instant::now();
    while ask(url, changing) != "1" {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_revoked_although_a_replica_is_frozen_at_a_change_on_its_word() {
    let url = migrated().await;
    let near = app(&url).await;
    let team = near.create_team("Acme").await.unwrap().id;
    let made = live_key(&near, team);
    let (key, _) = made.await.unwrap();
    let (relay, through) = Relay::before(&url).await;
    let unprepared = format!("{through}&prepared_statements=false");
    let (far, caller) = (app(&unprepared).await, key.clone());
    relay.freeze();
    let create = tokio::spawn(async move { far.create_product(&caller, plain("A"), None).await });
    something_is_being_changed(&url).await;
    near.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    let created = create.await.unwrap();
    assert!(matches!(created, Err(Error::Unavailable(_))), "{created:?}");
    assert_eq!(ask(&url, "SELECT count(*) FROM product"), "0");
}

/// Each change has the key while it waits for the product, and then while it is committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_that_keeps_one_product_busy_at_two_replicas_is_revoked_by_its_owner() {
    let url = migrated().await;
    let apps = [Arc::new(app(&url).await), Arc::new(app(&url).await)];
    let near = &apps[0];
    let team = near.create_team("Acme").await.unwrap().id;
    let (key, _) = live_key(near, team).await.unwrap();
    let product = near.create_product(&key, plain("A"), None).await.unwrap();
    let owner = join(near, team, "ada@example.com", Role::Owner).await;
    // A commit that takes as long as that of a far standby.
    ask(
        &url,
        "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.09); RETURN NULL; END $$; \
         CREATE CONSTRAINT TRIGGER linger AFTER UPDATE ON product DEFERRABLE INITIALLY DEFERRED \
         FOR EACH ROW EXECUTE FUNCTION linger()",
    );
    let busy = (0..32).map(|number| {
        let (app, key, id) = (Arc::clone(&apps[number % 2]), key.clone(), product.value.id);
        tokio::spawn(async move {
            let changes = ProductChanges {
                name: Some("B".into()),
                ..ProductChanges::default()
            };
            let change = || app.update_product(&key, id, changes.clone(), None);
            while !matches!(change().await, Err(Error::InvalidToken)) {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    });
    let busy: Vec<_> = busy.collect();
    // Some of each replica wait for the product.
    until_lock_waits(&url, 4).await;
    let revoked = near.revoke_api_key(&actor(&owner), key.id).await;
    assert!(revoked.unwrap().revoked_at.is_some());
    for busy in busy {
        busy.await.unwrap();
    }
}

/// A replica that freezes while its statement waits keeps the lock for that long, and then until it is cut off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_revoked_while_a_change_with_it_outlasts_the_lock_timeout() {
    let url = migrated().await;
    let app = app(&url).await;
    let team = app.create_team("Acme").await.unwrap().id;
    let made = live_key(&app, team);
    let (key, _) = made.await.unwrap();
    let lock = key.id.0.as_u64_pair().1.cast_signed();
    let change = format!("SELECT pg_advisory_xact_lock_shared({lock}); SELECT pg_sleep(6)");
    let held = url.clone();
    let change = std::thread::spawn(move || ask(&held, &format!("BEGIN; {change}; COMMIT")));
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
         (SELECT oid FROM pg_database WHERE datname = current_database())";
    let begun = Instant::now();
    while ask(&url, locks) != "1" {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never begins");
    }
    let revoked = app.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    assert!(revoked.revoked_at.is_some());
    change.join().unwrap();
}

/// The outcome of a create that is the first change of a process whose statements are prepared.
async fn first_create(url: &str, key: &ApiKey, product: NewProduct, repeatable: bool) -> Error {
    let (_relay, through) = Relay::before(url).await;
    let app = app(&format!("{through}&prepared_statements=true")).await;
    let request = || {
        Some(IdempotentRequest::new(
            "POST",
            "{}",
            "/api/v1/products",
            &json::Value::Number("1"),
        ))
    };
    let request = repeatable.then(request).flatten();
    let created = app.create_product(key, product, request).await;
    created.expect_err("it is refused")
}

#[tokio::test]
async fn the_key_is_asked_about_before_any_change_on_a_new_connection() {
    let url = migrated().await;
    let near = app(&url).await;
    let team = near.create_team("Acme").await.unwrap().id;
    let made = live_key(&near, team);
    let (key, _) = made.await.unwrap();
    let taken = near.create_product(&key, with_sku("A"), None);
    taken.await.unwrap();
    for repeatable in [false, true] {
        let refused = first_create(&url, &key, with_sku("A"), repeatable).await;
        assert!(matches!(refused, Error::DuplicateSku), "{refused:?}");
    }
    near.revoke_api_key(&Actor::Operator, key.id).await.unwrap();
    for product in [plain("B"), with_sku("A")] {
        for repeatable in [false, true] {
            let refused = first_create(&url, &key, product.clone(), repeatable).await;
            assert!(matches!(refused, Error::InvalidToken), "{refused:?}");
        }
    }
}

/// What a team or a user is called after the end of a link is not for whoever has the link.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_ends_while_it_is_looked_up_shows_nothing() {
    let url = migrated().await;
    let near = app(&url).await;
    let team = near.create_team("Acme").await.unwrap().id;
    let invited = near.invite(&Actor::Operator, team, "ada@example.com", Role::Owner);
    let invited = invited.await.unwrap();
    let ben = join(&near, team, "ben@example.com", Role::Owner)
        .await
        .user_id;
    let reset = near.create_reset_link(ben).await.unwrap().secret;

    let (relay, through) = Relay::before(&url).await;
    let far = app(&format!("{through}&prepared_statements=false")).await;
    relay.slow_down(3 * FAR);
    relay.take();
    let link = invited.secret;
    let found =
        tokio::spawn(
            async move { tokio::join!(far.get_invitation(&link), far.get_reset_link(&reset)) },
        );
    is_sent(&relay, "FROM invitation").await;
    near.uninvite(&Actor::Operator, team, invited.invitation.id)
        .await
        .unwrap();
    near.rename_team(team, "Globex").await.unwrap();
    near.deactivate_user(ben).await.unwrap();
    near.set_email(ben, "ben@example.org").await.unwrap();
    let (invitation, reset) = found.await.unwrap();
    assert_no_link(invitation);
    assert_no_link(reset);
}

/// Waits until a statement with these words has been sent.
async fn is_sent(relay: &Relay, words: &str) {
    let begun = Instant::now();
    let has_words = |sent: &[u8]| sent.windows(words.len()).any(|it| it == words.as_bytes());
    while !relay
        .take()
        .iter()
        .flatten()
        .any(|(_, sent)| has_words(sent))
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it is never sent"
        );
    }
}
