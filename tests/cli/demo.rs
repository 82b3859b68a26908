//! `invoicing demo`: the printed requests, run as they are.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::place::{Place, names};
use crate::server::Server;

/// Precedes the printed requests, and makes each `curl` print only its status.
const STATUSES: &str = "set -o pipefail\ncurl() { command curl --silent --show-error --output /dev/null --write-out '%{http_code}\\n' \"$@\"; }\n";

/// A running demo, and its output.
pub struct Demo {
    pub server: Server,
    scenario: String,
}

impl Demo {
    fn start(place: &Place) -> Self {
        Self::start_with(place, &[])
    }

    pub fn start_with(place: &Place, options: &[&str]) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = place.command([&["demo", "--listen", "127.0.0.1:0"], options].concat());
        let server = Server::start(command.stdout(writer));
        let mut scenario = String::new();
        for line in BufReader::new(reader).lines() {
            let line = line.unwrap();
            scenario = scenario + &line + "\n";
            if line.starts_with("# The whole interface:") {
                break;
            }
        }
        Self { server, scenario }
    }

    /// The word after this one in the scenario.
    pub fn word_after(&self, word: &str) -> &str {
        let mut words = self.scenario.split_whitespace();
        words.find(|other| *other == word).expect(word);
        words.next().unwrap()
    }
}

/// The statuses of the answers, in order.
fn statuses(script: &str) -> Vec<String> {
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("{STATUSES}{script}")])
        .stdin(Stdio::null());
    let output = bash.output().unwrap();
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = String::from_utf8(output.stdout).unwrap();
    output
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_printed_requests_work_when_they_are_pasted_in_order() {
    let place = Place::new();
    let mut demo = Demo::start(&place);
    let expected = [
        "200", "201", "200", "204", "200", "400", "403", "200", "200", "200", "200",
    ];
    assert_eq!(statuses(&demo.scenario), expected, "{}", demo.scenario);

    let titles = demo
        .scenario
        .lines()
        .filter(|line| line.starts_with("# ") && line.contains(". "));
    let numbered = titles
        .filter(|line| line[2..].starts_with(|c: char| c.is_ascii_digit()))
        .count();
    assert_eq!(numbered, expected.len(), "every request has a title");

    demo.server.signal("INT");
    assert_eq!(demo.server.wait().code(), Some(0));
}

