//! Connections are shared: one team, whatever it waits for, leaves the others theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use invoicing::app::App;
use invoicing::app::sign_in::{Browser, Cookies, SignIn};
use invoicing::domain::Error;
use invoicing::domain::api_key::ApiKey;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::ProductId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::{Secret, base62};
use invoicing::domain::time::SystemClock;
use invoicing::store::open;
use test_support::postgres::{Locked, ask, lock_waits, until_lock_waits};
use tokio::task::JoinHandle;

use super::people::support::{EMAIL, PASSWORD, browser, by_ada, person};
use super::relay::migrated;
use super::signed_in::join;
use super::support::{live_key, plain};

/// Longer than any call of another team takes, and shorter than what would hold it up.
const IN_TIME: Duration = Duration::from_secs(2);

/// A service with this many connections, two teams, and a locked product of the first.
struct Trial {
    url: String,
    app: Arc<App>,
    team: ApiKey,
    product: ProductId,
    other: ApiKey,
    locked: Locked,
}

impl Trial {
    async fn new(connections: usize) -> Trial {
        let url = migrated().await;
        let address = format!("{url}?pool_size={connections}");
        let store = open(&address.parse().unwrap()).await.unwrap();
        let app = App::new(store, Arc::new(SystemClock), "https://links.example");
        let app = Arc::new(app.await.unwrap());
        let [team, other] = [writer(&app).await, writer(&app).await];
        let made = app.create_product(&team, plain("A"), None).await.unwrap();
        let product = made.value.id;
        // Returns no rows.
        let lock = format!("UPDATE product SET id = id WHERE id = '{product}'");
        let locked = Locked::by(&url, &lock);
        Trial {
            url,
            app,
            team,
            product,
            other,
            locked,
        }
    }

    /// Starts this many updates of the locked product.
    fn update(&self, count: usize) -> Vec<JoinHandle<Result<(), Error>>> {
        let update = |_| {
            let (app, team, product) = (Arc::clone(&self.app), self.team.clone(), self.product);
            tokio::spawn(async move {
                let update = app.update_product(&team, product, Default::default(), None);
                update.await.map(drop)
            })
        };
        (0..count).map(update).collect()
    }

    /// Waits until this many connections wait for a lock.
    async fn waiting(&self, count: usize) {
        until_lock_waits(&self.url, count).await;
    }

    /// Starts looking up a credential.
    fn look_up(&self, key: String) -> JoinHandle<Result<ApiKey, Error>> {
        let app = Arc::clone(&self.app);
        tokio::spawn(async move { app.authenticate_api_key(&key).await })
    }

    /// What another team does meanwhile: each call is answered in time.
    async fn others_work(&self) {
        for _ in 0..5 {
            let begun = Instant::now();
            let made = self.app.create_product(&self.other, plain("B"), None);
            let id = made.await.unwrap().value.id;
            self.app.get_product(&self.other, id).await.unwrap();
            assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
        }
    }
}

/// On a busy machine, some of those behind the ones that wait for the row wait for a connection for too long.
fn done_or_refused(outcome: Result<(), Error>) {
    match outcome {
        Ok(()) | Err(Error::Unavailable(_)) => (),
        Err(error) => panic!("{error:?}"),
    }
}

/// A key that does not exist.
fn unknown_key() -> String {
    let key = format!("inv_live_{}", Secret::base62().reveal());
    let checksum = base62::<4, 6>(crc32fast::hash(key.as_bytes()).to_be_bytes());
    key + str::from_utf8(&checksum).unwrap()
}

async fn writer(app: &App) -> ApiKey {
    let team = app.create_team("Acme").await.unwrap().id;
    let made = live_key(app, team);
    made.await.unwrap().0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_that_waits_for_one_row_leaves_others_their_connections() {
    let trial = Trial::new(8).await;
    let updates = trial.update(40);
    trial.waiting(1).await;
    trial.others_work().await;
    drop(trial.locked);
    for update in join_all(updates).await {
        done_or_refused(update.unwrap());
    }
    // What comes after that is done.
    let again = trial
        .app
        .update_product(&trial.team, trial.product, Default::default(), None);
    again.await.unwrap();
}

/// Each of them is a different user, and all wait for the same row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_who_wait_for_their_team_leave_others_their_connections() {
    let trial = Trial::new(8).await;
    let team = trial.team.team_id;
    let mut people = Vec::new();
    for number in 0..9 {
        let named = |role| format!("{role}-{number}@example.com");
        let owner = join(&trial.app, team, &named("owner"), Role::Owner).await;
        let member = join(&trial.app, team, &named("member"), Role::Member).await;
        people.push((number, owner, member.user_id));
    }
    let lock = format!("UPDATE team SET name = name WHERE id = '{}'", team.0);
    let locked = Locked::by(&trial.url, &lock);
    let changes: Vec<_> = people
        .into_iter()
        .map(|(number, owner, member)| {
            let app = Arc::clone(&trial.app);
            tokio::spawn(async move {
                let owner = Actor::Person(owner);
                match number % 3 {
                    0 => app.set_role(&owner, team, member, Role::Viewer).await,
                    1 => app.remove_member(&owner, team, member, false).await,
                    _ => {
                        let email = format!("guest-{number}@example.com");
                        let invited = app.invite(&owner, team, &email, Role::Viewer);
                        invited.await.map(drop)
                    }
                }
            })
        })
        .collect();
    trial.waiting(2).await;
    trial.others_work().await;
    drop(locked);
    for change in join_all(changes).await {
        done_or_refused(change.unwrap());
    }
    let invited = trial
        .app
        .invite(&Actor::Operator, team, "guest@example.com", Role::Viewer);
    invited.await.unwrap();
}

