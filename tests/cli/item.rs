//! Folders and files.

use serde_json::json;

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
