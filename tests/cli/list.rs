//! `list` and `show` of every noun, and the names of teams and users that work in place of an id.

use serde_json::{Value, json};

use crate::place::{Place, names};

/// A team, a user in it, an app, a folder, a file, a link and a key, each as the command's output.
struct Things {
    team: Value,
    user: Value,
    client: Value,
    folder: Value,
    file: Value,
    link: Value,
    key: Value,
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn id(thing: &Value) -> &str {
    thing["id"].as_str().unwrap()
}

fn things(place: &Place) -> Things {
    let json = |line: &str| place.json(&words(line));
    let team = json("team create --name Acme");
    let user = json("user create --email ada@example.com --name Ada");
    json("member add --team Acme --user ADA@example.com --role owner");
    let folder = json("folder create --team Acme --name Offers");
    let file = json(&format!(
        "file create --team Acme --name offer.pdf --folder {}",
        id(&folder)
    ));
    let link = json(&format!(
        "link create --user ada@example.com --file {}",
        id(&file)
    ));
    Things {
        client: json("oauth-client create --id mobile --name App --redirect-uri com.b:/ com.a:/"),
        key: json("api-key create --team Acme --mode live --scope read-only"),
        team,
        user,
        folder,
        file,
        link,
    }
}

#[test]
fn every_noun_is_listed_and_shown_as_it_was_made() {
    let place = Place::new();
    let things = things(&place);
    let mut client = things.client.clone();
    client["redirectUris"] = json!(["com.a:/", "com.b:/"]);
    for (list, show, thing) in [
        ("team list", "team show Acme", &things.team),
        ("user list", "user show Ada@example.com", &things.user),
        ("oauth-client list", "oauth-client show mobile", &client),
        ("folder list --team Acme", "folder show", &things.folder),
        ("file list --team Acme", "file show", &things.file),
        ("link list --team Acme", "link show", &things.link),
    ] {
        assert_eq!(place.json(&words(list)), json!([thing]), "{list}");
        let mut show = words(show);
        if show.len() == 2 {
            show.push(id(thing));
        }
        assert_eq!(&place.json(&show), thing, "{show:?}");
    }
    for list in ["api-key list", "api-key list --team Acme"] {
        let keys = place.json(&words(list));
        assert_eq!(keys[0]["id"], things.key["id"]);
        assert_eq!(keys[0], place.json(&["api-key", "show", id(&things.key)]));
        assert!(keys[0]["key"].is_null(), "{keys}");
    }
    assert_eq!(place.json(&["session", "list"]), json!([]));
}

#[test]
fn the_audit_is_listed_newest_first_of_a_team_or_of_all() {
    let place = Place::new();
    let things = things(&place);
    let all = place.json(&words("audit list"));
    let fields = [
        "id",
        "teamId",
        "action",
        "userId",
        "subject",
        "detail",
        "clientAddress",
        "userAgent",
        "createdAt",
    ];
    assert_eq!(names(&all[0]), fields);
    let of_team = place.json(&words("audit list --team Acme"));
    let told: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["action"])
        .collect();
    let done = [
        "create-api-key",
        "create-oauth-client",
        "create-link",
        "create-file",
        "create-folder",
        "add-member",
        "create-user",
        "create-team",
    ];
    assert_eq!(told, done);
    // Neither an app nor a user is created in a team.
    let in_team = |it: &&Value| !it["teamId"].is_null();
    let in_team: Vec<_> = all.as_array().unwrap().iter().filter(in_team).collect();
    assert_eq!(of_team, json!(in_team));
    assert_eq!(in_team.len(), 6);
    for (event, thing) in [
        (0, &things.key),
        (2, &things.link),
        (3, &things.file),
        (4, &things.folder),
    ] {
        assert_eq!(all[event]["subject"], thing["id"], "{event}");
    }
    assert_eq!(
        (&all[1]["subject"], &all[1]["detail"]),
        (&Value::Null, &things.client["id"])
    );
    assert_eq!(all[5]["detail"], "owner");
    let said = place.run(&words("audit list --limit 1"));
    let next = format!("--after {}", id(&all[0]));
    assert!(said.errors.contains(&next), "{}", said.errors);
    let rest = place.json(&words(&format!("audit list {next}")));
    assert_eq!(rest.as_array().unwrap()[..], all.as_array().unwrap()[1..]);
}

