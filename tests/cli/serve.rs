//! `invoicing serve`: start, log, commands beside it, and shutdown.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::Place;
use crate::server::{Server, TIMEOUT, read_all};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// A token request whose body is still to come.
const HEADERS: &str =
    "POST /api/auth/mobile/token HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n";

/// Sends one request on a connection that stays open. Returns the first line of the answer.
fn status(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    String::from_utf8(answer).unwrap().trim().to_owned()
}

#[test]
fn commands_work_while_a_server_runs_on_the_same_database() {
    let place = Place::new();
    let server = Server::start(&mut place.command(SERVE));
    let team = place.make(&["team", "create", "--name", "Acme"]);
    let create = [
        "api-key",
        "create",
        "--team",
        &team,
        "--mode",
        "live",
        "--scope",
        "read-only",
    ];
    let key = place.json(&create);
    let list = |key: &Value| {
        let key = key["key"].as_str().unwrap();
        let request = format!(
            "GET /api/v1/products HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key}\r\n\
             Connection: close\r\n\r\n"
        );
        status(&mut server.connect(), &request)
    };
    assert_eq!(list(&key), "HTTP/1.1 200 OK");
    place.json(&["api-key", "revoke", key["id"].as_str().unwrap()]);
    assert_eq!(list(&key), "HTTP/1.1 401 Unauthorized");
}

#[test]
fn a_key_shows_where_it_was_last_used_from_by_the_rules_for_proxies() {
    let place = Place::new();
    let mut command = place.command(SERVE);
    command.args(["--trusted-proxies", "127.0.0.1"]);
    let mut server = Server::start(&mut command);
    place.json(&["team", "create", "--name", "Acme"]);
    let create = "api-key create --team Acme --mode live --scope read-only";
    let key = place.json(&create.split(' ').collect::<Vec<_>>());
    let shown = || place.json(&["api-key", "show", key["id"].as_str().unwrap()]);
    assert_eq!(shown()["lastUsedFrom"], Value::Null);
    let request = format!(
        "GET /api/v1/products HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {}\r\n\
         X-Forwarded-For: 198.51.100.7, 192.0.2.9\r\nConnection: close\r\n\r\n",
        key["key"].as_str().unwrap()
    );
    assert_eq!(status(&mut server.connect(), &request), "HTTP/1.1 200 OK");
    // The use is written now and then, and when the server stops.
    server.signal("TERM");
    server.wait();
    assert_eq!(shown()["lastUsedFrom"], "192.0.2.9");
}

#[test]
fn the_start_says_where_the_documentation_is() {
    let place = Place::new();
    let mut server = Server::start(&mut place.command(SERVE));
    let line = server.wait_for("documentation, to read and to try");
    assert_eq!(line["docs"], format!("{}/docs", server.url));
    let request = "GET /docs HTTP/1.1\r\nHost: test\r\n\r\n";
    assert_eq!(status(&mut server.connect(), request), "HTTP/1.1 302 Found");
}

#[test]
fn systemd_is_told_once_requests_are_answered() {
    let place = Place::new();
    let socket = place.path("notify");
    let systemd = UnixDatagram::bind(&socket).unwrap();
    systemd.set_read_timeout(Some(TIMEOUT)).unwrap();
    let server = Server::start(place.command(SERVE).env("NOTIFY_SOCKET", &socket));
    let mut told = [0; 64];
    let length = systemd.recv(&mut told).unwrap();
    assert_eq!(String::from_utf8_lossy(&told[..length]), "READY=1\n");
    let request = "GET /docs HTTP/1.1\r\nHost: test\r\n\r\n";
    assert_eq!(status(&mut server.connect(), request), "HTTP/1.1 302 Found");
}

#[test]
fn a_server_with_pages_and_without_mail_says_what_is_left_to_the_command_line() {
    let place = Place::new();
    let mut command = place.command(SERVE);
    command.args(["--origin", "http://localhost:8080"]);
    let mut server = Server::start(&mut command);
    server.wait_for(
        "no mail is sent: invitations are shown to whoever makes them, and passwords are set anew and emails changed by \
         `invoicing user reset-link` and `invoicing user set-email`; smtp_url and mail_from change that",
    );
}

#[test]
fn a_start_warns_of_passkeys_that_another_origin_has_made_worthless() {
    let place = Place::with_database();
    let user = [
        "user",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
    ];
    place.make(&user);
    let file = rusqlite::Connection::open(place.path("invoicing.db")).unwrap();
    let insert = "INSERT INTO passkey SELECT id, id, 'Phone', 'old.example', zeroblob(16), 1, 0, x'', x'', 0, NULL FROM user";
    file.execute(insert, []).unwrap();
    drop(file);
    let warns = |origin: &str| {
        let mut server = Server::start(place.command(SERVE).args(["--origin", origin]));
        server.wait_for("in the database");
        server.signal("TERM");
        let log = server.whole_log();
        let told = |it: &Value| {
            it["msg"]
                .as_str()
                .is_some_and(|it| it.starts_with("passkeys "))
        };
        let line = log.into_iter().find(told);
        line.map(|it| it["passkeys"].clone())
    };
    assert_eq!(warns("https://new.example"), Some(json!(1)));
    assert_eq!(warns("http://127.0.0.1:8080"), Some(json!(1)));
    assert_eq!(warns("https://old.example"), None);
}

