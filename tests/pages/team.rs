//! People in a team, who sign in with passwords.

use test_support::service::Service;

use crate::browser::{Browser, link_path};

/// The password of every user here.
pub const PASSWORD: &str = "lantern harbour tulip nine";

/// Creates a user with a password, who is not in a team yet. Returns the id.
pub async fn person(service: &Service, email: &str) -> String {
    let create = ["user", "create", "--email", email, "--name", email];
    let user = service.command(&create).expect("an own server");
    let path = link_path(service, &["user", "reset-link", email]);
    let mut browser = Browser::new(service);
    let answer = browser.post(&path, &[("password", PASSWORD)]).await;
    assert_eq!(answer.status(), 303, "{answer:?}");
    browser.post("/sign-out", &[]).await;
    user["id"].as_str().expect("an id").to_owned()
}

/// Gives a user this role in the team.
pub fn add_member(service: &Service, team: &str, email: &str, role: &str) {
    let add = [
        "member", "add", "--team", team, "--user", email, "--role", role,
    ];
    service.command(&add).expect("an own server");
}

/// Creates a user with this role in the team.
pub async fn member(service: &Service, team: &str, role: &str) -> String {
    let email = format!("{role}@example.com");
    person(service, &email).await;
    add_member(service, team, &email, role);
    email
}

/// Creates a team. Returns its id.
pub fn team(service: &Service, name: &str) -> String {
    let team = service.command(&["team", "create", "--name", name]);
    let team = team.expect("an own server");
    team["id"].as_str().expect("an id").to_owned()
}

/// A browser in which a user with this role is signed in.
pub async fn signed_in<'a>(service: &'a Service, team: &str, role: &str) -> Browser<'a> {
    let email = member(service, team, role).await;
    let mut browser = Browser::new(service);
    browser.sign_in(&email, PASSWORD).await;
    browser
}

/// Moves every sign-in an hour into the past.
pub fn age_sign_ins(service: &Service) {
    change(
        service,
        "UPDATE browser_session SET signed_in_at = signed_in_at - 3600000",
    );
}

/// Changes the database of a service with statements that both engines accept.
pub fn change(service: &Service, statements: &str) {
    let database = service.own_database().expect("an own server");
    match database.strip_prefix("sqlite:") {
        Some(path) => {
            let file = rusqlite::Connection::open(path).expect("it is there");
            file.busy_timeout(std::time::Duration::from_secs(10))
                .expect("it can be set");
            file.execute_batch(statements).expect("it is changed");
        }
        None => _ = test_support::postgres::ask(database, statements),
    }
}
