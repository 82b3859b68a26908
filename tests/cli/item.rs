//! Folders and files.

use serde_json::{Value, json};

use crate::place::{Place, names};

#[test]
fn a_file_lies_in_a_folder_of_its_team_or_at_the_top() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let folder = place.json(&["folder", "create", "--team", &team, "--name", "Offers"]);
    assert_eq!(names(&folder), ["id", "teamId", "name", "createdAt"]);
    let folder = folder["id"].as_str().unwrap();

    let create = ["file", "create", "--team", &team, "--name", "offer.pdf"];
    let file = place.json(&create);
    assert_eq!(
        names(&file),
        ["id", "teamId", "name", "folderId", "createdAt"]
    );
    assert_eq!(file["folderId"], json!(null));
    let file = place.json(&[&create[..], &["--folder", folder]].concat());
    assert_eq!(file["folderId"], folder);

    let other = place.make(&["team", "create", "--name", "Other"]);
    let create = [
        "file",
        "create",
        "--team",
        &other,
        "--name",
        "offer.pdf",
        "--folder",
        folder,
    ];
    place.run(&create).failed(1, folder);
}

#[test]
fn an_item_is_renamed_and_deleted_with_what_belongs_to_it() {
    let place = Place::new();
    let json = |line: &str| place.json(&line.split(' ').collect::<Vec<_>>());
    json("team create --name Acme");
    json("user create --email ada@example.com --name Ada");
    json("member add --team Acme --user ada@example.com --role member");
    let id = |thing: &Value| thing["id"].as_str().unwrap().to_owned();
    let folder = id(&json("folder create --team Acme --name Offers"));
    let file = id(&json(&format!(
        "file create --team Acme --name a.pdf --folder {folder}"
    )));
    for item in [format!("--file {file}"), format!("--folder {folder}")] {
        json(&format!("link create --user ada@example.com {item}"));
    }

    let renamed = json(&format!("folder rename {folder} --name Contracts"));
    assert_eq!(
        names(&renamed),
        ["id", "teamId", "name", "createdAt", "previousName"]
    );
    assert_eq!(
        (&renamed["name"], &renamed["previousName"]),
        (&json!("Contracts"), &json!("Offers"))
    );
    let renamed = json(&format!("file rename {file} --name b.pdf"));
    assert_eq!(
        (&renamed["name"], &renamed["previousName"]),
        (&json!("b.pdf"), &json!("a.pdf"))
    );

    let refused = place.run(&["folder", "delete", &folder]);
    refused.failed(1, "has files; `--recursive` deletes them with it");
    let deleted = json(&format!("folder delete {folder} --recursive"));
    let fields = [
        "id",
        "teamId",
        "name",
        "createdAt",
        "deletedFiles",
        "revokedLinks",
    ];
    assert_eq!(names(&deleted), fields);
    assert_eq!(
        (&deleted["deletedFiles"], &deleted["revokedLinks"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(json("link list --team Acme"), json!([]));

    let file = id(&json("file create --team Acme --name c.pdf"));
    let deleted = json(&format!("file delete {file}"));
    let fields = [
        "id",
        "teamId",
        "name",
        "folderId",
        "createdAt",
        "revokedLinks",
    ];
    assert_eq!(names(&deleted), fields);
    for (noun, id) in [("folder", &folder), ("file", &file)] {
        let list = format!("`invoicing {noun} list`");
        place.run(&[noun, "delete", id]).failed(1, &list);
        place
            .run(&[noun, "rename", id, "--name", "A"])
            .failed(1, &list);
    }
}