#[test]
fn a_request_is_one_line_of_the_log_without_what_it_carries() {
    let place = Place::new();
    let mut server = Server::start(&mut place.command(SERVE));
    // As long as the secret of a link.
    let secret = "hunter2hunter2hunter2h";
    let requests = [
        format!(
            "GET /api/v1/products?status={secret} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {secret}\r\n\r\n"
        ),
        format!("GET /s/{secret}?token={secret} HTTP/1.1\r\nHost: test\r\n\r\n"),
        format!("GET /%ff/{secret} HTTP/1.1\r\nHost: test\r\n\r\n"),
    ];
    let mut stream = server.connect();
    for request in &requests {
        stream.write_all(request.as_bytes()).unwrap();
    }
    let lines: Vec<Value> = requests
        .iter()
        .map(|_| server.wait_for("request"))
        .collect();
    drop(stream);
    let shown = |line: &Value| json!([line["route"], line["path"], line["status"], line["level"]]);
    assert_eq!(
        shown(&lines[0]),
        json!(["/api/v1/products", null, 401, "info"])
    );
    assert_eq!(shown(&lines[1]), json!([null, "/s/...", 404, "info"]));
    assert_eq!(shown(&lines[2]), json!([null, "/%ff/...", 400, "info"]));
    for line in &lines {
        assert!(
            line["latency_us"].is_u64() && line["request_id"].as_str().unwrap().len() == 36,
            "{line}"
        );
    }
    server.signal("TERM");
    server.wait();
    let log = server.whole_log();
    assert!(!json!(log).to_string().contains("hunter2"), "{log:#?}");
    assert_eq!(
        log.iter().filter(|line| line["msg"] == "request").count(),
        3,
        "{log:#?}"
    );
}

/// Each is an open file, and the system's soft limit of those is meant for interactive programs.
#[test]
fn more_connections_than_the_first_limit_of_open_files_leave_room_for_another() {
    let place = Place::new();
    let serve = place.command(SERVE);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -S -n 64 && exec \"$0\" \"$@\""])
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(place.path(""))
        .stdin(Stdio::null());
    for (name, _) in serve.get_envs() {
        limited.env_remove(name);
    }
    let server = Server::start(&mut limited);
    let _idle: Vec<_> = (0..100).map(|_| server.connect()).collect();
    let answer = status(
        &mut server.connect(),
        "GET /api/v1/products HTTP/1.1\r\nHost: test\r\n\r\n",
    );
    assert_eq!(answer, "HTTP/1.1 401 Unauthorized");
}

#[test]
fn sigterm_and_sigint_let_a_running_request_finish_and_exit_with_0() {
    for signal in ["TERM", "INT"] {
        let place = Place::new();
        let mut server = Server::start(&mut place.command(SERVE));
        let mut running = server.connect();
        running.write_all(HEADERS.as_bytes()).unwrap();
        // The server has the request once it has answered a later one on another connection.
        let mut idle = server.connect();
        status(&mut idle, "GET / HTTP/1.1\r\nHost: test\r\n\r\n");
        server.signal(signal);
        server.wait_for("stopping: finishing what runs");
        assert!(
            read_all(&mut idle).contains("\r\n\r\n"),
            "an idle connection is closed"
        );

        running.write_all(b"{}").unwrap();
        let answer = read_all(&mut running);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("invalid_request"), "{answer}");
        server.wait_for("stopped");
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = Place::new();
    let mut server = Server::start(&mut place.command(SERVE));
    let mut running = server.connect();
    running.write_all(HEADERS.as_bytes()).unwrap();
    status(
        &mut server.connect(),
        "GET / HTTP/1.1\r\nHost: test\r\n\r\n",
    );
    server.signal("TERM");
    server.wait_for("stopping: finishing what runs");
    server.signal("INT");
    server.wait_for("stopped at once, as a second signal asked");
    assert_eq!(server.wait().code(), Some(0));
}

