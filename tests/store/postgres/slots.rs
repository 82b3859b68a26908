//! A server that has fewer slots than the pool wants.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::app::App;
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::product::StatusFilter;
use invoicing::domain::time::SystemClock;
use invoicing::store::{Numbers, open};
use test_support::postgres::{ask, shared};

use super::relay::migrated;
use super::support::{live_key, plain};

/// How many connections the server admits, of 16 that the pool wants.
const SLOTS: usize = 2;

/// How many calls of each team are under way at once.
const AT_ONCE: usize = 20;

/// How long they go on: long enough for some more connections to be tried.
const LASTS: Duration = Duration::from_secs(3);

/// A new database, a role to which the server admits so many connections, and how to connect with it.
async fn limited(slots: usize) -> (String, String, String) {
    let url = migrated().await;
    let (role, as_role) = role_with(slots, &url);
    (url, role, as_role)
}

/// A role of the database to which the server admits so many connections, and how to connect with it.
pub fn role_with(slots: usize, url: &str) -> (String, String) {
    let role = format!("limited_{}", uuid::Uuid::new_v4().simple());
    ask(
        url,
        &format!(
            "CREATE ROLE {role} LOGIN CONNECTION LIMIT {slots}; \
             GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}; \
             GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}"
        ),
    );
    let as_role = url.replace("invoicing@", &format!("{role}@"));
    (role, as_role)
}

/// How many connections the pool has, and how often one was refused.
fn connections(app: &App) -> (usize, u64) {
    match app.store_numbers() {
        Numbers::Postgres(numbers) => (numbers.connections, numbers.counts.retries.get()),
        Numbers::Sqlite(_) => panic!("the store is on PostgreSQL"),
    }
}

/// An app, and four teams.
async fn with_teams(url: &str) -> (App, Vec<ApiKey>) {
    let store = open(&url.parse().unwrap()).await.unwrap();
    let app = App::new(store, Arc::new(SystemClock), "https://links.example");
    let app = app.await.unwrap();
    let mut teams = Vec::new();
    for _ in 0..4 {
        let team = app.create_team("Acme").await.unwrap().id;
        teams.push(live_key(&app, team).await.unwrap().0);
    }
    (app, teams)
}

/// Work of these teams, always so much at once: half of it shares connections, and half does not.
async fn work(
    app: &App,
    teams: &[ApiKey],
    until: impl Fn() -> bool,
    check: impl Fn(Result<(), Error>),
) {
    let at_once = (0..AT_ONCE).flat_map(|_| teams);
    let work = at_once.map(async |team| {
        while !until() {
            let made = app.create_product(team, plain("A"), None).await;
            check(made.map(drop));
            let listed = app.list_products(team, StatusFilter::All, 1, None).await;
            check(listed.map(drop));
        }
    });
    join_all(work).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_few_slots_is_asked_for_more_once_a_second() {
    let (url, role, as_role) = limited(SLOTS).await;
    let (app, teams) = with_teams(&as_role).await;
    let begun = Instant::now();
    work(&app, &teams, || begun.elapsed() > LASTS, Result::unwrap).await;
    let (open, refused) = connections(&app);
    // Once by each of the turns that there were before, and once a second.
    let most = 16 + begun.elapsed().as_secs() + 1;
    assert!(open <= SLOTS, "{open} of {SLOTS}");
    assert!(refused <= most, "{refused} refused, not {most}");

    // It is noticed that there are more again.
    ask(&url, &format!("ALTER ROLE {role} CONNECTION LIMIT -1"));
    let begun = Instant::now();
    let has_more = || connections(&app).0 > SLOTS + 1 || begun.elapsed() > 10 * LASTS;
    work(&app, &teams, has_more, Result::unwrap).await;
    assert!(connections(&app).0 > SLOTS + 1, "{:?}", connections(&app));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_slot_is_asked_for_one_ten_times_a_second() {
    let (url, role, as_role) = limited(SLOTS).await;
    let (app, teams) = with_teams(&as_role).await;
    let cut =
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'");
    ask(
        &url,
        &format!("ALTER ROLE {role} CONNECTION LIMIT 0; {cut}"),
    );
    let begun = Instant::now();
    let refused = |done: Result<(), Error>| {
        assert!(
            matches!(done, Ok(()) | Err(Error::Unavailable(_))),
            "{done:?}"
        )
    };
    work(&app, &teams, || begun.elapsed() > LASTS, refused).await;
    // What the server says of each: retries are of lookups, too, which share a connection that did not come.
    let log = std::fs::read_to_string(shared().folder().join("log")).unwrap();
    let asked = log
        .matches(&format!("too many connections for role \"{role}\""))
        .count() as u64;
    // Each of the turns that there were before may have asked, too.
    let most = 16 + 10 * (begun.elapsed().as_secs() + 1);
    assert!(
        (1..=most).contains(&asked),
        "asked {asked} times, not {most}"
    );

    ask(&url, &format!("ALTER ROLE {role} CONNECTION LIMIT -1"));
    app.create_product(&teams[0], plain("A"), None)
        .await
        .unwrap();
}
