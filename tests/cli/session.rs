//! Sessions, without a server; `serve.rs` has those that a device started.

use serde_json::json;

use crate::place::Place;

#[test]
fn a_user_without_devices_has_no_sessions() {
    let place = Place::with_database();
    let user = place.make(&[
        "user",
        "create",
        "--name",
        "Ada",
        "--email",
        "ada@example.com",
    ]);
    assert_eq!(place.json(&["session", "list", "--user", &user]), json!([]));
}

#[test]
fn an_unknown_user_or_session_fails_with_1() {
    let place = Place::with_database();
    let nobody = "0191e4a0-0000-7000-8000-000000000000";
    place
        .run(&["session", "list", "--user", nobody])
        .failed(1, "no user");
    let revoke = |which: &[&str]| place.run(&[&["session", "revoke"], which].concat());
    revoke(&[nobody]).failed(1, "no session");
    revoke(&["--user", nobody]).failed(1, "no user");
    revoke(&["--client", nobody]).failed(1, "no OAuth client");
}

#[test]
fn sessions_are_revoked_by_one_of_an_id_a_user_and_an_app() {
    let place = Place::with_database();
    let nobody = "0191e4a0-0000-7000-8000-000000000000";
    let revoke = |which: &[&str]| place.run(&[&["session", "revoke"], which].concat());
    revoke(&[]).failed(2, "--user");
    revoke(&[nobody, "--user", nobody]).failed(2, "cannot be used with");
    revoke(&["--client", "app", "--user", nobody]).failed(2, "cannot be used with");
}
