//! Every page and form, for every role: exactly those who may use it get it. The list is checked against the routes of
//! the server, so that no page can be forgotten here.

use std::collections::BTreeSet;

use crate::browser::{Browser, form, server};
use crate::team::{PASSWORD, age_sign_ins, person, signed_in, team};

/// The role that sends the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Nobody,
    Stranger,
    Viewer,
    Member,
    Admin,
    Owner,
}

use Who::{Admin, Member, Nobody, Owner, Stranger, Viewer};

const ALL: [Who; 6] = [Nobody, Stranger, Viewer, Member, Admin, Owner];
const SIGNED_IN: &[Who] = &[Stranger, Viewer, Member, Admin, Owner];
const MANAGERS: &[Who] = &[Admin, Owner];

/// A page or form, and which roles may use it: 200 for a page, 303 for a form; a form with an unknown id is 404 for
/// these roles.
pub struct Row {
    pub method: &'static str,
    pub path: &'static str,
    may: &'static [Who],
    done: u16,
    /// Whether a sign-in of an hour ago is too old.
    fresh: bool,
}

const fn row(method: &'static str, path: &'static str, may: &'static [Who], done: u16) -> Row {
    let fresh = false;
    Row {
        method,
        path,
        may,
        done,
        fresh,
    }
}

const KEYS: &str = "/teams/{team}/settings/integrations/api-keys";

const MEMBERS: &str = "/teams/{team}/settings/members";

const PRODUCTS: &str = "/teams/{team}/products";

const MEMBERS_ALL: &[Who] = &[Viewer, Member, Admin, Owner];

const WRITERS: &[Who] = &[Member, Admin, Owner];

pub const ROWS: [Row; 55] = [
    row("GET", PRODUCTS, MEMBERS_ALL, 200),
    row("GET", "/teams/{team}/products/export.csv", MEMBERS_ALL, 200),
    row("GET", "/teams/{team}/products/new", WRITERS, 200),
    row("POST", "/teams/{team}/products/new", WRITERS, 422),
    row("GET", "/teams/{team}/products/edit", WRITERS, 404),
    row("POST", "/teams/{team}/products/edit", WRITERS, 404),
    row("POST", "/teams/{team}/products/archive", WRITERS, 404),
    row("GET", "/teams/{team}/products/import", WRITERS, 200),
    row("POST", "/teams/{team}/products/import/plan", WRITERS, 404),
    row("GET", "/sign-in", &[Nobody], 200),
    row("POST", "/sign-in", &ALL, 422),
    row("GET", "/account/devices", SIGNED_IN, 200),
    row(
        "POST",
        "/account/devices/end-browser-session",
        SIGNED_IN,
        404,
    ),
    row("POST", "/account/devices/end-session", SIGNED_IN, 404),
    row(
        "POST",
        "/account/devices/end-other-sessions",
        SIGNED_IN,
        303,
    ),
    row("POST", "/account/devices/end-app-sessions", SIGNED_IN, 303),
    row("POST", "/sign-in/passkey", &ALL, 303),
    row("GET", "/account/passkeys", SIGNED_IN, 200),
    Row {
        fresh: true,
        ..row("POST", "/account/passkeys", SIGNED_IN, 422)
    },
    Row {
        fresh: true,
        ..row("POST", "/account/remove-passkey", SIGNED_IN, 404)
    },
    row("GET", KEYS, MANAGERS, 200),
    Row {
        fresh: true,
        ..row("POST", KEYS, MANAGERS, 303)
    },
    Row {
        fresh: true,
        ..row(
            "POST",
            "/teams/{team}/settings/integrations/api-keys/rotate",
            MANAGERS,
            404,
        )
    },
    Row {
        fresh: true,
        ..row(
            "POST",
            "/teams/{team}/settings/integrations/api-keys/revoke",
            MANAGERS,
            404,
        )
    },
    row(
        "GET",
        "/teams/{team}/links",
        &[Viewer, Member, Admin, Owner],
        200,
    ),
    Row {
        fresh: true,
        ..row("POST", "/teams/{team}/links/revoke", WRITERS, 404)
    },
    row("GET", "/teams/{team}/settings/audit", MANAGERS, 200),
    row("GET", "/teams/{team}/settings/audit.csv", MANAGERS, 200),
    row("GET", "/confirm", SIGNED_IN, 303),
    Row {
        fresh: true,
        ..row("POST", "/confirm", SIGNED_IN, 303)
    },
    // For no role, as there is no provider; with one, tests/pages/provider.
    row("GET", "/sign-in/provider", &[], 303),
    row("GET", "/sign-in/callback", &[], 400),
    row("GET", "/confirm/provider", &[], 303),
    row("GET", "/account/link", &[], 303),
    row("GET", "/invitation/{token}/provider", &[], 303),
    Row {
        fresh: true,
        ..row("POST", "/account/unlink", SIGNED_IN, 404)
    },
    row("GET", "/account", SIGNED_IN, 200),
    row("GET", "/account/export", SIGNED_IN, 200),
    row("GET", "/account/delete", SIGNED_IN, 200),
    row("POST", "/account/name", SIGNED_IN, 303),
    row("POST", "/account/password", SIGNED_IN, 422),
    Row {
        fresh: true,
        ..row("POST", "/account/leave", SIGNED_IN, 404)
    },
    row("GET", MEMBERS, MANAGERS, 200),
    Row {
        fresh: true,
        ..row("POST", MEMBERS, MANAGERS, 303)
    },
    row("POST", "/teams/{team}/settings/members/role", MANAGERS, 404),
    row(
        "GET",
        "/teams/{team}/settings/members/remove",
        MANAGERS,
        404,
    ),
    Row {
        fresh: true,
        ..row(
            "POST",
            "/teams/{team}/settings/members/remove",
            MANAGERS,
            404,
        )
    },
    Row {
        fresh: true,
        ..row(
            "POST",
            "/teams/{team}/settings/members/uninvite",
            MANAGERS,
            404,
        )
    },
    // Without mail, emails cannot be changed; mail.rs.
    Row {
        fresh: true,
        ..row("POST", "/account/email", SIGNED_IN, 404)
    },
    row("GET", "/account/email/{token}", &[], 200),
    row("POST", "/account/email/{token}", &[], 303),
    row("GET", "/reset", &ALL, 200),
    row("GET", "/invitation/{token}", &[], 200),
    row("GET", "/setup/{token}", &[], 200),
    row("GET", "/reset/{token}", &[], 200),
];

