//! Deactivating, activating and exporting users.

use serde_json::{Value, json};

use crate::place::{Place, assert_time, names};

const ADA: &str = "ada@example.com";

/// A place with a team that Ada owns. Also returns her id.
fn with_ada() -> (Place, String) {
    let place = Place::with_database();
    place.make(&["team", "create", "--name", "Acme"]);
    let ada = place.make(&["user", "create", "--name", "Ada", "--email", ADA]);
    place.make(&[
        "member", "add", "--team", "Acme", "--user", ADA, "--role", "owner",
    ]);
    (place, ada)
}

/// The audit, newest first.
fn told(place: &Place) -> Vec<Value> {
    let events = place.json(&["audit", "list"]);
    events.as_array().expect("a list").clone()
}

#[test]
fn a_user_is_deactivated_and_activated_and_the_list_tells_since_when() {
    let (place, ada) = with_ada();
    let list = |place: &Place| place.json(&["user", "list"])[0].clone();
    assert_eq!(list(&place)["deactivatedAt"], Value::Null);
    let deactivated = place.json(&["user", "deactivate", "ADA@example.com"]);
    assert_eq!(
        names(&deactivated),
        ["id", "email", "name", "createdAt", "deactivatedAt"]
    );
    assert_time(&deactivated["deactivatedAt"]);
    assert_eq!(list(&place), deactivated);
    assert_eq!(place.json(&["user", "show", ADA]), deactivated);
    let link = place.run(&[
        "user",
        "reset-link",
        ADA,
        "--origin",
        "https://invoices.example",
    ]);
    link.failed(1, "`invoicing user activate`");
    let activated = place.json(&["user", "activate", ADA]);
    assert_eq!(activated["deactivatedAt"], Value::Null);
    assert_eq!(list(&place), activated);
    let events = told(&place);
    let actions: Vec<_> = events[..2].iter().map(|it| &it["action"]).collect();
    assert_eq!(actions, ["activate-user", "deactivate-user"]);
    for event in &events[..2] {
        assert_eq!(
            (&event["subject"], &event["userId"]),
            (&json!(ada), &Value::Null)
        );
    }
    for command in ["deactivate", "activate", "export"] {
        place
            .run(&["user", command, "bo@example.com"])
            .failed(1, "no user");
    }
}

#[test]
fn who_deactivates_the_last_owner_is_told_of_which_teams() {
    let (place, _) = with_ada();
    let said = place.run(&["user", "deactivate", ADA]);
    assert_eq!(said.code, 0, "{}", said.errors);
    assert!(
        said.errors
            .starts_with("note: no owner who is active is left in Acme ("),
        "{}",
        said.errors
    );
    assert!(!said.output.contains("note"), "{}", said.output);
    place.make(&[
        "user",
        "create",
        "--name",
        "Bo",
        "--email",
        "bo@example.com",
    ]);
    let said = place.run(&["user", "deactivate", "bo@example.com"]);
    assert_eq!(said.errors, "");
}

#[test]
fn an_export_is_json_has_what_is_stored_and_no_secret_and_is_told_of() {
    let (place, ada) = with_ada();
    let origin = "https://invoices.example";
    let reset = place.json(&["user", "reset-link", ADA, "--origin", origin]);
    place.json(&[
        "user",
        "invite",
        "--team",
        "Acme",
        "--email",
        "bo@example.com",
        "--role",
        "admin",
        "--origin",
        origin,
    ]);
    let other = place.make(&["team", "create", "--name", "Globex"]);
    place.json(&[
        "user", "invite", "--team", "Globex", "--email", ADA, "--role", "viewer", "--origin",
        origin,
    ]);
    let said = place.run(&["user", "export", ADA]);
    let stored: Value = serde_json::from_str(&said.output).expect("JSON");
    assert!(said.output.lines().count() > 20, "{}", said.output);
    assert_eq!(stored["user"]["id"], json!(ada));
    assert_eq!(stored["teams"][0]["role"], "owner");
    assert_eq!(stored["links"][0]["purpose"], "reset");
    assert_eq!(stored["invitations"][0]["teamId"], json!(other));
    assert_eq!(stored["invitations"].as_array().map(Vec::len), Some(1));
    let by_others = stored["doneByOthers"].as_array().expect("a list");
    let actions: Vec<_> = by_others.iter().map(|it| &it["action"]).collect();
    assert_eq!(
        actions,
        [
            "export-user",
            "print-reset-link",
            "add-member",
            "create-user"
        ]
    );
    let secret = reset["url"].as_str().and_then(|url| url.rsplit('/').next());
    assert!(!said.output.contains(secret.expect("a secret")));
    assert!(!said.output.contains("bo@example.com"), "{}", said.output);
    assert_eq!(told(&place)[0]["action"], "export-user");
}

#[test]
fn links_that_are_printed_are_told_of_and_never_the_link() {
    let place = Place::with_database();
    let origin = ["--origin", "https://invoices.example"];
    let setup = place.json(&[&["setup-link"], &origin[..]].concat());
    place.make(&["user", "create", "--name", "Ada", "--email", ADA]);
    let reset = place.json(&[&["user", "reset-link", ADA], &origin[..]].concat());
    let events = told(&place);
    let actions: Vec<_> = events.iter().map(|it| &it["action"]).collect();
    assert_eq!(
        actions,
        ["print-reset-link", "create-user", "print-set-up-link"]
    );
    for url in [setup, reset] {
        let secret = url["url"].as_str().and_then(|url| url.rsplit('/').next());
        assert!(
            !json!(events)
                .to_string()
                .contains(secret.expect("a secret"))
        );
    }
}
