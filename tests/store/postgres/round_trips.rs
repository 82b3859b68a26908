//! How many round trips to PostgreSQL an operation takes, and their cost.
//!
//! A request first checks the key or the token, and then runs its operation: `GET /products/{id}` takes two, one
//! after the other, or one if the key was looked up a moment ago.

use std::sync::Arc;
use std::time::{Duration, Instant};

use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::Scope;
use invoicing::domain::audit::{Actor, Person};
use invoicing::domain::auth_code::CodeChallenge;
use invoicing::domain::catalog::Mode;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::item::ItemId;
use invoicing::domain::member::Role;
use invoicing::domain::oauth_client::ClientId;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::secret::{Digest, Secret};
use invoicing::domain::session::{Device, TokenRequest};
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use openapi_dropshot_runtime::json;

use super::relay::{Relay, migrated};
use super::signed_in::{actor, assert_no_link, join};
use super::support::{live_key, plain, with_sku};

const REDIRECT_URI: &str = "com.example.app:/signed-in";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// Every operation of a request, and the checks before it.
const ROUND_TRIPS: [(&str, usize); 18] = [
    ("authenticate_api_key", 1),
    ("get_product", 1),
    ("list_products", 1),
    // Begin and insert; commit.
    ("create_product", 2),
    // Begin and look for the record; keep the answer and insert; commit.
    ("create_product, idempotent", 3),
    // Begin and look for the record; lock it; commit.
    ("create_product, replayed", 3),
    // Begin and insert; roll back. It was alone in its group, so no other change has to be retried.
    ("create_product, refused", 2),
    // Begin and lock; update; commit.
    ("update_product", 3),
    // Begin, lock and look for the record; keep the answer and update; commit.
    ("update_product, idempotent", 3),
    ("update_product, replayed", 2),
    ("archive_product", 3),
    // Begin and lock; commit, as for those that might have shared the transaction.
    ("archive_product, refused", 2),
    // Look the user up, as others do; begin, lock and look; write; commit.
    ("exchange_token, code", 4),
    ("exchange_token, refresh", 4),
    ("exchange_token, refresh repeated", 3),
    ("authenticate_access_token", 1),
    ("membership", 1),
    ("list_links", 1),
];

