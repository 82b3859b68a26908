//! Typed text and link parameters stay text on every page: no markup, no header, no way to another site.
//!
//! 1. [`CORPUS`] is put into everything that is stored and shown, and every page is checked.
//! 2. It is sent in every parameter of every page, and in every field of every form. Their names are read from the
//!    sources of the pages, so that none is forgotten here.
//! 3. [`ELSEWHERE`] is sent in each of them as well, and nothing leads there.
//!
//! Forms that need a valid link are in `markup.rs`, the consent page of apps in `authorize/markup.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use form_urlencoded::Serializer;
use invoicing::domain::product_csv;
use test_support::service::Service;

use crate::browser::{Browser, ORIGIN, Shown, form, server, server_with};
use crate::matrix::ROWS;
use crate::products::add;
use crate::team::{PASSWORD, add_member, person};

pub const ADA: &str = "ada@example.com";

/// Texts that would be an element or an attribute if they were not escaped.
pub const CORPUS: [&str; 10] = [
    "/\"><xss>",
    "<xss onload=x>",
    "</title></textarea></script><xss>",
    "--><xss>",
    "\" xss=\"1",
    "' xss='1",
    "\"><xss a=\"",
    "&lt;xss&gt;&#34; xss=&#34;",
    "javascript:xss()",
    "{{ 7 * 7 }}<xss/>${7*7}",
];

/// All of that at once.
pub const POLYGLOT: &str =
    "javascript:xss()//--></title></textarea></script>'><xss a=' xss='1\"><xss a=\" xss=\"1{{7*7}}";

/// Places to which none of our pages may lead, as browsers read them.
pub const ELSEWHERE: [&str; 8] = [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "/\t/evil.example/",
    "/%2f/evil.example/../../\\evil.example",
    "javascript:xss()",
    "/a\r\nset-cookie: xss=1\r\n\r\n<xss>",
];

/// Fails if any of it has become markup, a header, or a way to another site.
#[track_caller]
pub fn is_harmless(case: &str, shown: &Shown) {
    for (name, value) in &shown.0.headers {
        assert!(
            name != "xss" && !value.contains("xss=1"),
            "{case}: {shown:?}"
        );
        let stays = || is_own(value) || value.starts_with(&format!("{ORIGIN}/"));
        assert!(name != "location" || stays(), "{case}: {shown:?}");
    }
    let kind = shown.0.header("content-type").unwrap_or_default();
    if !kind.starts_with("text/html") {
        return;
    }
    let text = shown.text();
    for markup in [
        "<xss",
        "\" xss=",
        "' xss=",
        "--><",
        "</title></",
        "formaction=",
        "http-equiv=",
    ] {
        assert!(!text.contains(markup), "{case}: {markup} is in {text}");
    }
    for attribute in [" href=\"", " action=\"", " src=\""] {
        for rest in text.split(attribute).skip(1) {
            let address = rest.split('"').next().unwrap_or_default();
            assert!(is_own(address), "{case}: {address} is in {text}");
        }
    }
}

/// Whether a browser stays on this server when it follows the address.
fn is_own(address: &str) -> bool {
    let path = address.strip_prefix('/').unwrap_or("/");
    let is_path = !path.starts_with(['/', '\\', '\t']);
    address.is_empty() || address.starts_with(['#', '?']) || is_path
}

#[test]
fn an_address_of_another_site_is_told_from_one_of_ours() {
    for own in ["/", "/a?b=//c", "#a", "?a"] {
        assert!(is_own(own), "{own}");
    }
    for other in ELSEWHERE.iter().take(5) {
        assert!(!is_own(other), "{other}");
    }
}

/// A server that sends mail, so that it has the forms that need it; the mail is never accepted.
pub fn mailing() -> Option<Service> {
    server_with(&[
        ("INVOICING_SMTP_URL", "smtp://127.0.0.1:1"),
        ("INVOICING_MAIL_FROM", "no-reply@example.com"),
    ])
}

/// Creates a team of that name, whose only owner is Ada. Returns its id.
pub fn team_of_ada(service: &Service, name: &str) -> String {
    // The name may begin like an option.
    let create = ["team", "create", &format!("--name={name}")];
    let team = service.command(&create).expect("an own server");
    let team = team["id"].as_str().expect("an id").to_owned();
    add_member(service, &team, ADA, "owner");
    team
}

pub async fn ada(service: &Service) -> Browser<'_> {
    let mut browser = Browser::new(service);
    browser.sign_in(ADA, PASSWORD).await;
    browser
}