/// A caller who knows the id of another team's key waits for nothing of that team, and takes none of its
/// connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_change_a_key_waits_for_no_lock_of_its_team() {
    let trial = Trial::new(8).await;
    let stranger = join(
        &trial.app,
        trial.other.team_id,
        "eve@example.com",
        Role::Owner,
    )
    .await;
    let stranger = Actor::Person(stranger);
    let team = trial.team.team_id.0;
    let lock = format!("UPDATE team SET name = name WHERE id = '{team}'");
    let _locked = Locked::by(&trial.url, &lock);
    let begun = Instant::now();
    let rotated = trial
        .app
        .rotate_api_key(&stranger, trial.team.id, None)
        .await;
    assert!(matches!(rotated, Err(Error::NotAMember)), "{rotated:?}");
    let revoked = trial.app.revoke_api_key(&stranger, trial.team.id).await;
    assert!(matches!(revoked, Err(Error::NotAMember)), "{revoked:?}");
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
}

/// The slot for hashing is held while an attempt is counted, and no user may make that take long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_to_sign_in_does_not_wait_behind_what_its_user_has_others_wait_for() {
    let trial = Trial::new(8).await;
    let link = trial.app.create_set_up_link().await.unwrap().secret;
    let cookies = trial.app.set_up(by_ada(&link)).await.unwrap();
    let cookie = cookies.session.reveal();
    let cookie = trial.app.presented_cookie(cookie).unwrap();
    let ada = trial.app.look_up_cookie(cookie).await.unwrap();
    let user = ada.user.id.0;
    let lock = format!("UPDATE \"user\" SET name = name WHERE id = '{user}'");
    let locked = Locked::by(&trial.url, &lock);
    let changes: Vec<_> = (0..20)
        .map(|number| {
            let (app, ada) = (Arc::clone(&trial.app), person(&ada));
            tokio::spawn(async move { app.change_name(ada, &format!("Ada {number}")).await })
        })
        .collect();
    trial.waiting(1).await;
    let begun = Instant::now();
    let wrong = SignIn {
        email: EMAIL.into(),
        password: Secret::from_text("wrong"),
        browser: Browser {
            device: cookies.device,
            ..browser("192.0.2.1")
        },
    };
    let wrong = trial.app.sign_in(wrong).await.map(drop);
    assert!(matches!(wrong, Err(Error::WrongPassword)), "{wrong:?}");
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(locked);
    for change in join_all(changes).await {
        done_or_refused(change.unwrap());
    }
    trial
        .app
        .change_name(person(&ada), "Augusta")
        .await
        .unwrap();
}

