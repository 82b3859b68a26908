//! `GET /api/mobile/items/{targetType}/{id}/links`

use serde_json::{Value, json};
use test_support::caller::Request;
use test_support::deployment::Skip;
use test_support::given;
use test_support::schema::Violation;
use test_support::service::Device;
use uuid::Uuid;

use crate::given::{Given, given};

fn links(device: &Device, target: &str) -> Request {
    let request = Request::new("GET", target).bearer(&device.access_token);
    request.header("x-team-id", &device.team_id)
}

impl Given {
    async fn links_of(&self, device: &Device) -> Vec<Value> {
        let answer = self
            .send(links(device, &device.links()))
            .await
            .expect_status(200);
        let page = answer.data();
        assert_eq!(
            (&page["hasMore"], &page["nextCursor"]),
            (&json!(false), &Value::Null)
        );
        page["data"].as_array().expect("a page has links").clone()
    }

    fn link(&self, device: &Device, options: &[&str]) -> Result<Value, Skip> {
        let create = [
            "link",
            "create",
            "--file",
            &device.file_id,
            "--user",
            &device.user_id,
        ];
        self.service.command(&[&create[..], options].concat())
    }
}

#[tokio::test]
async fn all_links_that_are_not_revoked_are_listed_newest_first_as_they_were_made() {
    let given = given!(given());
    let device = given!(given.device().await);
    let first = given!(given.link(&device, &[]));
    let second = given!(given.link(
        &device,
        &["--name", "Auditors", "--audience", "team", "--no-download"]
    ));
    let third = given!(given.link(&device, &["--expires-in", "7d"]));
    assert_eq!(
        given.links_of(&device).await,
        [third.clone(), second.clone(), first.clone()]
    );
    let id = second["id"].as_str().expect("a link has an id");
    given!(given.service.command(&["link", "revoke", id]));
    assert_eq!(given.links_of(&device).await, [third, first]);
}

#[tokio::test]
async fn a_link_shows_who_made_it_and_what_it_allows() {
    let given = given!(given());
    let device = given!(given.device().await);
    let options = ["--name", "Auditors", "--audience", "team", "--no-download"];
    given!(given.link(&device, &options));
    let link = given.links_of(&device).await.remove(0);
    assert_eq!(link["name"], "Auditors");
    assert_eq!(link["itemType"], "file");
    assert_eq!(link["itemId"], device.file_id.as_str());
    assert_eq!(link["audience"], "team");
    assert_eq!(
        link["permissions"],
        json!({ "canView": true, "canDownload": false })
    );
    assert_eq!(
        link["createdBy"],
        json!({ "id": device.user_id, "displayName": "Ada Byron" })
    );
    assert_eq!(
        (&link["viewCount"], &link["downloadCount"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(
        (&link["lastViewedAt"], &link["expiresAt"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&link["status"], &link["passwordProtected"]),
        (&json!("active"), &json!(false))
    );
}

#[tokio::test]
async fn a_missing_or_malformed_team_comes_before_membership_and_that_before_the_rest() {
    let given = given!(given());
    let device = given!(given.device().await);
    let nonsense = links(
        &device,
        "/api/mobile/items/nothing/nonsense/links?surprise=1",
    );
    let without = nonsense.clone().without_header("x-team-id");
    let answer = given
        .send(without.clone())
        .await
        .expect(400, "invalid_header");
    assert_eq!(
        answer.violations(),
        [Violation::new("X-Team-Id", "required")].into()
    );
    let malformed = without.clone().header("x-team-id", "one");
    let answer = given.send(malformed).await.expect(400, "invalid_header");
    assert_eq!(
        answer.violations(),
        [Violation::new("X-Team-Id", "format")].into()
    );
    let foreign = without.header("x-team-id", Uuid::new_v4().to_string());
    given.send(foreign).await.expect(403, "not_a_member");
    let answer = given.send(nonsense).await.expect(400, "invalid_path");
    let expected = [
        Violation::new("targetType", "enum"),
        Violation::new("id", "format"),
    ];
    assert_eq!(answer.violations(), expected.into());
}

#[tokio::test]
async fn any_role_may_list_links_and_a_removed_member_may_not() {
    let given = given!(given());
    let device = given!(given.device().await);
    let member = ["--team", &device.team_id, "--user", &device.user_id];
    for role in ["owner", "admin", "member", "viewer"] {
        given!(
            given
                .service
                .command(&[&["member", "remove"], &member[..]].concat())
        );
        let refused = given.send(links(&device, &device.links())).await;
        refused.expect(403, "not_a_member");
        given!(
            given
                .service
                .command(&[&["member", "add"], &member[..], &["--role", role]].concat())
        );
        given
            .send(links(&device, &device.links()))
            .await
            .expect_status(200);
    }
}

#[tokio::test]
async fn a_file_is_no_folder() {
    let given = given!(given());
    let device = given!(given.device().await);
    let target = device.links().replace("/file/", "/folder/");
    given
        .send(links(&device, &target))
        .await
        .expect(404, "item_not_found");
    let create = [
        "folder",
        "create",
        "--team",
        &device.team_id,
        "--name",
        "Plans",
    ];
    let folder = given!(given.service.command(&create));
    let id = folder["id"].as_str().expect("a folder has an id");
    let target = format!("/api/mobile/items/folder/{id}/links");
    given.send(links(&device, &target)).await.expect_status(200);
}