#[test]
fn members_are_listed_by_team_and_by_user_with_what_people_call_them() {
    let place = Place::new();
    let things = things(&place);
    let of_team = place.json(&words("member list --team Acme"));
    assert_eq!(of_team.as_array().unwrap().len(), 1);
    assert_eq!(names(&of_team[0])[..4], ["id", "teamId", "userId", "role"]);
    let called = ["teamName", "email", "name"].map(|name| of_team[0][name].clone());
    assert_eq!(json!(called), json!(["Acme", "ada@example.com", "Ada"]));
    assert_eq!(of_team[0]["userId"], things.user["id"]);
    let of_user = place.json(&words("member list --user ada@example.com"));
    assert_eq!(of_user, of_team);
    let shown = place.json(&words("member show --team Acme --user ada@example.com"));
    assert_eq!(shown, of_team[0]);
    place.run(&["member", "list"]).failed(2, "--team");
}

#[test]
fn what_is_not_there_fails_with_1_and_says_where_to_look() {
    let place = Place::new();
    place.make(&words("team create --name Acme"));
    let nobody = "0191e4a0-0000-7000-8000-000000000000";
    for (command, remedy) in [
        ("team show", "`invoicing team list`"),
        ("user show", "`invoicing user list`"),
        ("oauth-client show", "`invoicing oauth-client list`"),
        ("api-key show", "`invoicing api-key list`"),
        ("session show", "`invoicing session list`"),
        ("folder show", "`invoicing folder list`"),
        ("file show", "`invoicing file list`"),
        ("link show", "`invoicing link list`"),
        ("folder list --team", "`invoicing team list`"),
        ("member list --user", "`invoicing user list`"),
    ] {
        let mut command = words(command);
        command.push(nobody);
        place.run(&command).failed(1, remedy);
    }
    place
        .run(&words("user show bob@example.com"))
        .failed(1, "bob@example.com");
    place.run(&words("user show bob")).failed(2, "email");
}

#[test]
fn a_user_who_is_there_already_is_named_by_id() {
    let place = Place::new();
    place.make(&words("team create --name Acme"));
    let create = words("user create --name Ada --email ada@example.com");
    let user = place.make(&create);
    place.run(&create).failed(1, &user);
}

#[test]
fn a_name_that_two_teams_have_names_neither() {
    let place = Place::new();
    let create = words("team create --name Acme");
    let (one, two) = (place.make(&create), place.make(&create));
    let said = place.run(&words("folder list --team Acme"));
    said.failed(1, "more than one team is called \"Acme\"");
    assert!(said.errors.contains(&one) && said.errors.contains(&two));
    assert_eq!(place.json(&["folder", "list", "--team", &one]), json!([]));
}

#[test]
fn a_list_comes_in_parts_and_says_how_to_go_on() {
    let place = Place::new();
    let made = ["One", "Two", "Three"].map(|name| place.make(&["team", "create", "--name", name]));
    let said = place.run(&words("team list --limit 2"));
    assert_eq!(said.output.lines().count(), 3, "{}", said.output);
    let next = format!("--after {}", made[1]);
    assert!(said.errors.contains(&next), "{}", said.errors);
    let rest = place.run(&[&words("team list --limit 2")[..], &words(&next)].concat());
    assert!(rest.output.contains(&made[2]) && !rest.output.contains(&made[1]));
    assert_eq!(rest.errors, "");
    place
        .run(&words("team list --limit 0"))
        .failed(2, "1..=10000");
    let clients = |more: &str| place.json(&words(&format!("oauth-client list{more}")));
    for name in ["b", "a"] {
        place.json(&[
            "oauth-client",
            "create",
            "--id",
            name,
            "--name",
            "App",
            "--redirect-uri",
            "com.a:/",
        ]);
    }
    assert_eq!(clients("")[0]["id"], "a");
    assert_eq!(clients(" --after a")[0]["id"], "b");
}

#[test]
fn people_see_no_column_that_they_asked_by_and_times_to_the_second() {
    let place = Place::new();
    let things = things(&place);
    let list = |line: &str| place.run(&words(line)).output;
    let keys = list("api-key list --team Acme");
    assert!(
        !keys.contains("teamId") && keys.contains("createdAt"),
        "{keys}"
    );
    assert!(list("api-key list").contains(id(&things.team)));
    assert!(!list("link list --team Acme").contains("http"));
    let made = things.team["createdAt"].as_str().unwrap();
    let utc = format!("{}Z", &made[..19]);
    assert!(list("team list --utc").contains(&utc));
    assert!(list("team show Acme --utc").contains(&utc));
    let mut command = place.command(words("team show Acme"));
    let said = crate::place::Said::by(command.env("TZ", "UTC-3"), "").output;
    assert!(said.contains(" +03:00\n"), "{said}");
}
