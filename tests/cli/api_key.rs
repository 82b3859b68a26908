use serde_json::Value;

use crate::place::{Place, assert_time, names};

const CREATE: [&str; 7] = [
    "api-key",
    "create",
    "--mode",
    "live",
    "--scope",
    "read-write",
    "--team",
];

#[test]
fn create_answers_the_key_once_and_notes_it_on_standard_error() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let said = place.run(
        &[
            &CREATE[..],
            &[&team, "--name", "Shop", "--expires-in", "90d", "--json"],
        ]
        .concat(),
    );
    let key: Value = serde_json::from_str(&said.output).unwrap();
    let fields = [
        "id",
        "key",
        "teamId",
        "mode",
        "scope",
        "name",
        "createdAt",
        "expiresAt",
    ];
    assert_eq!(names(&key), fields);
    let secret = key["key"].as_str().unwrap();
    assert!(
        secret.starts_with("inv_live_") && secret.len() == 9 + 43 + 6,
        "{secret}"
    );
    assert_eq!(
        (&key["teamId"], &key["mode"], &key["scope"]),
        (&team.into(), &"live".into(), &"read-write".into())
    );
    assert_eq!(key["name"], "Shop");
    assert_time(&key["expiresAt"]);
    assert!(
        said.errors.contains("only time that the key is shown"),
        "{}",
        said.errors
    );
    assert!(
        !said.errors.contains(secret),
        "the note does not repeat the key"
    );
}

#[test]
fn list_shows_keys_without_their_secret_and_revoke_ends_one() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let made = place.json(&[&CREATE[..], &[&team]].concat());
    let list = || place.json(&["api-key", "list", "--team", &team]);
    let fields = [
        "id",
        "teamId",
        "mode",
        "scope",
        "name",
        "createdAt",
        "expiresAt",
        "revokedAt",
        "lastUsedAt",
        "lastUsedFrom",
        "replacedBy",
    ];
    assert_eq!(names(&list()[0]), fields);
    assert_eq!(list()[0]["revokedAt"], Value::Null);
    assert!(!list().to_string().contains("inv_live"));

    let revoked = place.json(&["api-key", "revoke", made["id"].as_str().unwrap()]);
    assert_eq!(revoked["id"], made["id"]);
    assert_time(&list()[0]["revokedAt"]);
}

#[test]
fn rotate_answers_the_new_key_once_and_says_when_the_old_one_ends() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let made = place.json(&[&CREATE[..], &[&team, "--name", "Shop"]].concat());
    let old = made["id"].as_str().unwrap();
    let said = place.run(&["api-key", "rotate", old, "--overlap", "24h", "--json"]);
    let new: Value = serde_json::from_str(&said.output).unwrap();
    let fields = [
        "id",
        "key",
        "teamId",
        "mode",
        "scope",
        "name",
        "createdAt",
        "expiresAt",
        "replaces",
        "replacedEndsAt",
    ];
    assert_eq!(names(&new), fields);
    assert_eq!(
        (&new["replaces"], &new["name"]),
        (&old.into(), &"Shop".into())
    );
    assert_time(&new["replacedEndsAt"]);
    let note = format!("The old key {old} works until then");
    assert!(said.errors.contains(&note), "{}", said.errors);
    let shown = place.json(&["api-key", "show", old]);
    assert_eq!(shown["expiresAt"], new["replacedEndsAt"]);
    assert_eq!(shown["replacedBy"], new["id"]);
    let again = place.run(&["api-key", "rotate", old]);
    again.failed(1, "was rotated before");

    let said = place.run(&["api-key", "rotate", new["id"].as_str().unwrap(), "--json"]);
    assert!(said.errors.contains("has ended"), "{}", said.errors);
    let revoked = place.json(&["api-key", "show", new["id"].as_str().unwrap()]);
    assert_time(&revoked["revokedAt"]);
}

#[test]
fn what_does_not_exist_fails_with_1_and_says_how_to_find_it() {
    let place = Place::with_database();
    let nobody = "0191e4a0-0000-7000-8000-000000000000";
    place
        .run(&[&CREATE[..], &[nobody]].concat())
        .failed(1, "`invoicing team list`");
    place
        .run(&["api-key", "revoke", nobody])
        .failed(1, "`invoicing api-key list");
}

#[test]
fn wrong_arguments_fail_with_2() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = |more: &[&str]| place.run(&[&CREATE[..], &[&team], more].concat());
    for span in ["90", "d", "1.5d", "0d", "-1d", "1y"] {
        create(&[&format!("--expires-in={span}")]).failed(2, "--expires-in");
    }
    place
        .run(&["api-key", "create", "--team", &team, "--mode", "real"])
        .failed(2, "live, test");
    place
        .run(&["api-key", "list", "--team", "acme"])
        .failed(1, "`invoicing team list`");
    place.run(&["api-key", "revoke"]).failed(2, "<ID>");
}
