use serde_json::json;

use crate::place::{Place, assert_time, names};

#[test]
fn create_answers_the_team() {
    let place = Place::with_database();
    let team = place.json(&["team", "create", "--name", " Acme "]);
    assert_eq!(names(&team), ["id", "name", "createdAt"]);
    assert_eq!(team["name"], "Acme");
    assert_time(&team["createdAt"]);
}

#[test]
fn list_answers_an_array_oldest_first() {
    let place = Place::with_database();
    assert_eq!(place.json(&["team", "list"]), json!([]));
    let one = place.json(&["team", "create", "--name", "One"]);
    let two = place.json(&["team", "create", "--name", "Two"]);
    assert_eq!(place.json(&["team", "list"]), json!([one, two]));
}

#[test]
fn people_get_aligned_text() {
    let place = Place::with_database();
    assert_eq!(place.run(&["team", "list"]).output, "(none)\n");
    let said = place.run(&["team", "create", "--name", "Acme"]);
    let (id, rest) = said.output.split_once('\n').unwrap();
    assert!(id.starts_with("id         "), "{id}");
    assert!(rest.starts_with("name       Acme\ncreatedAt  20"), "{rest}");
    let list = place.run(&["team", "list"]).output;
    assert!(list.starts_with("id  "), "{list}");
    assert_eq!(list.lines().count(), 2);
}

#[test]
fn a_name_that_is_refused_fails_with_1() {
    let place = Place::with_database();
    place
        .run(&["team", "create", "--name", "  ", "--json"])
        .failed(1, "error: the team name is empty");
}

#[test]
fn an_answer_that_nobody_can_read_fails_with_1() {
    let place = Place::with_database();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(["team", "create", "--name", "Acme"]);
    let status = command
        .stdout(writer)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_team_is_renamed_and_the_audit_says_so() {
    let place = Place::with_database();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let rename = |name| ["team", "rename", "Acme", "--name", name];
    place.run(&rename("")).failed(1, "empty");
    let renamed = place.json(&rename("Acme Ltd"));
    assert_eq!(
        (&renamed["id"], &renamed["name"]),
        (&json!(team), &json!("Acme Ltd"))
    );
    assert_eq!(place.json(&["team", "show", "Acme Ltd"]), renamed);
    place.run(&rename("Acme Ltd")).failed(1, "no team");
    let events = place.json(&["audit", "list", "--team", &team]);
    let actions: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["action"])
        .collect();
    assert_eq!(actions, ["rename-team", "create-team"]);
}

#[test]
fn a_team_is_deleted_when_it_is_named_again_and_its_audit_stays() {
    let place = Place::with_database();
    let team = place.json(&["team", "create", "--name", "Acme"]);
    let key = place.json(&[
        "api-key",
        "create",
        "--team",
        "Acme",
        "--mode",
        "live",
        "--scope",
        "read-write",
    ]);
    let id = team["id"].as_str().unwrap();
    let delete = |name, confirm| ["team", "delete", name, "--confirm", confirm];
    place
        .run(&["team", "delete", "Acme"])
        .failed(2, "--confirm");
    place.run(&delete("Acme", "Globex")).failed(1, "\"Acme\"");
    assert_eq!(place.json(&delete(id, "Acme")), team);
    assert_eq!(place.json(&["team", "list"]), json!([]));
    assert_eq!(place.json(&["api-key", "list"]), json!([]));
    place
        .run(&["api-key", "show", key["id"].as_str().unwrap()])
        .failed(1, "no API key");
    place.run(&delete(id, "Acme")).failed(1, "no team");
    let events = place.json(&["audit", "list", "--team", id]);
    let actions: Vec<_> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["action"])
        .collect();
    assert_eq!(actions, ["delete-team", "create-api-key", "create-team"]);
    // A team with the same name starts empty.
    let again = place.json(&["team", "create", "--name", "Acme"]);
    assert_eq!(place.json(&["team", "show", "Acme"]), again);
}
