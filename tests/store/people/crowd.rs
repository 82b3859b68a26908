//! Many people who sign in at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures::future::join_all;
use invoicing::app::invitation::JoinAsNew;
use invoicing::app::sign_in::Browser;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::{TeamId, UserId};
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;
use tokio::sync::Notify;

use super::super::support::Service;
use super::support::{PASSWORD, browser, look_up, sign_in};

/// After which a browser is no longer new (P12).
const OLD: Duration = Duration::from_mins(10);

/// How many have a crowd in common. Each is at a site of its own: sites are counted, too.
const MANY: usize = 16;

/// Somebody who can sign in.
struct Person {
    id: UserId,
    email: String,
    browser: Browser,
}

/// A new member of a team, and the browser in which they joined.
async fn joined(service: &Service, team: TeamId, number: usize) -> Person {
    let email = format!("member{number}@example.com");
    let invited = service.app.invite(&Actor::Operator, team, &email, Role::Viewer).await;
    let mut browser = browser(&format!("198.51.{number}.1"));
    let join = join(&invited.unwrap().secret, &browser);
    let (_, cookies) = service.app.join_as_new(join).await.unwrap();
    let id = look_up(service, &cookies).await.unwrap().user.id;
    browser.device = cookies.device;
    Person { id, email, browser }
}

fn join(link: &Secret, browser: &Browser) -> JoinAsNew {
    JoinAsNew {
        link: link.clone(),
        name: "Member".into(),
        password: Secret::from_text(PASSWORD),
        browser: browser.clone(),
    }
}

/// Many members of a team.
async fn many(service: &Service, team: TeamId) -> Vec<Person> {
    let mut people = Vec::new();
    for number in 0..MANY {
        people.push(joined(service, team, number).await);
    }
    people
}

/// All of the crowd sign in at once, and somebody of another team last of all. A person may have many accounts, and addresses
/// at many sites, but only the operator makes teams.
async fn assert_somebody_else_waits_for_few(service: &Service, mut crowd: Vec<Person>) {
    let another = service.team().await;
    crowd.push(joined(service, another, MANY).await);
    service.clock.advance(OLD);
    let served = Mutex::new(Vec::new());
    let all = crowd.iter().enumerate().map(async |(number, person)| {
        let signed_in = sign_in(service, &person.email, PASSWORD, person.browser.clone()).await;
        signed_in.unwrap();
        served.lock().unwrap().push(number);
    });
    join_all(all).await;
    let served = served.into_inner().unwrap();
    let at = served.iter().position(|number| *number == MANY);
    assert!(at.unwrap() <= MANY / 2, "{served:?}");
}

#[tokio::test]
async fn the_many_of_one_team_keep_a_member_of_another_waiting_for_a_few_of_them_at_most() {
    let service = Service::new().await;
    let team = service.team().await;
    let crowd = many(&service, team).await;
    assert_somebody_else_waits_for_few(&service, crowd).await;
}

#[tokio::test]
async fn the_many_count_for_the_oldest_team_whatever_others_they_are_in() {
    let service = Service::new().await;
    let team = service.team().await;
    let crowd = many(&service, team).await;
    for person in &crowd {
        let newer = service.team().await;
        service.app.add_member(newer, person.id, Role::Viewer).await.unwrap();
    }
    assert_somebody_else_waits_for_few(&service, crowd).await;
}

#[tokio::test]
async fn the_many_who_have_left_their_team_count_together() {
    let service = Service::new().await;
    let team = service.team().await;
    let crowd = many(&service, team).await;
    for person in &crowd {
        let left = service.app.remove_member(&Actor::Operator, team, person.id, false);
        left.await.unwrap();
    }
    assert_somebody_else_waits_for_few(&service, crowd).await;
}

#[tokio::test]
async fn strangers_keep_somebody_who_joins_waiting_for_a_few_of_them_at_most() {
    let service = Service::new().await;
    let team = service.team().await;
    let invited = service.app.invite(&Actor::Operator, team, "bo@example.com", Role::Viewer).await;
    let link = invited.unwrap().secret;
    let (others, one_is_refused) = (AtomicUsize::new(0), Notify::new());
    let strangers = (0..MANY).map(async |site| {
        let browser = browser(&format!("198.51.{site}.1"));
        sign_in(&service, "nobody@example.com", PASSWORD, browser).await.unwrap_err();
        others.fetch_add(1, Relaxed);
        one_is_refused.notify_one();
    });
    let joined = async {
        // By then all of them are in line.
        one_is_refused.notified().await;
        let joined = service.app.join_as_new(join(&link, &browser("203.0.113.1"))).await;
        joined.unwrap();
        others.load(Relaxed)
    };
    let (_, before) = tokio::join!(join_all(strangers), joined);
    assert!(before <= MANY / 2, "{before}");
}
