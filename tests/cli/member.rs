//! Users, and their membership in teams.

use serde_json::json;

use crate::place::{Place, assert_time, names};

#[test]
fn a_user_is_made_and_an_email_is_used_once() {
    let place = Place::with_database();
    let create = [
        "user",
        "create",
        "--name",
        "Ada Lovelace",
        "--email",
        "ada@example.com",
    ];
    let user = place.json(&create);
    assert_eq!(names(&user)[..3], ["id", "email", "name"]);
    assert_eq!(
        (&user["email"], &user["name"]),
        (&json!("ada@example.com"), &json!("Ada Lovelace"))
    );
    assert_time(&user["createdAt"]);
    place.run(&create).failed(1, "ada@example.com");
    place
        .run(&["user", "create", "--name", "Ada", "--email", "ada"])
        .failed(1, "ada");
}

#[test]
fn a_member_is_added_once_and_removed_once() {
    let place = Place::with_database();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let user = place.make(&[
        "user",
        "create",
        "--name",
        "Ada",
        "--email",
        "ada@example.com",
    ]);
    let who = ["--team", &team, "--user", &user];
    let add = [&["member", "add", "--role", "viewer"], &who[..]].concat();
    let remove = [&["member", "remove"], &who[..]].concat();

    let member = place.json(&add);
    assert_eq!(names(&member)[..4], ["id", "teamId", "userId", "role"]);
    assert_eq!(member["role"], "viewer");
    place.run(&add).failed(1, "already");
    assert_eq!(
        place.json(&remove),
        json!({ "id": user, "teamId": team, "userId": user })
    );
    place.run(&remove).failed(1, "no member");
    place.json(&add);
}

#[test]
fn a_role_is_one_of_four() {
    let place = Place::with_database();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    for (number, role) in ["owner", "admin", "member", "viewer"]
        .into_iter()
        .enumerate()
    {
        let email = format!("{number}@example.com");
        let user = place.make(&["user", "create", "--name", "Ada", "--email", &email]);
        let add = ["member", "add", "--team", &team, "--user", &user, "--role"];
        place
            .run(&[&add[..], &["boss"]].concat())
            .failed(2, "owner, admin, member, viewer");
        assert_eq!(place.json(&[&add[..], &[role]].concat())["role"], role);
    }
}

#[test]
fn a_role_is_changed_for_the_last_owner_too() {
    let place = Place::with_database();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = ["user", "create", "--name", "A", "--email", "a@example.com"];
    place.make(&create);
    let who = ["--team", &team, "--user", "a@example.com", "--role"];
    let set = |role| [&["member", "set-role"], &who[..], &[role]].concat();
    place.run(&set("admin")).failed(1, "no member");
    place.json(&[&["member", "add"], &who[..], &["owner"]].concat());
    assert_eq!(place.json(&set("viewer"))["role"], "viewer");
    place.run(&set("king")).failed(2, "admin");
}

#[test]
fn an_invitation_is_a_link_that_is_printed() {
    let place = Place::with_database();
    place.make(&["team", "create", "--name", "Acme"]);
    let invite = |email| {
        let who = ["user", "invite", "--team", "Acme", "--email", email];
        let origin = ["--role", "owner", "--origin", "https://invoices.example"];
        [&who[..], &origin].concat()
    };
    let invited = place.json(&invite("ada@example.com"));
    assert_eq!(names(&invited), ["id", "url", "expiresAt"]);
    let url = invited["url"].as_str().unwrap();
    assert!(url.starts_with("https://invoices.example/invitation/"));
    assert_time(&invited["expiresAt"]);
    place.run(&invite("ada")).failed(1, "no address");
}

#[test]
fn an_email_is_changed_by_the_operator() {
    let place = Place::with_database();
    for email in ["ada@example.com", "ben@example.com"] {
        place.make(&["user", "create", "--name", "A", "--email", email]);
    }
    let set = |email| ["user", "set-email", "ADA@example.com", "--email", email];
    place.run(&set("ada")).failed(1, "no address");
    place
        .run(&set("Ben@example.com"))
        .failed(1, "exists already");
    let changed = place.json(&set("ada@example.org"));
    assert_eq!(changed["email"], "ada@example.org");
    assert_eq!(place.json(&["user", "show", "ada@example.org"]), changed);
    place.run(&set("ada@example.net")).failed(1, "no user");
}

#[test]
fn a_user_is_deleted_by_the_operator_also_the_last_owner() {
    let place = Place::with_database();
    place.make(&["team", "create", "--name", "Acme"]);
    for (email, role) in [("ada@example.com", "owner"), ("ben@example.com", "member")] {
        place.make(&["user", "create", "--name", "A", "--email", email]);
        place.make(&[
            "member", "add", "--team", "Acme", "--user", email, "--role", role,
        ]);
    }
    let delete = ["user", "delete", "ADA@example.com"];
    let deleted = place.json(&delete);
    assert_eq!(deleted["email"], "ada@example.com");
    place.run(&delete).failed(1, "no user");
    let members = place.json(&["member", "list", "--team", "Acme"]);
    let members = members.as_array().unwrap();
    assert_eq!(members.len(), 1, "{members:?}");
    let events = place.json(&["audit", "list"]);
    let events = events.as_array().unwrap();
    let told = events.iter().find(|it| it["action"] == "delete-account");
    let told = told.unwrap_or_else(|| panic!("{events:?}"));
    assert_eq!(told["subject"], deleted["id"]);
    assert!(!told.to_string().contains("ada@"), "{told}");
}