/// The routes that are not in the table, and why.
pub const ELSEWHERE: [(&str, &str); 18] = [
    ("GET", "/"), // leads to the products of the one team; products.rs
    ("POST", "/teams/{team}/products/import"), // takes a file; product_import.rs
    ("GET", "/teams/{team}/products/import/plan"), // for the user who made the plan; product_import.rs
    ("POST", "/sign-out"), // ends the session that the others need; sign_in.rs
    ("POST", "/setup/{token}"), // setup.rs
    ("POST", "/invitation/{token}"), // for the holder of the link; members.rs
    ("POST", "/account/delete"), // deletes the caller's account; account.rs
    ("POST", "/reset"),    // for every role, if mail is sent; mail.rs
    ("POST", "/reset/{token}"), // for the holder of the link; sign_in.rs
    ("GET", "/assets/style.css"), // headers.rs
    ("GET", "/assets/page.js"), // the same
    ("GET", "/assets/passkey.js"), // the same
    ("GET", "/assets/icon.svg"), // the same
    ("GET", "/docs"),      // tests/contract/docs.rs, like all below it
    ("POST", "/api/auth/mobile/revoke"), // tests/contract/revocation.rs
    ("POST", "/api/auth/mobile/authorize"), // authorize/
    ("GET", "/.well-known/oauth-authorization-server"), // the same
    ("GET", "/api/"),      // the documents: tests/documents; authorize/
];

const FIELDS: [(&str, &str); 6] = [
    ("id", "00000000-0000-0000-0000-000000000000"),
    ("name", "Web shop"),
    ("mode", "live"),
    ("scope", "read-only"),
    ("email", "nobody@example.com"),
    ("role", "admin"),
];

#[tokio::test]
async fn exactly_who_may_gets_what_a_page_is_for() {
    let Some(service) = server() else { return };
    let (ours, _theirs) = (team(&service, "Acme"), team(&service, "Other"));
    person(&service, "stranger@example.com").await;
    for role in ["viewer", "member", "admin", "owner"] {
        crate::team::member(&service, &ours, role).await;
    }
    for who in ALL {
        let email = format!("{who:?}@example.com").to_lowercase();
        for Row {
            method,
            path,
            may,
            done,
            fresh,
        } in &ROWS
        {
            let mut browser = Browser::new(&service);
            if who != Nobody {
                browser.sign_in(&email, PASSWORD).await;
            }
            let path = path.replace("{team}", &ours).replace("{token}", "x");
            let is_post = *method == "POST";
            let case = format!("{who:?} {method} {path}");
            if is_post {
                // Nothing happens unless the form comes from a page of ours.
                for from in [None, Some("cross-site"), Some("none")] {
                    let request = form(&path, &FIELDS);
                    let request = match from {
                        Some(from) => request.header("sec-fetch-site", from),
                        None => request,
                    };
                    assert_eq!(browser.send(request).await.status(), 403, "{case} {from:?}");
                }
            }
            if *fresh {
                age_sign_ins(&service);
                let stale = browser.post(&path, &FIELDS).await.status();
                assert!(!(200..300).contains(&stale), "{case}: {stale}");
                if may.contains(&who) {
                    assert_eq!(stale, 403, "{case}");
                }
                if who != Nobody {
                    browser.sign_in(&email, PASSWORD).await;
                }
            }
            let shown = match is_post {
                true => browser.post(&path, &FIELDS).await,
                false => browser.get(&path).await,
            };
            match may.contains(&who) {
                true => assert_eq!(shown.status(), *done, "{case}: {}", shown.text()),
                false => refused(who, &case, &shown),
            }
        }
    }
}

