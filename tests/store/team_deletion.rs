//! Deletion of teams and of everything that belongs to them (docs/decisions.md, X63).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use openapi_dropshot_runtime::json;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::{ApiKey, LONG_EXPIRED, Scope};
use invoicing::domain::audit::{Action, Actor};
use invoicing::domain::author::Caller as _;
use invoicing::domain::catalog::{Catalog, Mode};
use invoicing::domain::holder::Holder;
use invoicing::domain::id::TeamId;
use invoicing::domain::idempotency::IdempotentRequest;
use invoicing::domain::item::ItemId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::product::{Product, StatusFilter};
use invoicing::domain::product_csv::Lines;
use invoicing::domain::product_import::Seen;
use invoicing::domain::share_link::{Audience, CreateLink};
use invoicing::domain::team::NamedTeam;
use invoicing::domain::time::Clock as _;
use invoicing::store::{Sql, api_key, product, team};

use super::signed_in::{join, told};
use super::support::{Service, live_key, plain};

/// The tables whose rows belong to a team.
const OF_TEAM: [&str; 9] = [
    "api_key",
    "product",
    "idempotency",
    "member",
    "product_import",
    "folder",
    "file",
    "share_link",
    "invitation",
];

fn rows_of(service: &Service, team: TeamId) -> Vec<(&'static str, i64)> {
    let hex = team.0.simple().to_string();
    let rows = |table| {
        let of_team = format!("{table} WHERE lower(replace({TEAM_ID}, '-', '')) = '{hex}'");
        (table, service.database().rows(&of_team))
    };
    OF_TEAM.into_iter().map(rows).collect()
}

/// The id of a team as text, on either engine.
const TEAM_ID: &str = super::engine::TEAM_ID;

/// Adds products through the store, in batches.
async fn fill(service: &Service, catalog: Catalog, count: usize) {
    let now = service.clock.now();
    for first in (0..count).step_by(1000) {
        let ids = first..count.min(first + 1000);
        let made = ids.map(|number| {
            let id = uuid::Uuid::now_v7().into();
            plain(&format!("P-{number}")).into_product(id, now)
        });
        let made: Vec<Product> = made.collect();
        let add = async move |sql: Sql<'_>| product::insert_all(sql, catalog, &made).await;
        service.store.write(catalog, add).await.unwrap();
    }
}

fn request(key: &str) -> Option<IdempotentRequest> {
    let body = json::Value::Number("1");
    Some(IdempotentRequest::new(key, "POST", "/api/v1/products", &body))
}

/// A team with something of every kind, and a key of it.
async fn whole_team(app: &App, name: &str) -> (TeamId, ApiKey) {
    let team = app.create_team(name).await.unwrap().id;
    let email = |who: &str| format!("{who}-{name}@example.com");
    let owner = join(app, team, &email("owner"), Role::Owner).await;
    let (key, _) = live_key(app, team).await.unwrap();
    let by = Actor::Person(owner.clone());
    app.invite(&by, team, &email("eve"), Role::Viewer).await.unwrap();
    for number in 0..3 {
        let made = app.create_product(&key, plain("A"), request(&format!("{name}-{number}")));
        let made = made.await.unwrap().value;
        if number == 0 {
            app.archive_product(&key, made.id, None).await.unwrap();
        }
    }
    let folder = app.create_folder(team, "Contracts").await.unwrap().id;
    let file = app.create_file(team, "a.pdf", Some(folder)).await.unwrap().id;
    for item_id in [ItemId::Folder(folder), ItemId::File(file)] {
        let create = CreateLink {
            item_id,
            user_id: owner.user_id,
            name: None,
            audience: Audience::Public,
            can_download: true,
            password: None,
            expires_in: None,
        };
        app.create_link(create).await.unwrap();
    }
    let csv = "sku,name,unitPrice,currency\nP-1,One,1,EUR\n";
    let lines = Lines::read(csv.as_bytes()).unwrap();
    let plan = app.plan_import(key.catalog(), lines, &mut Seen::default()).await.unwrap();
    app.keep_import_plan(&owner, &plan, csv.into()).await.unwrap();
    (team, key)
}