#[tokio::test]
async fn what_is_stored_is_text_on_every_page() {
    let Some(service) = server() else { return };
    person(&service, ADA).await;
    for (number, value) in CORPUS.into_iter().enumerate() {
        let team = team_of_ada(&service, value);
        let mut browser = Browser::new(&service);
        let sign_in = form("/sign-in", &[("email", ADA), ("password", PASSWORD)]);
        let sign_in = sign_in.header("sec-fetch-site", "same-origin");
        browser.send(sign_in.header("user-agent", value)).await;
        let page = browser.submit("/account/name", &[("name", value)]).await;
        assert_eq!(page.status(), 200, "{value}: {page:?}");
        is_harmless(value, &page);
        let keys = format!("/teams/{team}/settings/integrations/api-keys");
        let key = [
            ("name", value),
            ("mode", "live"),
            ("scope", "read-only"),
            ("expires_in", ""),
        ];
        let page = browser.submit(&keys, &key).await;
        page.expect(200, "id=\"made\"");
        is_harmless(value, &page);
        let product = [("name", value), ("description", value), ("sku", value)];
        let new = format!("/teams/{team}/products/new");
        let list = add(&mut browser, &new, &product).await;
        is_harmless(value, &list);
        let text = list.text();
        let edit = text.split("/products/edit?").nth(1);
        let edit = edit.unwrap_or_else(|| panic!("{value}: no product in {text}"));
        let edit = edit.split('"').next().unwrap_or_default();
        let edit = edit.replace("&amp;", "&");
        let edit = format!("/teams/{team}/products/edit?{edit}");
        let shown = browser.get(&edit).await;
        assert_eq!(shown.status(), 200, "{value}: {shown:?}");
        is_harmless(value, &shown);
        let command = |words: &[&str]| service.command(words).expect("an own server");
        let name = format!("--name={value}");
        let file = command(&["file", "create", "--team", &team, &name]);
        let file = file["id"].as_str().expect("an id");
        command(&["link", "create", "--file", file, "--user", ADA, &name]);
        let members = format!("/teams/{team}/settings/members");
        // Some of these are not valid emails; those come back in the form.
        let email = format!("{}@example.com", value.replace([' ', '"', '(', ')'], ""));
        let invitation = [("email", email.as_str()), ("role", "viewer")];
        is_harmless(value, &browser.post(&members, &invitation).await);
        let app = format!("app-{number}");
        let uri = ["--redirect-uri", "com.example.app:/signed-in"];
        command(&[&["oauth-client", "create", "--id", &app, &name], &uri[..]].concat());
        let consent = format!(
            "/api/auth/mobile/authorize?response_type=code&client_id={app}&redirect_uri=com.example.app%3A%2Fsigned-in\
             &code_challenge={}&code_challenge_method=S256&state=s",
            test_support::service::CODE_CHALLENGE
        );
        let consent = browser.get(&consent).await;
        assert_eq!(consent.status(), 200, "{consent:?}");
        is_harmless(value, &consent);
        for row in ROWS.iter().filter(|it| it.method == "GET") {
            let path = row.path.replace("{team}", &team).replace("{token}", "x");
            is_harmless(&format!("{value} on {path}"), &browser.get(&path).await);
        }
    }
}

/// The names in the sources of the pages that follow `before`, up to `end`.
fn names(before: &str, end: char) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pages")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("it is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|it| it != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(path).expect("it is text");
            for rest in text.split(before).skip(1) {
                let list = rest.split(end).next().unwrap_or_default();
                let quoted = list.split('"').skip(1).step_by(2);
                names.extend(quoted.map(str::to_owned));
            }
        }
    }
    names
}

fn query<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[tokio::test]
async fn no_parameter_becomes_markup_a_header_or_a_way_elsewhere() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    let team = team_of_ada(&service, "Acme");
    let parameters = names("query(", ')');
    assert!(
        parameters.contains("next") && parameters.len() > 8,
        "{parameters:?}"
    );
    let mut signed_in = ada(&service).await;
    let together = CORPUS.into_iter().chain(ELSEWHERE);
    let together = together.map(|value| (value, parameters.iter().collect::<Vec<_>>()));
    let one_by_one = parameters.iter().map(|name| (POLYGLOT, vec![name]));
    let next = parameters.iter().filter(|it| *it == "next");
    let next = ELSEWHERE
        .into_iter()
        .zip(next.cycle())
        .map(|(value, name)| (value, vec![name]));
    for (value, names) in together.chain(one_by_one).chain(next) {
        for row in ROWS.iter().filter(|it| it.method == "GET") {
            let path = row.path.replace("{team}", &team).replace("{token}", "x");
            let pairs = names.iter().map(|name| (name.as_str(), value));
            let path = format!("{path}?{}", query(pairs));
            is_harmless(&path, &signed_in.get(&path).await);
            is_harmless(&path, &Browser::new(&service).get(&path).await);
        }
    }
}

#[tokio::test]
async fn no_field_of_a_form_becomes_markup_a_header_or_a_way_elsewhere() {
    let Some(service) = mailing() else { return };
    person(&service, ADA).await;
    let team = team_of_ada(&service, "Acme");
    let mut fields: BTreeSet<_> = names("fields(", ')')
        .union(&names("; 3] = [", ']'))
        .cloned()
        .collect();
    fields.extend(product_csv::names().map(str::to_owned));
    for known in ["email", "next", "once", "confirm_password", "sku"] {
        assert!(fields.contains(known), "{fields:?}");
    }
    let together = CORPUS
        .into_iter()
        .chain(ELSEWHERE)
        .map(|value| (value, None));
    let one_by_one = fields.iter().map(|name| (POLYGLOT, Some(name)));
    for (value, alone) in together.chain(one_by_one) {
        let mut signed_in = ada(&service).await;
        for row in ROWS.iter().filter(|it| it.method == "POST") {
            let path = row.path.replace("{team}", &team).replace("{token}", "x");
            let pairs = fields.iter().map(|name| match alone {
                Some(it) if it != name => (name.as_str(), good(name)),
                _ => (name.as_str(), value),
            });
            let pairs: Vec<_> = pairs.collect();
            let answer = signed_in.post(&path, &pairs).await;
            is_harmless(&format!("{value:?} in {alone:?} to {path}"), &answer);
        }
    }
    for value in ELSEWHERE {
        let fields = [("email", ADA), ("password", PASSWORD), ("next", value)];
        let done = Browser::new(&service).post("/sign-in", &fields).await;
        assert_eq!(done.status(), 303, "{done:?}");
        is_harmless(value, &done);
    }
}

/// A valid value for this field.
fn good(name: &str) -> &'static str {
    match name {
        "email" => "somebody@example.com",
        "role" => "viewer",
        "mode" => "test",
        "scope" => "read-only",
        "id" => "00000000-0000-0000-0000-000000000000",
        // The current one is wrong, so that Ada's password stays as it is.
        "password" | "confirm_password" => PASSWORD,
        _ => "Something",
    }
}