/// The measurements of an operation: its name, how many round trips, and how long it took.
struct Measured {
    relay: Relay,
    operations: Vec<(&'static str, usize, Duration)>,
}

impl Measured {
    async fn of<T>(&mut self, name: &'static str, operation: impl Future<Output = T>) -> T {
        self.relay.take();
        let begun = Instant::now();
        let answer = operation.await;
        let took = begun.elapsed();
        self.operations.push((name, self.relay.take().len(), took));
        answer
    }
}

/// A service through a relay, each of whose round trips takes this much longer.
async fn service(parameters: &str, latency: Duration) -> (Relay, App) {
    let (relay, url) = Relay::slow(&migrated().await, latency).await;
    let store = open(&format!("{url}{parameters}").parse().unwrap()).await;
    let app = App::new(
        store.unwrap(),
        Arc::new(SystemClock),
        "https://links.example",
    );
    (relay, app.await.unwrap())
}

/// Runs every operation once.
async fn measure(relay: &Relay, app: &App) -> Vec<(&'static str, usize, Duration)> {
    let mut measured = Measured {
        relay: relay.clone(),
        operations: Vec::new(),
    };
    sell(app, &mut measured).await;
    sign_in(app, &mut measured).await;
    measured.operations
}

async fn sell(app: &App, measured: &mut Measured) {
    let team = app.create_team("Acme").await.unwrap().id;
    let made = live_key(app, team);
    let (_, secret) = made.await.unwrap();
    let key = app.authenticate_api_key(secret.reveal());
    let key = measured.of("authenticate_api_key", key).await.unwrap();
    let id = app.create_product(&key, plain("A"), None).await.unwrap();
    let id = id.value.id;

    let get = app.get_product(&key, id);
    measured.of("get_product", get).await.unwrap();
    let list = app.list_products(&key, StatusFilter::Active, 20, None);
    measured.of("list_products", list).await.unwrap();
    let create = app.create_product(&key, plain("B"), None);
    measured.of("create_product", create).await.unwrap();
    let request = |method| {
        Some(IdempotentRequest::new(
            method,
            method,
            "/api/v1/products",
            &json::Value::Number("1"),
        ))
    };
    for name in ["create_product, idempotent", "create_product, replayed"] {
        let create = app.create_product(&key, plain("C"), request("POST"));
        measured.of(name, create).await.unwrap();
    }
    app.create_product(&key, with_sku("S"), None).await.ok();
    let create = app.create_product(&key, with_sku("S"), None);
    let refused = measured.of("create_product, refused", create).await;
    assert!(matches!(refused, Err(Error::DuplicateSku)), "{refused:?}");
    let update = app.update_product(&key, id, Default::default(), None);
    measured.of("update_product", update).await.unwrap();
    for name in ["update_product, idempotent", "update_product, replayed"] {
        let update = app.update_product(&key, id, Default::default(), request("PATCH"));
        measured.of(name, update).await.unwrap();
    }
    let archive = app.archive_product(&key, id, None);
    measured.of("archive_product", archive).await.unwrap();
    let archive = app.archive_product(&key, id, None);
    let refused = measured.of("archive_product, refused", archive).await;
    assert!(
        matches!(refused, Err(Error::AlreadyArchived)),
        "{refused:?}"
    );
}

async fn sign_in(app: &App, measured: &mut Measured) {
    let team = app.create_team("Acme").await.unwrap().id;
    let email = format!("{team}@example.com");
    let user = app.create_user(&email, "Ada").await.unwrap().id;
    app.add_member(team, user, Role::Viewer).await.unwrap();
    let folder = app.create_folder(team, "Contracts").await.unwrap().id;
    let (name, uris) = (format!("app-{team}"), [REDIRECT_URI.to_owned()]);
    app.create_oauth_client(&name, "An app", &uris)
        .await
        .unwrap();
    let client = ClientId::new(name);
    let challenge = CodeChallenge::from_digest(Digest::of(VERIFIER.as_bytes()));
    let code = app.issue_auth_code(user, &client, REDIRECT_URI, challenge);
    let code = TokenRequest::AuthorizationCode {
        code: code.await.unwrap().code,
        code_verifier: Secret::from_text(VERIFIER),
        redirect_uri: REDIRECT_URI.into(),
        client_id: client.clone(),
        device: Device::default(),
    };
    let tokens = measured.of("exchange_token, code", app.exchange_token(code));
    let tokens = tokens.await.unwrap();
    for name in [
        "exchange_token, refresh",
        "exchange_token, refresh repeated",
    ] {
        let refresh = app.exchange_token(TokenRequest::RefreshToken {
            refresh_token: tokens.refresh_token.clone(),
            client_id: client.clone(),
            device: Device::default(),
        });
        measured.of(name, refresh).await.unwrap();
    }
    let caller = app.authenticate_access_token(&tokens.access_token);
    let caller = measured.of("authenticate_access_token", caller).await;
    assert_eq!(caller.unwrap().user_id, user);
    let member = app.membership(team, user);
    measured.of("membership", member).await.unwrap();
    let links = app.list_links(user, team, ItemId::Folder(folder));
    measured.of("list_links", links).await.unwrap();
}

#[tokio::test]
async fn each_operation_takes_as_few_round_trips_as_its_decisions_need() {
    for parameters in ["", "&prepared_statements=false"] {
        let (relay, app) = service(parameters, Duration::ZERO).await;
        // By then, everything is prepared.
        measure(&relay, &app).await;
        let measured = measure(&relay, &app).await;
        let counted = measured.iter().map(|(name, trips, _)| (*name, *trips));
        assert_eq!(counted.collect::<Vec<_>>(), ROUND_TRIPS, "{parameters}");
    }
}

/// A team with hundreds of keys, milliseconds away, could otherwise not be deleted in time.
#[tokio::test]
async fn all_keys_of_a_team_are_revoked_in_as_many_round_trips_as_one() {
    let mut trips = Vec::new();
    let (relay, app) = service("&prepared_statements=false", Duration::ZERO).await;
    for keys in [1, 30] {
        let team = app.create_team("Acme").await.unwrap();
        for _ in 0..keys {
            live_key(&app, team.id).await.unwrap();
        }
        relay.take();
        app.delete_team(team.id.into(), "Acme").await.unwrap();
        trips.push(relay.take().len());
    }
    assert_eq!(trips[0], trips[1]);
}

#[tokio::test]
async fn a_key_that_was_looked_up_a_moment_ago_takes_none() {
    const TIMES: usize = 100;
    let (relay, app) = service("", Duration::ZERO).await;
    let team = app.create_team("Acme").await.unwrap().id;
    let made = app.create_api_key(
        &Actor::Operator,
        team,
        Mode::Live,
        Scope::ReadOnly,
        None,
        None,
    );
    let (_, secret) = made.await.unwrap();
    // The lease may have ended by the time that a busy machine asks again.
    for _ in 0..TIMES {
        app.authenticate_api_key(secret.reveal()).await.unwrap();
        relay.take();
        app.authenticate_api_key(secret.reveal()).await.unwrap();
        if relay.take().is_empty() {
            return;
        }
    }
    panic!("the key was looked up every time");
}

/// Prints a table: the median of each operation, without and with an extra millisecond for each round trip.
#[tokio::test]
#[ignore = "it measures: cargo test --test store round_trips -- --ignored --nocapture"]
async fn what_a_round_trip_costs() {
    const TIMES: usize = 100;
    let mut columns = Vec::new();
    for millis in [0, 1] {
        let (relay, app) = service("", Duration::from_millis(millis)).await;
        let mut times = vec![Vec::new(); ROUND_TRIPS.len()];
        for _ in 0..TIMES {
            let measured = measure(&relay, &app).await;
            for (times, (_, _, took)) in times.iter_mut().zip(measured) {
                times.push(took);
            }
        }
        times.iter_mut().for_each(|times| times.sort());
        let median = |times: Vec<Duration>| times[TIMES / 2];
        columns.push(times.into_iter().map(median).collect::<Vec<_>>());
    }
    println!("{:<34} trips  loopback  and 1 ms", "");
    for (number, (name, trips)) in ROUND_TRIPS.iter().enumerate() {
        let [near, far] = [&columns[0][number], &columns[1][number]].map(Duration::as_micros);
        println!("{name:<34} {trips:>5} {near:>6} us {far:>6} us");
    }
}

#[tokio::test]
async fn a_role_ends_in_as_many_round_trips_however_many_invitations_end_with_it() {
    let (relay, app) = service("", Duration::ZERO).await;
    let mut round_trips = Vec::new();
    // For the first, statements are prepared.
    for invitations in [2, 1, 30] {
        let team = app.create_team("Acme").await.unwrap().id;
        let email = format!("admin-{invitations}@example.com");
        let admin = join(&app, team, &email, Role::Admin).await;
        let by = actor(&admin);
        let mut links = Vec::new();
        for number in 0..invitations {
            let email = format!("{number}@example.com");
            let invited = app.invite(&by, team, &email, Role::Viewer);
            links.push(invited.await.unwrap().secret);
        }
        relay.take();
        let demoted = app.set_role(&Actor::Operator, team, admin.user_id, Role::Viewer);
        demoted.await.unwrap();
        round_trips.push(relay.take().len());
        for link in links {
            assert_no_link(app.get_invitation(&link).await);
        }
    }
    assert_eq!(round_trips[1], round_trips[2]);
}

/// How many round trips it takes to delete an account in so many teams, each with a key and an invitation. The user is alone in
/// them but for `owner`.
async fn trips_of_deletion(
    relay: &Relay,
    app: &App,
    owner: Option<&Person>,
    teams: usize,
) -> usize {
    let first = app.create_team("Acme").await.unwrap().id;
    let user = join(app, first, &format!("{teams}@example.com"), Role::Owner).await;
    let mut owned = vec![first];
    for _ in 1..teams {
        let team = app.create_team("Acme").await.unwrap().id;
        let added = app.add_member(team, user.user_id, Role::Owner);
        added.await.unwrap();
        owned.push(team);
    }
    for team in owned {
        live_key(app, team).await.unwrap();
        let by = actor(&user);
        let invited = app.invite(&by, team, "bo@example.com", Role::Viewer);
        invited.await.unwrap();
        if let Some(owner) = owner {
            let added = app.add_member(team, owner.user_id, Role::Owner);
            added.await.unwrap();
        }
    }
    relay.take();
    app.delete_account(user).await.unwrap();
    relay.take().len()
}

#[tokio::test]
async fn an_account_is_deleted_in_as_many_round_trips_however_many_teams_it_is_in() {
    let (relay, app) = service("", Duration::ZERO).await;
    let owner = {
        let team = app.create_team("Acme").await.unwrap().id;
        join(&app, team, "owner@example.com", Role::Owner).await
    };
    for owner in [Some(&owner), None] {
        // For the first, statements are prepared.
        trips_of_deletion(&relay, &app, owner, 2).await;
        let one = trips_of_deletion(&relay, &app, owner, 1).await;
        assert_eq!(trips_of_deletion(&relay, &app, owner, 20).await, one);
    }
}