/// A thief of one session does not keep the user, in another, from ending it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_user_does_in_one_browser_does_not_wait_behind_what_is_done_in_another() {
    let trial = Trial::new(8).await;
    let link = trial.app.create_set_up_link().await.unwrap().secret;
    let first = trial.app.set_up(by_ada(&link)).await.unwrap();
    let attempt = SignIn {
        email: EMAIL.into(),
        password: Secret::from_text(PASSWORD),
        browser: browser("192.0.2.2"),
    };
    let second = trial.app.sign_in(attempt).await.unwrap();
    let look_up = async |cookies: &Cookies| {
        let cookie = trial.app.presented_cookie(cookies.session.reveal());
        person(&trial.app.look_up_cookie(cookie.unwrap()).await.unwrap())
    };
    let (thief, ada) = (look_up(&first).await, look_up(&second).await);
    let done = Arc::new(AtomicUsize::new(0));
    let changes: Vec<_> = (0..100)
        .map(|number| {
            let (app, thief) = (Arc::clone(&trial.app), thief.clone());
            let done = Arc::clone(&done);
            tokio::spawn(async move {
                // Refused, once its session has ended.
                let _ = app.change_name(thief, &format!("Eve {number}")).await;
                done.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    while done.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    trial.app.end_other_sessions(ada).await.unwrap();
    let before = done.load(Ordering::Relaxed);
    assert!(before < 50, "after {before} of 100 changes");
    for change in join_all(changes).await {
        change.unwrap();
    }
}

/// Each is a holder of its own, and together they could have all connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_whose_changes_meet_locks_leave_others_a_quarter_of_the_connections() {
    let trial = Trial::new(8).await;
    let mut people = Vec::new();
    for number in 0..4 {
        let email = format!("user-{number}@example.com");
        people.push(join(&trial.app, trial.team.team_id, &email, Role::Viewer).await);
    }
    // Returns no rows.
    let users = Locked::by(&trial.url, "UPDATE \"user\" SET id = id");
    let change = |number: usize| {
        let (app, person) = (Arc::clone(&trial.app), people[number % 4].clone());
        tokio::spawn(async move { app.change_name(person, "Augusta").await })
    };
    let changes: Vec<_> = (0..20).map(change).collect();
    trial.waiting(2).await;
    trial.others_work().await;
    assert!(lock_waits(&trial.url) <= 6);
    drop(users);
    for change in join_all(changes).await {
        done_or_refused(change.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_that_waits_for_one_row_leaves_others_one_of_the_connections() {
    let trial = Trial::new(4).await;
    let mut updates = trial.update(3);
    trial.waiting(1).await;
    trial.others_work().await;
    let pids = "SELECT string_agg(pid::text, ',') FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name = 'invoicing'";
    let pids = ask(&trial.url, pids);
    updates.extend(trial.update(3));
    for update in join_all(updates).await {
        let update = update.unwrap();
        assert!(matches!(update, Err(Error::Unavailable(_))), "{update:?}");
    }
    let left = format!(
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid IN ({pids}) AND state = 'idle'"
    );
    assert_eq!(ask(&trial.url, &left), "t");
}

/// A locked table stands for a slow look-up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_nobody_has_leave_a_known_one_and_everybody_else_their_connections() {
    let trial = Trial::new(8).await;
    let team = trial.app.create_team("Acme").await.unwrap().id;
    let made = live_key(&trial.app, team);
    let (_, known) = made.await.unwrap();
    let known = known.reveal().to_owned();
    trial.app.authenticate_api_key(&known).await.unwrap();
    let link = trial.app.create_set_up_link().await.unwrap().secret;
    let ada = trial.app.set_up(by_ada(&link)).await.unwrap();
    let keys = Locked::by(&trial.url, "LOCK TABLE api_key");
    let strangers: Vec<_> = (0..200).map(|_| trial.look_up(unknown_key())).collect();
    trial.waiting(2).await;
    let id = trial.product;
    let begun = Instant::now();
    trial.app.get_product(&trial.team, id).await.unwrap();
    // Nor does a sign-in wait behind them.
    let wrong = SignIn {
        email: "ada@example.com".into(),
        password: Secret::from_text("wrong"),
        browser: browser("192.0.2.1"),
    };
    let wrong = trial.app.sign_in(wrong).await.map(drop);
    assert!(matches!(wrong, Err(Error::WrongPassword)), "{wrong:?}");
    // Nor does a user who signed in a moment ago.
    let cookie = trial.app.presented_cookie(ada.session.reveal()).unwrap();
    trial.app.look_up_cookie(cookie).await.unwrap();
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    // Once what was read of it a moment ago is too old.
    let mut looked_up = Vec::new();
    while lock_waits(&trial.url) < 3 {
        looked_up.push(trial.look_up(known.clone()));
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(begun.elapsed() < Duration::from_secs(4), "it waits in line");
    }
    drop(keys);
    for key in join_all(looked_up).await {
        key.unwrap().unwrap();
    }
    for stranger in join_all(strangers).await {
        let refused = stranger.unwrap();
        assert!(matches!(refused, Err(Error::InvalidToken)), "{refused:?}");
    }
}

/// A locked table stands for a slow list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_lists_the_members_of_a_team_leaves_the_service_its_connections() {
    let trial = Trial::new(4).await;
    let members = Locked::by(&trial.url, "LOCK TABLE member");
    let list = |_| {
        let (app, team) = (Arc::clone(&trial.app), trial.team.team_id);
        tokio::spawn(async move { app.list_members(team, Part::default()).await })
    };
    let lists: Vec<_> = (0..20).map(list).collect();
    trial.waiting(3).await;
    let begun = Instant::now();
    let keys = trial.app.list_api_keys(None, Part::default());
    assert_eq!(keys.await.unwrap().len(), 2);
    assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
    drop(members);
    for list in join_all(lists).await {
        list.unwrap().unwrap();
    }
}
