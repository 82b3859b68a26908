//! Share links.

use serde_json::{Value, json};

use crate::place::{Place, Said, assert_time, names};

/// A place with a member of a team, and a file of that team.
fn place_with_file() -> (Place, String, String) {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let user = place.make(&[
        "user",
        "create",
        "--name",
        "Ada",
        "--email",
        "ada@example.com",
    ]);
    place.make(&[
        "member", "add", "--team", &team, "--user", &user, "--role", "member",
    ]);
    let file = place.make(&["file", "create", "--team", &team, "--name", "offer.pdf"]);
    (place, user, file)
}

#[test]
fn create_answers_the_share_link_of_the_interface() {
    let (place, user, file) = place_with_file();
    let create = ["link", "create", "--file", &file, "--user", &user];
    let link = place.json(&create);
    let fields = [
        "id",
        "url",
        "name",
        "itemType",
        "itemId",
        "audience",
        "permissions",
        "passwordProtected",
        "expiresAt",
        "status",
        "viewCount",
        "downloadCount",
        "lastViewedAt",
        "createdBy",
        "createdAt",
        "updatedAt",
    ];
    assert_eq!(names(&link), fields);
    assert_eq!(
        link["permissions"],
        json!({ "canView": true, "canDownload": true })
    );
    assert_eq!(
        link["createdBy"],
        json!({ "id": user, "displayName": "Ada" })
    );
    assert_eq!(
        (&link["audience"], &link["passwordProtected"]),
        (&json!("public"), &json!(false))
    );
    assert!(
        link["url"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:8080/"),
        "{}",
        link["url"]
    );
}

#[test]
fn create_takes_a_name_an_audience_an_expiry_and_another_public_url() {
    let (place, user, file) = place_with_file();
    let create = ["link", "create", "--file", &file, "--user", &user];
    let options = [
        "--name",
        "Auditor",
        "--audience",
        "team",
        "--no-download",
        "--expires-in",
        "7d",
        "--public-url",
        "https://invoices.example.com/",
    ];
    let link = place.json(&[&create[..], &options].concat());
    assert_eq!(
        (&link["name"], &link["audience"]),
        (&json!("Auditor"), &json!("team"))
    );
    assert_eq!(link["permissions"]["canDownload"], false);
    assert_time(&link["expiresAt"]);
    assert!(
        link["url"]
            .as_str()
            .unwrap()
            .starts_with("https://invoices.example.com/s/"),
        "{}",
        link["url"]
    );
}

#[test]
fn a_password_is_read_from_standard_input_and_never_printed() {
    let (place, user, file) = place_with_file();
    let create = [
        "link",
        "create",
        "--file",
        &file,
        "--user",
        &user,
        "--password-stdin",
        "--json",
    ];
    let said = Said::by(&mut place.command(create), "hunter2\n");
    let link: Value = serde_json::from_str(&said.output).unwrap();
    assert_eq!(link["passwordProtected"], true);
    assert!(
        !said.output.contains("hunter2") && !said.output.contains("argon2"),
        "{}",
        said.output
    );
    let database = std::fs::read(place.path("invoicing.db")).unwrap();
    assert!(!database.windows(7).any(|bytes| bytes == b"hunter2"));

    Said::by(&mut place.command(create), "").failed(1, "password is empty");
    Said::by(&mut place.command(create), "one\ntwo\n").failed(1, "more than one line");
}

#[test]
fn a_link_leads_to_a_file_or_a_folder_and_not_to_both_or_none() {
    let (place, user, file) = place_with_file();
    place
        .run(&["link", "create", "--user", &user])
        .failed(2, "--file");
    let both = [
        "link", "create", "--user", &user, "--file", &file, "--folder", &file,
    ];
    place.run(&both).failed(2, "cannot be used with");
    place
        .run(&["link", "create", "--user", &user, "--folder", &file])
        .failed(1, "no folder");
}

#[test]
fn only_a_member_shares() {
    let (place, _, file) = place_with_file();
    let bob = place.make(&[
        "user",
        "create",
        "--name",
        "Bob",
        "--email",
        "bob@example.com",
    ]);
    place
        .run(&["link", "create", "--user", &bob, "--file", &file])
        .failed(
            1,
            &format!(
                "user {bob} is not a member of the team of file {file}; `invoicing member add`"
            ),
        );
}

#[test]
fn a_link_is_revoked_by_its_id() {
    let (place, user, file) = place_with_file();
    let link = place.make(&["link", "create", "--file", &file, "--user", &user]);
    assert_eq!(
        place.json(&["link", "revoke", &link]),
        json!({ "id": link })
    );
    place
        .run(&["link", "revoke", &file])
        .failed(1, "no share link");
}

#[test]
fn links_are_listed_of_a_team_or_of_who_made_them() {
    let (place, user, file) = place_with_file();
    let link = place.json(&["link", "create", "--file", &file, "--user", &user]);
    let list = |of: &[&str]| place.run(&[&["link", "list", "--json"], of].concat());
    for of in [["--user", "ada@example.com"], ["--team", "Acme"]] {
        let listed: Value = serde_json::from_str(&list(&of).output).unwrap();
        assert_eq!(listed, json!([link]), "{of:?}");
    }
    list(&["--user", "bo@example.com"]).failed(1, "no user");
    list(&[]).failed(2, "--team");
    list(&["--team", "Acme", "--user", &user]).failed(2, "cannot be used with");
}