#[tokio::test]
async fn nothing_of_a_deleted_team_stays_but_the_audit_and_other_teams_keep_all() {
    let service = Service::new().await;
    let app = &service.app;
    let (team, key) = whole_team(app, "Acme").await;
    let (other, other_key) = whole_team(app, "Globex").await;
    let before = rows_of(&service, other);
    assert!(before.iter().all(|(_, rows)| *rows > 0), "{before:?}");
    let told = app.list_audit_events(Some(team), Part::default()).await.unwrap();
    let deleted = app.delete_team(team.into(), "Acme").await.unwrap();
    assert_eq!((deleted.id, deleted.name.as_str()), (team, "Acme"));

    let left = rows_of(&service, team);
    assert!(left.iter().all(|(_, rows)| *rows == 0), "{left:?}");
    assert_eq!(rows_of(&service, other), before);
    assert_eq!(service.database().rows("team WHERE name = 'Acme'"), 0);
    app.create_product(&other_key, plain("B"), None).await.unwrap();
    let kept = app.list_audit_events(Some(team), Part::default()).await.unwrap();
    assert_eq!((kept[0].action, kept[0].actor, kept[0].subject), (Action::DeleteTeam, None, Some(team.0)));
    assert_eq!(kept[1..], told[..]);

    let refused = app.create_product(&key, plain("B"), None).await;
    assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    for named in [team.into(), NamedTeam::Name("Acme".into())] {
        let unknown = app.get_team(named.clone()).await;
        assert!(matches!(unknown, Err(Error::Missing { .. })), "{unknown:?}");
        let again = app.delete_team(named, "Acme").await;
        assert!(matches!(again, Err(Error::Missing { .. })), "{again:?}");
    }
    let teams: Vec<_> = app.list_teams(Part::default()).await.unwrap();
    assert_eq!(teams.iter().map(|it| it.id).collect::<Vec<_>>(), [other]);
    let folder = app.create_folder(team, "Again").await;
    assert!(matches!(folder, Err(Error::Missing { .. })), "{folder:?}");
}

#[tokio::test]
async fn a_team_is_deleted_only_when_it_is_named_again() {
    let service = Service::new().await;
    let app = &service.app;
    let (team, key) = whole_team(app, "Acme").await;
    for name in ["", "acme", "Globex"] {
        let refused = app.delete_team(team.into(), name).await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
    }
    app.create_product(&key, plain("B"), None).await.unwrap();
}

/// After the first step, no caller is let in, and the same call or a server's cleanup continues.
#[tokio::test]
async fn a_deletion_that_was_interrupted_goes_on() {
    for by_cleanup in [false, true] {
        let service = Service::new().await;
        let app = &service.app;
        let (team, _) = whole_team(app, "Acme").await;
        let now = service.clock.now();
        let first = async move |sql: Sql<'_>| sql.run(team::delete(team, now)).await;
        assert_eq!(service.store.write(team, first).await.unwrap(), 1);
        assert_eq!(app.list_teams(Part::default()).await.unwrap(), []);
        let refused = app.delete_team(team.into(), "Globex").await;
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        match by_cleanup {
            false => drop(app.delete_team(NamedTeam::Name("Acme".into()), "Acme").await.unwrap()),
            true => app.empty_all().await.unwrap(),
        }
        for table in ["product", "idempotency", "share_link", "file", "folder", "api_key"] {
            assert_eq!(service.database().rows(table), 0, "{table}");
        }
        let unknown = app.delete_team(team.into(), "Acme").await;
        assert!(matches!(unknown, Err(Error::Missing { .. })), "{unknown:?}");
    }
}

/// Between two steps, while more is left than one of them deletes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_that_was_interrupted_behind_a_step_goes_on() {
    let service = Service::new().await;
    let app = &service.app;
    let (team, key) = whole_team(app, "Acme").await;
    fill(&service, key.catalog(), 2_500).await;
    let all = service.database().rows("product");
    let deletion = tokio::spawn({
        let app = Arc::clone(app);
        async move { app.delete_team(team.into(), "Acme").await.map(drop) }
    });
    // On a thread of its own, so that asking does not hold it up.
    while service.database().rows("product") == all && !deletion.is_finished() {}
    deletion.abort();
    if let Ok(done) = deletion.await {
        done.unwrap();
    }
    app.empty_all().await.unwrap();
    assert_eq!(service.database().rows("product"), 0);
}

/// A team is deleted, another one gets its name, and the same command is run again.
#[tokio::test]
async fn a_name_of_a_living_team_and_a_half_deleted_one_means_neither() {
    let service = Service::new().await;
    let app = &service.app;
    let half = app.create_team("Acme").await.unwrap().id;
    let now = service.clock.now();
    let first = async move |sql: Sql<'_>| sql.run(team::delete(half, now)).await;
    assert_eq!(service.store.write(half, first).await.unwrap(), 1);
    let living = app.create_team("Acme").await.unwrap();
    let refused = app.delete_team(NamedTeam::Name("Acme".into()), "Acme").await;
    let Err(Error::Refused(why)) = refused else {
        panic!("{refused:?}")
    };
    assert!([half, living.id].iter().all(|id| why.contains(&id.to_string())), "{why}");
    assert_eq!(app.list_teams(Part::default()).await.unwrap(), std::slice::from_ref(&living));
    assert_eq!(app.delete_team(half.into(), "Acme").await.unwrap().id, half);
    // It was recorded when it started.
    assert_eq!(told(app, half, Action::DeleteTeam).await, 0);
    app.delete_team(living.id.into(), "Acme").await.unwrap();
    assert_eq!(told(app, living.id, Action::DeleteTeam).await, 1);
}

