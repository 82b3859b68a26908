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
