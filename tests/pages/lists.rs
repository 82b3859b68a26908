//! Lists that are longer than a page (docs/decisions.md, W31).

use std::collections::BTreeSet;

use test_support::service::Service;

use crate::browser::{Browser, server};
use crate::devices::app;
use crate::team::{change, signed_in, team};
use crate::weight::MOST;

/// This many of each, besides those of the test itself: more than two pages.
const CROWD: usize = 110;

/// Expressions that the engines spell differently: a random id, and 32 random bytes.
fn random(service: &Service) -> [&'static str; 2] {
    let database = service.own_database().expect("an own server");
    match database.starts_with("sqlite:") {
        true => ["randomblob(16)", "randomblob(32)"],
        false => [
            "gen_random_uuid()",
            "sha256(gen_random_uuid()::text::bytea)",
        ],
    }
}

/// Copies the only row of a table, each time with other values.
fn copies(table: &str, set: impl Fn(usize) -> String) -> String {
    let copy = |number| {
        let set = set(number);
        format!(
            "CREATE TEMP TABLE crowd AS SELECT * FROM {table} ORDER BY created_at LIMIT 1; UPDATE crowd SET {set}; \
             INSERT INTO {table} SELECT * FROM crowd; DROP TABLE crowd;"
        )
    };
    (0..CROWD).map(copy).collect()
}

/// A team with a crowd of members, whose owner is in a crowd of teams, browsers and apps.
fn gather(service: &Service) {
    let [id, digest] = random(service);
    let user = |number| {
        format!(
            "id = {id}, email = 'someone-{number}@crowd.example', name = 'Someone In A Crowd {number}'"
        )
    };
    let of_crowd =
        "INSERT INTO member (team_id, user_id, role, created_at) SELECT team.id, \"user\".id";
    change(
        service,
        &[
            copies("\"user\"", user),
            format!(
                "{of_crowd}, 'viewer', 1 FROM team, \"user\" WHERE email LIKE '%@crowd.example';"
            ),
            copies("team", |number| {
                format!("id = {id}, name = 'Crowd {number}'")
            }),
            format!(
                "{of_crowd}, 'owner', 1 FROM team, \"user\" \
                 WHERE team.name LIKE 'Crowd %' AND email = 'owner@example.com';"
            ),
            copies("browser_session", |_| {
                format!("id = {id}, digest = {digest}")
            }),
            copies("session", |_| format!("id = {id}")),
            // Every second one has ended.
            copies("api_key", |number| {
                let end = if number % 2 == 0 { "1" } else { "NULL" };
                format!("id = {id}, digest = {digest}, name = 'A key of a crowd {number}', revoked_at = {end}")
            }),
        ]
        .concat(),
    );
}

/// The ids that follow `mark` on the pages of a list, starting at `path`.
async fn walk(browser: &mut Browser<'_>, path: &str, label: &str, mark: &str) -> Vec<String> {
    let mut loaded = 0;
    for asset in ["style.css", "page.js", "icon.svg"] {
        loaded += browser.get(&format!("/assets/{asset}")).await.0.body.len();
    }
    let (mut found, mut next) = (Vec::new(), Some(path.to_owned()));
    let mut pages = 0;
    while let Some(path) = next {
        let page = browser.get(&path).await;
        assert_eq!(page.status(), 200, "{path}");
        let bytes = page.0.body.len() + loaded;
        assert!(bytes < MOST, "{path}: {bytes} bytes");
        let text = page.text();
        let ids = text.split(mark).skip(1);
        found.extend(ids.filter_map(|rest| rest.get(..36)).map(str::to_owned));
        let pager = text.split_once(&format!("aria-label=\"{label}\""));
        let (_, pager) = pager.unwrap_or_else(|| panic!("{path}: no {label}"));
        let (pager, _) = pager.split_once("</nav>").expect("an end");
        pages += 1;
        // The first page has no link to itself.
        assert_eq!(
            pager.contains(">First<") || pager.contains(">Newest<"),
            pages > 1
        );
        let link = pager.split_once("\" rel=\"next\"").map(|(link, _)| link);
        next = link.and_then(|link| Some(link.rsplit_once("href=\"")?.1.to_owned()));
    }
    assert!(pages > 2, "{pages}");
    found
}

#[tokio::test]
async fn a_long_list_is_shown_in_pages_that_leave_nobody_out() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut owner = signed_in(&service, &team, "owner").await;
    app(&service, "owner@example.com", "one").await;
    let key = ["--team", &team, "--mode", "test", "--scope", "read-only"];
    service
        .command(&[&["api-key", "create"][..], &key].concat())
        .unwrap();
    gather(&service);
    let members = format!("/teams/{team}/settings/members");
    let keys = format!("/teams/{team}/settings/integrations/api-keys");
    let key = "<th scope=\"row\">A key of ";
    let browsers = "end-browser-session\">\n      <input type=\"hidden\" name=\"id\" value=\"";
    let apps = "end-session\">\n      <input type=\"hidden\" name=\"id\" value=\"";
    let left = "/account/leave\">\n      <input type=\"hidden\" name=\"id\" value=\"";
    for (path, label, mark, own) in [
        (members.as_str(), "Pages of members", "/remove?id=", 1),
        ("/", "Pages", "<p><a href=\"/teams/", 1),
        ("/account", "Pages of teams", left, 1),
        // This browser is not offered for signing out.
        (&keys, "Pages of keys", key, 0),
        ("/account/devices", "Pages of browsers", browsers, 0),
        ("/account/devices", "Pages of apps", apps, 1),
    ] {
        let found = walk(&mut owner, path, label, mark).await;
        let all: BTreeSet<_> = found.iter().collect();
        let counts = (found.len(), all.len());
        assert_eq!(counts, (CROWD + own, CROWD + own), "{path}, {label}");
    }
}