#[tokio::test]
async fn an_import_of_the_operator_adds_nothing_to_a_deleted_team() {
    let service = Service::new().await;
    let app = &service.app;
    let (team, key) = whole_team(app, "Acme").await;
    let lines = Lines::read("sku,name,unitPrice,currency\nP-1,One,1,EUR\n".as_bytes()).unwrap();
    let plan = app.plan_import(key.catalog(), lines, &mut Seen::default()).await.unwrap();
    app.delete_team(team.into(), "Acme").await.unwrap();
    let refused = app.carry_out_import(&plan).await;
    assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
    assert_eq!(service.database().rows("product"), 0);
}

/// There may be any number of them, and each revocation takes a lock.
#[tokio::test]
async fn keys_that_have_long_expired_are_not_revoked_with_a_team() {
    let service = Service::new().await;
    let app = &service.app;
    let team = app.create_team("Acme").await.unwrap().id;
    let key = async |expires_in: Option<Duration>| {
        let by = Actor::Operator;
        let made = app.create_api_key(&by, team, Mode::Live, Scope::ReadOnly, None, expires_in);
        made.await.unwrap().0.id
    };
    let hour = Duration::from_secs(3600);
    let (_expired, valid) = (key(Some(hour)).await, key(None).await);
    service.clock.advance(hour + LONG_EXPIRED);
    let now = service.clock.now();
    let revoke = async move |sql: Sql<'_>| api_key::revoke_all(sql, (&[team], None), now).await;
    assert_eq!(service.store.write(Holder::Service, revoke).await.unwrap(), [(team, valid)]);
}

#[tokio::test]
async fn two_who_delete_a_team_at_once_share_the_work() {
    let service = Service::new().await;
    let (team, key) = whole_team(&service.app, "Acme").await;
    fill(&service, key.catalog(), 3000).await;
    let other = service.another().await;
    let (one, two) = tokio::join!(
        service.app.delete_team(team.into(), "Acme"),
        other.delete_team(team.into(), "Acme")
    );
    // The one that comes last may find it gone.
    assert!(one.is_ok() || two.is_ok(), "{one:?} {two:?}");
    assert_eq!(service.database().rows("product"), 0);
}

/// What was acknowledged to a key before is gone, and later writes are refused: nothing is left in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_clients_of_a_team_write_while_it_is_deleted_is_gone_too() {
    let service = Service::new().await;
    let (team, key) = whole_team(&service.app, "Acme").await;
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let (app, key) = (Arc::clone(&service.app), key.clone());
            tokio::spawn(async move {
                for number in 0.. {
                    let request = request(&format!("{client}-{number}"));
                    if app.create_product(&key, plain("A"), request).await.is_err() {
                        break;
                    }
                }
            })
        })
        .collect();
    service.app.delete_team(team.into(), "Acme").await.unwrap();
    for client in clients {
        client.await.unwrap();
    }
    for table in ["product", "idempotency"] {
        assert_eq!(service.database().rows(table), 0, "{table}");
    }
}

/// How many products a team has that is deleted while another team creates some.
fn products() -> usize {
    let given = std::env::var("INVOICING_DELETED_PRODUCTS").ok();
    given.map_or(3_000, |number| number.parse().unwrap())
}

/// By another process, like the command. `INVOICING_DELETED_PRODUCTS` sets how many products; with `--nocapture` it
/// prints how long the longest create of the other team took.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_elses_create_waits_long_for_a_deletion() {
    let service = Service::new().await;
    let (team, key) = whole_team(&service.app, "Acme").await;
    fill(&service, key.catalog(), products()).await;
    let (_, other) = whole_team(&service.app, "Globex").await;
    let deleting = service.another().await;
    let done = Arc::new(AtomicBool::new(false));
    let (app, is_done) = (Arc::clone(&service.app), Arc::clone(&done));
    let creates = tokio::spawn(async move {
        let mut waits = Vec::new();
        while !is_done.load(Ordering::Relaxed) {
            let begun = Instant::now();
            app.create_product(&other, plain("B"), None).await.unwrap();
            waits.push(begun.elapsed());
        }
        waits.sort();
        waits
    });
    let begun = Instant::now();
    deleting.delete_team(team.into(), "Acme").await.unwrap();
    let took = begun.elapsed();
    done.store(true, Ordering::Relaxed);
    let waits = creates.await.unwrap();
    let (longest, median) = (waits[waits.len() - 1], waits[waits.len() / 2]);
    println!(
        "{} products gone in {took:?}; {} creates meanwhile, median {median:?}, longest {longest:?}",
        products(),
        waits.len()
    );
    // Without optimization, and beside other tests, it only shows that nothing blocks forever.
    let limit = if cfg!(debug_assertions) { 4 } else { 1 };
    assert!(longest < Duration::from_secs(limit), "{longest:?}");
    let left = service.app.list_products(&key, StatusFilter::All, 1, None).await.unwrap();
    assert!(left.items.is_empty());
}