/// Asserts a refusal: without a sign-in, a redirect to the sign-in page; outside of the team, 404; for a member, that
/// the role is not enough.
fn refused(who: Who, case: &str, shown: &crate::browser::Shown) {
    match (who, shown.status()) {
        (_, 404) => {}
        (Nobody, 303) => assert!(shown.location().starts_with("/sign-in"), "{case}"),
        (Viewer | Member, 403) => {}
        // The sign-in page redirects users who are signed in.
        (_, 303) if case.ends_with("GET /sign-in") => assert_eq!(shown.location(), "/", "{case}"),
        (_, status) => panic!("{case}: {status}\n{}", shown.text()),
    }
}

#[test]
fn every_route_without_a_document_is_in_a_test() {
    let origin = crate::browser::ORIGIN.parse().expect("an origin");
    let api = invoicing::pages::api(Some(origin)).expect("no two are in each other's way");
    let listed: BTreeSet<_> = ROWS.iter().map(|it| (it.method, it.path)).collect();
    for (path, allow) in api.methods.unpublished() {
        for method in allow.split(", ").filter(|it| *it != "HEAD") {
            let elsewhere = ELSEWHERE.iter().any(|(it, begin)| {
                *it == method
                    && (path == *begin
                        || path.starts_with(&format!("{}/", begin.trim_end_matches('/'))))
            });
            assert!(
                elsewhere || listed.contains(&(method, path)),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn a_role_that_was_taken_away_counts_for_nothing_at_once() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "admin").await;
    let path = KEYS.replace("{team}", &team);
    browser.get(&path).await.expect(200, "API keys");
    let remove = [
        "member",
        "remove",
        "--team",
        &team,
        "--user",
        "admin@example.com",
    ];
    service.command(&remove).expect("an own server");
    browser.get(&path).await.expect(404, "no such page");
}

#[tokio::test]
async fn no_get_changes_a_row() {
    let Some(service) = server() else { return };
    let team = team(&service, "Acme");
    let mut browser = signed_in(&service, &team, "owner").await;
    let sum = || checksum(&service);
    let before = sum();
    for Row { method, path, .. } in &ROWS {
        if *method == "GET" {
            let path = path.replace("{team}", &team).replace("{token}", "x");
            browser.get(&path).await;
        }
    }
    assert_eq!(sum(), before);
}

/// Counts the rows that users' actions create, with their contents except for the minute of the last use.
fn checksum(service: &test_support::service::Service) -> String {
    let database = service.own_database().expect("an own server");
    let query = "SELECT (SELECT count(*) FROM email_change) || ' ' || (SELECT count(*) FROM mail_count) || ' ' || (SELECT count(*) FROM audit_event) || ' ' || (SELECT count(*) FROM one_time_link) || ' ' || \
         (SELECT count(*) FROM browser_session) || ' ' || (SELECT sum(signed_in_at) FROM browser_session) || ' ' || \
         (SELECT count(*) FROM api_key) || ' ' || (SELECT count(*) FROM member) || ' ' || (SELECT count(*) FROM invitation) || ' ' || \
         (SELECT count(*) FROM invitation) || ' ' || (SELECT count(*) FROM auth_code) || ' ' || \
         (SELECT count(*) FROM session) || ' ' || (SELECT count(*) FROM product_import) || ' ' || \
         (SELECT count(*) FROM product) || ' ' || (SELECT count(*) FROM idempotency) || ' ' || \
         (SELECT count(*) FROM wrong_password) || ' ' || (SELECT sum(changed_at) FROM password) || ' ' || \
         (SELECT count(*) FROM passkey) || ' ' || (SELECT count(*) FROM spent_challenge)";
    match database.strip_prefix("sqlite:") {
        Some(path) => {
            let file = rusqlite::Connection::open(path).expect("it is there");
            file.query_row(query, [], |row| row.get(0))
                .expect("one row")
        }
        None => test_support::postgres::ask(database, query),
    }
}
