//! Many people who sign in at once.

use std::sync::Mutex;
use std::time::Duration;

use futures::future::join_all;
use invoicing::app::invitation::JoinAsNew;
use invoicing::app::sign_in::Browser;
use invoicing::domain::audit::Actor;
use invoicing::domain::id::TeamId;
use invoicing::domain::member::Role;
use invoicing::domain::secret::Secret;

use super::super::support::Service;
use super::support::{PASSWORD, browser, sign_in};

/// After which a browser is no longer new (P12).
const OLD: Duration = Duration::from_mins(10);

/// A new member of a team, and the browser in which they joined, at a site of its own.
async fn joined(service: &Service, team: TeamId, number: usize) -> (String, Browser) {
    let email = format!("member{number}@example.com");
    let invited = service.app.invite(&Actor::Operator, team, &email, Role::Viewer).await;
    let mut browser = browser(&format!("198.51.{number}.1"));
    let join = JoinAsNew {
        link: invited.unwrap().secret,
        name: "Member".into(),
        password: Secret::from_text(PASSWORD),
        browser: browser.clone(),
    };
    let (_, cookies) = service.app.join_as_new(join).await.unwrap();
    browser.device = cookies.device;
    (email, browser)
}

/// A person may have many accounts, and addresses at many sites, but only the operator makes teams.
#[tokio::test]
async fn the_many_of_one_team_keep_a_member_of_another_waiting_for_a_few_of_them_at_most() {
    const MANY: usize = 40;
    let service = Service::new().await;
    let (team, another) = (service.team().await, service.team().await);
    let mut people = Vec::new();
    for number in 0..MANY {
        people.push(joined(&service, team, number).await);
    }
    people.push(joined(&service, another, MANY).await);
    service.clock.advance(OLD);

    let served = Mutex::new(Vec::new());
    let all = people.iter().enumerate().map(async |(number, (email, browser))| {
        let signed_in = sign_in(&service, email, PASSWORD, browser.clone()).await;
        signed_in.unwrap();
        served.lock().unwrap().push(number);
    });
    join_all(all).await;
    let served = served.into_inner().unwrap();
    let at = served.iter().position(|number| *number == MANY);
    assert!(at.unwrap() <= 10, "{served:?}");
}