#[test]
fn the_demo_says_where_to_sign_in_and_as_whom() {
    let place = Place::new();
    let demo = Demo::start_with(&place, &["--fixed"]);
    let line = demo.scenario.lines().find(|line| line.contains("/sign-in"));
    let line = line.expect("it says where");
    let (_, rest) = line.split_once(": ").expect("a colon");
    let (url, whom) = rest.split_once(", as ").expect("as whom");
    assert!(url.starts_with("http://localhost:"), "{line}");
    let (email, password) = whom.split_once(" with the password ").expect("a password");
    let script = format!(
        "curl -s -o /dev/null -w '%{{http_code}} %{{redirect_url}}' -H 'Sec-Fetch-Site: same-origin' \
         -d 'email={email}' --data-urlencode 'password={password}' {}",
        url.replace("localhost", "127.0.0.1")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(
        output.starts_with("303 ") && output.ends_with('/'),
        "{output}"
    );
}

#[test]
fn every_request_stands_alone() {
    let place = Place::new();
    let demo = Demo::start(&place);
    let requests = demo
        .scenario
        .split("\n\n")
        .filter(|block| block.contains("curl "));
    for request in requests {
        let statuses = statuses(request);
        assert_eq!(statuses.len(), 1, "{request}");
        assert!(
            ["200", "201", "204", "400", "403"].contains(&&*statuses[0]),
            "{statuses:?}: {request}"
        );
    }
}

#[test]
fn the_devices_of_the_demo_are_listed_and_signed_out() {
    let place = Place::new();
    let demo = Demo::start(&place);
    let (database, user) = (demo.word_after("--database"), demo.word_after("--user"));
    let list = || place.json(&["session", "list", "--user", user, "--database", database]);
    let fields = [
        "id",
        "userId",
        "clientId",
        "installId",
        "userAgent",
        "createdAt",
        "lastUsedAt",
        "expiresAt",
    ];
    assert_eq!(names(&list()[0]), fields);
    assert_eq!(
        (&list()[0]["installId"], &list()[0]["userId"]),
        (&json!("demo-phone"), &json!(user))
    );

    let links = demo
        .scenario
        .split("\n\n")
        .find(|block| block.contains("/links"))
        .unwrap();
    assert_eq!(statuses(links), ["200"]);
    let session = list()[0]["id"].as_str().unwrap().to_owned();
    place.json(&["session", "revoke", &session, "--database", database]);
    assert_eq!(statuses(links), ["401"]);
    assert_eq!(list(), json!([]));
}

#[test]
fn all_devices_of_a_user_or_an_app_are_signed_out_and_the_app_is_deleted() {
    for (which, what) in [
        (
            "user",
            json!({ "endedSessions": 1, "endedBrowserSessions": 0 }),
        ),
        ("client", json!({ "endedSessions": 1 })),
        ("delete", json!({ "endedSessions": 1 })),
    ] {
        let place = Place::new();
        let demo = Demo::start(&place);
        let (database, user) = (demo.word_after("--database"), demo.word_after("--user"));
        let json =
            |arguments: &[&str]| place.json(&[arguments, &["--database", database]].concat());
        let links = demo
            .scenario
            .split("\n\n")
            .find(|block| block.contains("/links"));
        assert_eq!(statuses(links.unwrap()), ["200"]);
        let client = json(&["session", "list"])[0]["clientId"].clone();
        let client = client.as_str().unwrap();
        let mut ended = match which {
            "user" => json(&["session", "revoke", "--user", user]),
            "client" => json(&["session", "revoke", "--client", client]),
            _ => json(&["oauth-client", "delete", client]),
        };
        let id = if which == "user" { user } else { client };
        assert_eq!(ended["id"], id);
        let members = ended.as_object_mut().unwrap();
        members.retain(|name, _| name.starts_with("ended"));
        assert_eq!(ended, what, "{which}");
        assert_eq!(statuses(links.unwrap()), ["401"], "{which}");
        assert_eq!(json(&["session", "list"]), json!([]));
    }
}

#[test]
fn nothing_is_left_behind() {
    for signal in ["INT", "TERM", "HUP"] {
        let place = Place::new();
        let mut demo = Demo::start(&place);
        let database = demo
            .word_after("--database")
            .strip_prefix("sqlite:")
            .unwrap()
            .to_owned();
        let folder = std::path::Path::new(&database).parent().unwrap();
        assert!(folder.join("invoicing.db").exists());
        demo.server.signal(signal);
        assert_eq!(demo.server.wait().code(), Some(0), "{signal}");
        assert!(!folder.exists(), "{signal}");
        assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0);
    }
}

#[test]
fn a_database_or_a_taken_port_is_refused() {
    let place = Place::new();
    place
        .run(&["demo", "--database", "sqlite:mine.db"])
        .failed(2, "a database of its own");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place
        .run(&["demo", "--listen", &address])
        .failed(1, "cannot listen on");
}

#[test]
fn the_requests_come_whole_and_behind_the_log_of_the_start() {
    for format in ["json", "terminal"] {
        let place = Place::new();
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command =
            place.command(["demo", "--listen", "127.0.0.1:0", "--log-format", format]);
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let process = command.spawn().unwrap();
        // No process of ours keeps the pipe open.
        drop(command);
        let _server = Server::of(process);
        let mut lines = Vec::new();
        for line in BufReader::new(reader).lines() {
            lines.push(line.unwrap());
            if lines.last().unwrap().starts_with("# The whole interface:") {
                break;
            }
        }
        let first = lines
            .iter()
            .position(|line| line.starts_with("# "))
            .unwrap();
        let (log, scenario) = lines.split_at(first);
        assert!(
            log.iter().any(|line| line.contains("listening")),
            "{lines:#?}"
        );
        assert!(
            !scenario
                .iter()
                .any(|line| line.contains("listening") || line.contains("INFO"))
        );
        assert!(scenario.len() > 30, "{scenario:#?}");
    }
}
