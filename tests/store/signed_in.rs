//! People in browsers.

use invoicing::app::App;
use invoicing::app::invitation::JoinAsNew;
use invoicing::app::sign_in::{Browser, Cookies};
use invoicing::domain::audit::{Action, Actor, Person, Visitor};
use invoicing::domain::browser_session::InBrowser;
use invoicing::domain::error::Error;
use invoicing::domain::id::TeamId;
use invoicing::domain::list::Part;
use invoicing::domain::member::Role;
use invoicing::domain::secret::{Digest, Secret};

pub const PASSWORD: &str = "lantern harbour tulip nine";

pub fn browser() -> Browser {
    Browser {
        visitor: Visitor {
            address: [192, 0, 2, 1].into(),
            user_agent: Some("Browser/1".into()),
        },
        network: Digest::of(b"192.0.2.1"),
        device: None,
        session: None,
    }
}

pub fn new_user(link: &Secret) -> JoinAsNew {
    JoinAsNew {
        link: link.clone(),
        name: "Bo".into(),
        password: Secret::from_text(PASSWORD),
        browser: browser(),
    }
}

pub async fn look_up(app: &App, cookies: &Cookies) -> InBrowser {
    let presented = app.presented_cookie(cookies.session.reveal()).unwrap();
    app.look_up_cookie(presented).await.unwrap()
}

/// A user who has followed the operator's invitation, and is signed in.
pub async fn join(app: &App, team: TeamId, email: &str, role: Role) -> Person {
    let invited = app.invite(&Actor::Operator, team, email, role).await;
    let joined = app.join_as_new(new_user(&invited.unwrap().secret)).await;
    let (_, cookies) = joined.unwrap();
    look_up(app, &cookies).await.person(browser().visitor)
}

pub fn actor(person: &Person) -> Actor {
    Actor::Person(person.clone())
}

/// How many events of an action a team's audit has.
pub async fn told(app: &App, team: TeamId, action: Action) -> usize {
    let events = app.list_audit_events(Some(team), Part::default()).await;
    let events = events.unwrap();
    events.iter().filter(|it| it.action == action).count()
}

#[track_caller]
pub fn assert_may_not<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::RoleInsufficient)), "{result:?}");
}

#[track_caller]
pub fn assert_no_link<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::LinkNotValid)), "{result:?}");
}

#[track_caller]
pub fn assert_last_owner<T: std::fmt::Debug>(result: Result<T, Error>) {
    let Err(Error::Refused(why)) = result else {
        panic!("{result:?}");
    };
    assert!(why.contains("no other owner"), "{why}");
}
