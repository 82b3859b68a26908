//! `invoicing doctor`: each check finds what is good, worth a warning and bad, as each thing is really broken.

use std::fs::{File, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use test_support::mail::{MailServer, Manner};
use test_support::postgres::{Cluster, shared};
use test_support::redis::Redis;

use crate::place::{Place, Said};
use crate::server::Server;

/// What a doctor says: its exit code, and all findings.
fn examine(place: &Place, arguments: &[&str]) -> (i32, Vec<Value>) {
    by(&mut place.command([&["doctor", "--json"], arguments].concat()))
}

fn by(command: &mut Command) -> (i32, Vec<Value>) {
    let said = Said::by(command, "");
    let findings = serde_json::from_str(&said.output);
    let findings =
        findings.unwrap_or_else(|error| panic!("{error}: {} {}", said.output, said.errors));
    (said.code, findings)
}

/// The states of a check, and all that it says.
fn of(findings: &[Value], check: &str) -> (String, String) {
    let its: Vec<_> = findings.iter().filter(|it| it["check"] == check).collect();
    assert!(!its.is_empty(), "no {check} in {findings:#?}");
    let states: Vec<_> = its.iter().map(|it| it["state"].as_str().unwrap()).collect();
    for finding in &its {
        assert_eq!(
            finding["toDo"].is_null(),
            finding["state"] == "good",
            "{finding}"
        );
    }
    (states.join(" "), json!(its).to_string())
}

/// Asserts that a check comes to these states and says this; that what is bad, and nothing else, makes the exit code 1.
#[track_caller]
fn expect(place: &Place, arguments: &[&str], check: &str, states: &str, text: &str) {
    let (code, findings) = examine(place, arguments);
    let is_bad = findings.iter().any(|it| it["state"] == "bad");
    assert_eq!(code, i32::from(is_bad), "{findings:#?}");
    let (found, said) = of(&findings, check);
    assert_eq!(found, states, "{said}");
    assert!(said.contains(text), "{text:?} is not in {said}");
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A place with a database of the newest schema, and nobody in it.
fn founded() -> Place {
    let place = Place::with_database();
    place.run(&["team", "list"]);
    place
}

#[test]
fn a_server_as_it_should_be_is_good_all_through_and_nothing_changes() {
    let place = Place::new();
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let key = [
        "api-key",
        "create",
        "--team",
        &team,
        "--mode",
        "live",
        "--scope",
        "read-only",
    ];
    place.json(&key);
    place.make(&[
        "user",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
    ]);
    place.write(
        "invoicing.toml",
        "origin = \"https://invoices.example.com\"\ntrusted_proxies = [\"127.0.0.1\"]\nmax_concurrent_requests = 10\n",
    );
    mode(&place.path("invoicing.toml"), 0o640);
    let content = || {
        let names = place
            .path("")
            .read_dir()
            .unwrap()
            .map(|it| it.unwrap().path());
        let mut files: Vec<_> = names
            .map(|it| (it.clone(), std::fs::read(it).unwrap()))
            .collect();
        files.sort();
        files
    };
    let before = content();
    let (code, findings) = examine(&place, &["--config", "invoicing.toml"]);
    let not_good: Vec<_> = findings.iter().filter(|it| it["state"] != "good").collect();
    // The disk is that of whoever runs the test.
    let not_good: Vec<_> = not_good
        .into_iter()
        .filter(|it| it["check"] != "disk")
        .collect();
    assert!(not_good.is_empty(), "{not_good:#?}");
    assert_eq!(code, 0);
    assert!(content() == before, "a file has changed");

    let text = place.run(&["doctor", "--config", "invoicing.toml"]);
    assert_eq!((text.code, text.errors.as_str()), (0, ""));
    for finding in findings.iter().filter(|it| it["state"] == "good") {
        let found = finding["found"].as_str().unwrap();
        let line = |it: &str| it.starts_with("good  ") && it.ends_with(found);
        assert!(
            finding["check"] == "disk" || text.output.lines().any(line),
            "{}",
            text.output
        );
    }
}

#[test]
fn it_works_while_a_server_runs_and_says_what_to_do_in_lines_for_people() {
    let place = founded();
    let _server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
    expect(&place, &[], "database", "good", "takes changes");
    let said = place.run(&["doctor", "--origin", "http://a.example"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.errors, "error: 1 check is bad\n");
    let mut lines = said
        .output
        .lines()
        .skip_while(|line| !line.starts_with("bad   origin"));
    assert!(
        lines
            .next()
            .unwrap()
            .contains("nobody can sign in at http://a.example")
    );
    assert!(
        lines
            .next()
            .unwrap()
            .contains("to do: give an origin that begins with https://")
    );
}

#[test]
fn settings_that_contradict_each_other_or_are_none_are_found() {
    let place = founded();
    expect(&place, &[], "settings", "good", "of no file");
    let mut command = place.command(["doctor", "--json"]);
    let (code, findings) = by(command.env("INVOICING_DATABSE", "x"));
    let (state, said) = of(&findings, "settings");
    assert_eq!((code, state.as_str()), (0, "warn"), "{said}");
    assert!(said.contains("INVOICING_DATABSE is no setting"), "{said}");
    expect(
        &place,
        &["--tls-cert", "a.pem"],
        "settings",
        "bad",
        "go together",
    );
    place
        .run(&["doctor", "--log-level", "loud"])
        .failed(2, "loud");
}

#[test]
fn a_file_with_secrets_that_others_may_read_is_bad() {
    let place = founded();
    let config = ["--config", "invoicing.toml"];
    expect(&place, &[], "settings-file", "good", "none");
    place.write("invoicing.toml", "hsts = 0\n");
    mode(&place.path("invoicing.toml"), 0o644);
    expect(&place, &config, "settings-file", "good", "0644");
    place.write(
        "invoicing.toml",
        "redis = \"redis://:hunter2@127.0.0.1:1\"\n",
    );
    expect(&place, &config, "settings-file", "bad", "with redis");
    mode(&place.path("invoicing.toml"), 0o640);
    expect(&place, &config, "settings-file", "good", "0640");
    mode(&place.path("invoicing.toml"), 0o660);
    expect(&place, &config, "settings-file", "bad", "others may change");
}

#[test]
fn a_database_file_that_others_may_read_is_warned_about_and_one_that_they_may_write_is_bad() {
    let place = founded();
    let file = place.path("invoicing.db");
    mode(&file, 0o600);
    expect(&place, &[], "database-file", "good", "invoicing.db");
    mode(&file, 0o640);
    expect(&place, &[], "database-file", "warn", "chmod 0600");
    mode(&file, 0o666);
    expect(&place, &[], "database-file", "bad", "others may write");
    mode(&file, 0o600);
    mode(&place.path(""), 0o777);
    expect(
        &place,
        &[],
        "database-file",
        "bad",
        "everybody on this machine may put files",
    );
    mode(&place.path(""), 0o700);
}

#[test]
fn a_disk_without_room_or_that_is_not_there_is_bad() {
    let place = founded();
    // The kernel's own file system has room for nothing.
    expect(
        &place,
        &["--database", "sqlite:/sys/invoicing.db"],
        "disk",
        "bad",
        "/sys",
    );
    expect(
        &place,
        &["--database", "sqlite:none/x.db"],
        "disk",
        "bad",
        "cannot look at",
    );
}

#[test]
fn a_database_that_is_not_there_old_new_locked_damaged_or_no_database_is_told_apart() {
    let place = Place::new();
    expect(&place, &[], "database", "warn", "there is no database");
    assert!(!place.path("invoicing.db").exists());

    let place = founded();
    expect(&place, &[], "schema", "good", "version");
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let version: i64 = file
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    file.pragma_update(None, "user_version", version - 1)
        .unwrap();
    expect(
        &place,
        &[],
        "schema",
        "warn",
        "`invoicing serve` then brings it up to date",
    );
    file.pragma_update(None, "user_version", version + 1)
        .unwrap();
    expect(&place, &[], "database", "bad", "Use the newer program");
    file.pragma_update(None, "user_version", version).unwrap();

    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    expect(&place, &[], "database", "bad", "takes no changes");
    file.execute_batch("ROLLBACK").unwrap();
    drop(file);

    expect(&place, &[], "content", "good", "whole");
    let mut bytes = std::fs::read(place.path("invoicing.db")).unwrap();
    // Pages behind the first, which has the schema's beginning.
    let half = bytes.len() / 2;
    bytes[half..half + 40_960].fill(0x5a);
    place.write("invoicing.db", bytes);
    expect(&place, &[], "content", "bad", "damaged");

    place.write(
        "invoicing.db",
        "some text that is long enough to pass for the header of a file of SQLite",
    );
    expect(&place, &[], "database", "bad", "of another program");
}

#[test]
fn postgresql_that_is_well_small_or_away_is_told_apart_and_its_password_is_not_shown() {
    let place = Place::new();
    let url = shared().database();
    expect(&place, &["--database", &url], "database", "warn", "empty");
    place.run(&["team", "create", "--name", "Acme", "--database", &url]);
    let with = |pool: usize| format!("{url}?pool_size={pool}");
    expect(
        &place,
        &["--database", &with(4)],
        "database",
        "good",
        "takes changes",
    );
    expect(
        &place,
        &["--database", &with(4)],
        "connections",
        "good",
        "pool_size is 4",
    );
    expect(
        &place,
        &["--database", &with(4)],
        "clock",
        "good",
        "PostgreSQL",
    );

    let small = Cluster::start_with("-c max_connections=13 -c superuser_reserved_connections=3");
    let url = small.database();
    place.run(&[
        "team",
        "create",
        "--name",
        "Acme",
        "--database",
        &format!("{url}?pool_size=2"),
    ]);
    let with = |pool: usize| format!("{url}?pool_size={pool}");
    expect(
        &place,
        &["--database", &with(7)],
        "connections",
        "warn",
        "upgrade",
    );
    expect(
        &place,
        &["--database", &with(11)],
        "connections",
        "bad",
        "lower pool_size",
    );

    small.ask(
        "postgres",
        "ALTER SYSTEM SET default_transaction_read_only = on",
    );
    small.ask("postgres", "SELECT pg_reload_conf()");
    let end = Instant::now() + Duration::from_secs(60);
    while of(&examine(&place, &["--database", &with(2)]).1, "database").0 != "bad" {
        assert!(Instant::now() < end, "it is never read only");
    }

    let away = "postgres://ada:hunter2@127.0.0.1:1/invoicing";
    let said = place.run(&["doctor", "--database", away]);
    assert!(said.output.contains("bad   database") && said.output.contains("good  content"));
    assert!(!said.output.contains("hunter2"), "{}", said.output);
}

#[test]
fn a_file_from_times_to_come_and_a_provider_with_another_clock_show_a_clock_that_is_wrong() {
    let place = founded();
    expect(&place, &[], "clock", "good", "the database file");
    let ahead = |seconds| {
        let file = File::options()
            .append(true)
            .open(place.path("invoicing.db"))
            .unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(seconds))
            .unwrap();
    };
    ahead(60);
    expect(&place, &[], "clock", "warn", "59 seconds");
    ahead(600);
    expect(&place, &[], "clock", "bad", "599 seconds");
    let provider = Provider::start("Sun, 06 Nov 1994 08:49:37 GMT");
    expect(
        &place,
        &provider.settings(),
        "clock",
        "bad bad",
        "the OpenID provider",
    );
}

/// A certificate for this name that ends then.
fn write_certificate(place: &Place, name: &str, year: i32) {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    if year < 2026 {
        params.not_before = date_time_ymd(year - 1, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    place.write("cert.pem", params.self_signed(&key).unwrap().pem());
    place.write("key.pem", key.serialize_pem());
    mode(&place.path("key.pem"), 0o600);
}

#[test]
fn a_certificate_that_is_over_about_to_end_for_another_or_with_an_open_key_is_found() {
    let place = founded();
    let options = [
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
        "--origin",
        "https://invoices.example.com",
    ];
    expect(&place, &[], "tls", "good", "not set");
    expect(
        &place,
        &options,
        "tls",
        "bad",
        "cannot read certificates from cert.pem",
    );
    write_certificate(&place, "invoices.example.com", 2500);
    expect(&place, &options, "tls", "good", "days");
    mode(&place.path("key.pem"), 0o644);
    expect(&place, &options, "tls", "bad good", "others may read");
    write_certificate(&place, "other.example.com", 2500);
    expect(
        &place,
        &options,
        "tls",
        "good warn",
        "not for invoices.example.com",
    );
    write_certificate(&place, "invoices.example.com", 2001);
    expect(&place, &options, "tls", "bad", "has ended");
    let key = std::fs::read(place.path("key.pem")).unwrap();
    write_certificate(&place, "invoices.example.com", 2500);
    place.write("key.pem", key);
    expect(
        &place,
        &options,
        "tls",
        "bad",
        "cannot use cert.pem with key.pem",
    );
    let mut params = CertificateParams::new(["invoices.example.com".to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    params.not_after = (SystemTime::now() + Duration::from_secs(7 * 86_400)).into();
    place.write("cert.pem", params.self_signed(&key).unwrap().pem());
    place.write("key.pem", key.serialize_pem());
    mode(&place.path("key.pem"), 0o600);
    expect(&place, &options, "tls", "warn", "ends in 6 days");
}

#[test]
fn addresses_that_strangers_reach_origins_and_proxies_are_judged() {
    let place = founded();
    for (arguments, check, state, text) in [
        (&[][..], "listen", "good", "127.0.0.1:8080"),
        (&["--listen", "0.0.0.0:8080"], "listen", "warn", "in clear"),
        (
            &["--operations-listen", "127.0.0.1:9090"],
            "listen",
            "good",
            "",
        ),
        (
            &["--operations-listen", "0.0.0.0:9090"],
            "listen",
            "bad",
            "without a credential",
        ),
        (
            &["--origin", "https://a.example"],
            "origin",
            "good",
            "https://a.example",
        ),
        (
            &["--origin", "http://localhost:8080"],
            "origin",
            "warn",
            "this machine",
        ),
        (
            &["--public-url", "https://a.example/x"],
            "origin",
            "warn",
            "no pages",
        ),
        (
            &["--origin", "http://a.example"],
            "origin",
            "bad",
            "nobody can sign in",
        ),
        (&[], "proxies", "good", "none is needed"),
        (
            &["--trusted-proxies", "10.0.0.0/8"],
            "proxies",
            "good",
            "names them",
        ),
        (
            &["--origin", "https://a.example"],
            "proxies",
            "warn",
            "counts as one client",
        ),
        (
            &["--trusted-proxies", "0.0.0.0/0"],
            "proxies",
            "bad",
            "chooses an address",
        ),
    ] {
        expect(&place, arguments, check, state, text);
    }
}

#[test]
fn few_descriptors_are_warned_about_and_very_few_are_bad() {
    let place = founded();
    for (files, state) in [(10_000, "good"), (1_000, "warn"), (200, "bad")] {
        let doctor = place.command(["doctor", "--json"]);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")])
            .arg(doctor.get_program())
            .args(doctor.get_args())
            .current_dir(place.path(""))
            .stdin(Stdio::null());
        for (name, _) in doctor.get_envs() {
            limited.env_remove(name);
        }
        let (_, findings) = by(&mut limited);
        let (found, said) = of(&findings, "descriptors");
        assert_eq!(found, state, "{said}");
    }
}

#[test]
fn redis_that_answers_does_not_or_is_not_used_is_told_apart() {
    let place = founded();
    let mut redis = Redis::start();
    let url = redis.url();
    expect(&place, &["--redis", &url], "redis", "good", "answers");
    expect(
        &place,
        &["--redis", &url, "--rate-limit", "off"],
        "redis",
        "warn",
        "rate_limit is off",
    );
    redis.freeze();
    expect(
        &place,
        &["--redis", &url],
        "redis",
        "bad",
        "does not answer",
    );
    redis.kill();
    let with_password = url.replace("://", "://:hunter2@");
    let (_, findings) = examine(&place, &["--redis", &with_password]);
    assert_eq!(of(&findings, "redis").0, "bad");
    assert!(!json!(findings).to_string().contains("hunter2"));
}

#[test]
fn a_mail_server_that_lets_us_in_does_not_or_is_not_used_is_told_apart_and_gets_no_letter() {
    let place = founded();
    let server = MailServer::start(Manner::Takes);
    let url = server.url();
    let options = |origin| {
        [
            "--smtp-url",
            &url,
            "--mail-from",
            "a@b.example",
            "--origin",
            origin,
        ]
        .map(str::to_owned)
    };
    let with = |origin, state, text| {
        let options = options(origin);
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        expect(&place, &options, "mail", state, text);
    };
    with("https://a.example", "good", "nothing was sent");
    assert_eq!(server.attempts(), 1);
    with("http://a.example", "warn", "there are none");
    server.behave(Manner::Hangs);
    with("https://a.example", "bad", "");
    let nobody = [
        "--smtp-url",
        "smtp://127.0.0.1:1",
        "--mail-from",
        "a@b.example",
        "--origin",
        "https://a.example",
    ];
    expect(&place, &nobody, "mail", "bad", "cannot be used");
}

/// An OpenID provider that says who it is, and what time it is there.
struct Provider(String);

impl Provider {
    fn start(date: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let metadata = json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/a"), "token_endpoint": format!("{issuer}/t"),
            "jwks_uri": format!("{issuer}/keys"), "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"],
        });
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let mut lines = BufReader::new(client.try_clone().unwrap())
                    .lines()
                    .map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                lines.find(String::is_empty);
                let body = match first.contains("/keys") {
                    true => json!({ "keys": [] }).to_string(),
                    false => metadata.to_string(),
                };
                let head = format!(
                    "HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Type: application/json\r\n"
                );
                let length = format!(
                    "Content-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = client.write_all([head, length, body].concat().as_bytes());
            }
        });
        Self(issuer)
    }

    fn settings(&self) -> [&str; 8] {
        [
            "--oidc-issuer",
            &self.0,
            "--oidc-client-id",
            "x",
            "--oidc-client-secret",
            "hunter2",
            "--origin",
            "http://localhost:8080",
        ]
    }
}

#[test]
fn a_provider_that_says_who_it_is_or_does_not_is_told_apart_and_its_secret_is_not_shown() {
    let place = founded();
    expect(&place, &[], "provider", "good", "not set");
    let provider = Provider::start("Sun, 06 Nov 1994 08:49:37 GMT");
    expect(
        &place,
        &provider.settings(),
        "provider",
        "good",
        "says who it is",
    );
    let mut settings = provider.settings();
    let other = format!("{}/", provider.0);
    settings[1] = &other;
    expect(&place, &settings, "provider", "bad", "");
    settings[1] = "http://127.0.0.1:1";
    let (_, findings) = examine(&place, &settings);
    assert_eq!(of(&findings, "provider").0, "bad");
    assert!(!json!(findings).to_string().contains("hunter2"));
}

#[test]
fn nobody_to_use_it_and_passkeys_of_another_host_are_warned_about() {
    let place = founded();
    expect(&place, &[], "people", "warn", "setup-link");
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let key = [
        "api-key",
        "create",
        "--team",
        &team,
        "--mode",
        "live",
        "--scope",
        "read-only",
    ];
    place.json(&key);
    place.make(&[
        "user",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
    ]);
    expect(&place, &[], "people", "good", "there is a team");
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let insert = "INSERT INTO passkey SELECT id, id, 'Phone', 'old.example', zeroblob(16), 1, 0, x'', x'', 0, NULL FROM user";
    file.execute(insert, []).unwrap();
    drop(file);
    expect(
        &place,
        &["--origin", "https://new.example"],
        "passkeys",
        "warn",
        "1 were made at another host",
    );
    expect(
        &place,
        &["--origin", "https://old.example"],
        "passkeys",
        "good",
        "all of them",
    );
}

#[test]
fn a_check_that_gets_no_answer_is_given_up_after_five_seconds_and_hides_no_other() {
    let place = founded();
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let begun = Instant::now();
    let url = format!("postgres://ada@127.0.0.1:{port}/x?connect_timeout=60");
    let (code, findings) = examine(&place, &["--database", &url]);
    assert_eq!(code, 1);
    let (state, said) = of(&findings, "database");
    assert_eq!(state, "bad", "{said}");
    assert_eq!(of(&findings, "listen").0, "good");
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}