/// Mail gets ten seconds after everything else is done.
#[test]
fn a_second_signal_ends_it_at_once_also_while_mail_is_sent() {
    let place = Place::with_database();
    place.make(&["user", "create", "--email", "a@b.example", "--name", "Ada"]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let smtp = format!("smtp://{}", silent.local_addr().unwrap());
    let origin = "http://127.0.0.1:8080";
    let mut command = place.command(SERVE);
    command.args([
        "--origin",
        origin,
        "--smtp-url",
        &smtp,
        "--mail-from",
        "a@b.example",
    ]);
    let mut server = Server::start(&mut command);
    let form = format!(
        "POST /reset HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nOrigin: {origin}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 19\r\n\r\nemail=a%40b.example"
    );
    let answer = status(&mut server.connect(), &form);
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let _connection = silent.accept().unwrap();
    server.signal("TERM");
    server.wait_for("stopping: finishing what runs");
    server.wait_for("stopped");
    let begun = Instant::now();
    server.signal("TERM");
    server.wait_for("stopped at once, as a second signal asked");
    assert_eq!(server.wait().code(), Some(0));
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

/// Somebody may take the file then.
#[test]
fn a_server_that_has_stopped_leaves_no_log_beside_its_file() {
    for _ in 0..4 {
        let place = Place::with_database();
        place.make(&["team", "create", "--name", "Acme"]);
        let mut server = Server::start(&mut place.command(SERVE));
        let lines =
            (0..3_000).map(|number| format!("Lamp,1,EUR,S-{number},{}\n", "a".repeat(1_000)));
        let csv =
            "name,unitPrice,currency,sku,description\n".to_owned() + &lines.collect::<String>();
        place.write("p.csv", csv);
        place.make(&[
            "product", "import", "p.csv", "--team", "Acme", "--mode", "live",
        ]);
        assert!(place.path("invoicing.db-wal").exists());
        server.signal("TERM");
        assert_eq!(server.wait().code(), Some(0));
        assert!(!place.path("invoicing.db-wal").exists());
    }
}

/// Like a stopped terminal, or a log collector that hangs.
#[test]
fn sigterm_ends_a_server_whose_log_nobody_reads() {
    let place = Place::new();
    let mut command = place.command(SERVE);
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let mut server = Server::of(process);
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    let address = line["url"].as_str().unwrap().strip_prefix("http://");

    // More lines than a pipe holds.
    let mut stream = TcpStream::connect(address.unwrap()).unwrap();
    for _ in 0..1_000 {
        let request = "GET /docs/none HTTP/1.1\r\nHost: test\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    read_all(&mut stream);

    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn serving_in_clear_on_an_address_that_is_not_loopback_is_warned_about() {
    let place = Place::new();
    let start = |address: &str| {
        let command = &mut place.command(["serve", "--listen", address]);
        let mut server = Server::start(command);
        server.signal("TERM");
        server.wait();
        let log = server.whole_log();
        log.iter().any(|line| {
            let in_clear = line["msg"]
                .as_str()
                .unwrap()
                .starts_with("serving in clear");
            in_clear && line["level"] == "warn"
        })
    };
    assert!(start("0.0.0.0:0"));
    assert!(!start("127.0.0.1:0"));
}

#[test]
fn a_database_file_that_others_can_read_is_warned_about() {
    let place = Place::new();
    let warned = || {
        let mut server = Server::start(&mut place.command(["serve", "--listen", "127.0.0.1:0"]));
        server.signal("TERM");
        server.wait();
        let log = server.whole_log();
        let mode = log.iter().find(|line| !line["mode"].is_null());
        mode.map(|line| (line["level"].clone(), line["mode"].clone()))
    };
    assert_eq!(warned(), None, "a new one");
    assert_eq!(warned(), None, "one that it has made");
    let file = place.path("invoicing.db");
    for mode in [0o640, 0o602] {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let expected = ("warn".into(), format!("{mode:04o}").into());
        assert_eq!(warned(), Some(expected));
    }
}

#[test]
fn a_port_that_is_taken_fails_with_1() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = place.run(&["serve", "--listen", &address]);
    said.failed(1, &format!("error: cannot listen on {address}"));
}

#[test]
fn a_wrong_setting_fails_with_2_and_an_unknown_variable_is_logged() {
    let place = Place::new();
    place
        .run(&["serve", "--listen", "8080"])
        .failed(2, "--listen");
    place
        .run(&["serve", "--tls-cert", "cert.pem"])
        .failed(2, "go together");
    place
        .run(&["serve", "--rate-limit", "maybe"])
        .failed(2, "--rate-limit");
    let mut server = Server::start(place.command(SERVE).env("INVOICING_LISTN", "x"));
    server.signal("TERM");
    let log = server.whole_log();
    assert_eq!(log[0]["level"], "warn");
    assert!(
        log[0]["msg"]
            .as_str()
            .unwrap()
            .starts_with("INVOICING_LISTN is no setting"),
        "{log:#?}"
    );
}

#[test]
fn a_server_out_of_files_says_so_and_goes_on_when_connections_end() {
    let place = Place::new();
    let serve = place.command(SERVE);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(place.path(""));
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let mut server = Server::start(&mut limited);
    let many: Vec<_> = (0..64).map(|_| server.connect()).collect();
    let line = server.wait_for("accept error");
    assert_eq!(line["level"], "warn", "{line}");
    assert!(line["error"].to_string().contains("os error 24"), "{line}");
    drop(many);
    let request = "GET /docs HTTP/1.1\r\nHost: test\r\n\r\n";
    assert_eq!(status(&mut server.connect(), request), "HTTP/1.1 302 Found");
}
