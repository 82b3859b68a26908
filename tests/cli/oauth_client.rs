//! Changing and deleting apps; `auth_code.rs` has their creation.

use serde_json::json;

use crate::place::{Place, names};

const NOBODY: &str = "nobody";

/// A place with an app.
fn place_with_app() -> Place {
    let place = Place::with_database();
    let create =
        "oauth-client create --id mobile --name App --redirect-uri com.a:/in https://a.example/in";
    place.json(&create.split(' ').collect::<Vec<_>>());
    place
}

#[test]
fn update_says_what_the_app_is_and_what_it_was() {
    let place = place_with_app();
    let update = ["oauth-client", "update", "mobile"];
    let name = place.json(&[&update[..], &["--name", "New"]].concat());
    let fields = [
        "id",
        "name",
        "redirectUris",
        "createdAt",
        "previousName",
        "previousRedirectUris",
    ];
    assert_eq!(names(&name), fields);
    assert_eq!(
        (&name["name"], &name["previousName"]),
        (&json!("New"), &json!("App"))
    );
    assert_eq!(name["redirectUris"], name["previousRedirectUris"]);
    let uris = [
        "--redirect-uri",
        "com.a:/back",
        "--redirect-uri",
        "com.a:/in",
    ];
    let uris = place.json(&[&update[..], &uris].concat());
    assert_eq!(uris["redirectUris"], json!(["com.a:/back", "com.a:/in"]));
    assert_eq!(
        uris["previousRedirectUris"],
        json!(["com.a:/in", "https://a.example/in"])
    );
    let shown = place.json(&["oauth-client", "show", "mobile"]);
    assert_eq!(
        (&shown["name"], &shown["redirectUris"]),
        (&json!("New"), &uris["redirectUris"])
    );

    place.run(&update).failed(2, "--name");
    let refused = place.run(&[&update[..], &["--redirect-uri", "app:/in"]].concat());
    refused.failed(1, "in a scheme of the app's own that has a dot");
    let unknown = ["oauth-client", "update", NOBODY, "--name", "New"];
    place
        .run(&unknown)
        .failed(1, "`invoicing oauth-client list`");
}

#[test]
fn delete_says_what_the_app_was_and_its_id_is_free() {
    let place = place_with_app();
    let app = place.json(&["oauth-client", "show", "mobile"]);
    let mut deleted = place.json(&["oauth-client", "delete", "mobile"]);
    assert_eq!(
        names(&deleted),
        ["id", "name", "redirectUris", "createdAt", "endedSessions"]
    );
    deleted.as_object_mut().unwrap().remove("endedSessions");
    assert_eq!(deleted, app);
    assert_eq!(place.json(&["oauth-client", "list"]), json!([]));
    let again = place.run(&["oauth-client", "delete", "mobile"]);
    again.failed(1, "`invoicing oauth-client list`");
    let create = "oauth-client create --id mobile --name App --redirect-uri com.a:/in";
    place.json(&create.split(' ').collect::<Vec<_>>());
    let told = place.json(&["audit", "list"]);
    let told: Vec<_> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["action"])
        .collect();
    assert_eq!(
        told,
        [
            "create-oauth-client",
            "delete-oauth-client",
            "create-oauth-client"
        ]
    );
}
