use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use slog::{OwnedKVList, info, warn};

use uuid::Uuid;

use super::*;
use crate::domain::id::SessionId;

/// The output of a test's log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Drain for Lines {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), slog::Never> {
        self.0.lock().unwrap().extend(json::line(record, values));
        Ok(())
    }
}

impl Lines {
    fn logger(&self) -> Logger {
        Logger::root(self.clone(), o!())
    }

    /// The lines so far, without their times, which are checked here.
    fn read(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|mut line| {
                let time = line.as_object_mut().unwrap().remove("time").unwrap();
                let time = time.as_str().unwrap();
                assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
                line
            })
            .collect()
    }
}

const REQUEST: Request<'static> = Request {
    method: "GET",
    route: Some("/api/v1/products/{productId}"),
    path: None,
    status: 200,
    error_code: None,
    bytes: Some(7),
    latency: Duration::from_micros(1_234),
    request_id: "r-1",
    changes: false,
    caller: Caller::ApiKey {
        id: Uuid::nil(),
        team: Uuid::max(),
    },
    client_address: None,
    trace_id: None,
};

#[test]
fn a_request_is_one_line_of_json() {
    let lines = Lines::default();
    request(&lines.logger(), &REQUEST);
    request(
        &lines.logger(),
        &Request {
            status: 503,
            error_code: Some(ErrorCode("unavailable")),
            caller: Caller::User(Uuid::nil()),
            ..REQUEST
        },
    );
    request(
        &lines.logger(),
        &Request {
            route: None,
            path: Some("/.env?x=secret"),
            bytes: None,
            caller: Caller::Unknown,
            client_address: Some([192, 0, 2, 1].into()),
            ..REQUEST
        },
    );
    let line = |level: &str, more: Value| {
        let mut line = json!({
            "msg": "request", "level": level, "method": "GET",
            "route": "/api/v1/products/{productId}", "status": 200, "latency_us": 1234, "request_id": "r-1",
        });
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        line
    };
    let (nil, max) = (Uuid::nil(), Uuid::max());
    assert_eq!(
        lines.read(),
        [
            line("info", json!({ "key_id": nil, "team_id": max, "bytes": 7 })),
            line(
                "error",
                json!({ "user_id": nil, "status": 503, "error_code": "unavailable", "bytes": 7 })
            ),
            line(
                "info",
                json!({ "route": null, "path": "/.env", "client_address": "192.0.2.1" })
            ),
        ]
    );
}

#[test]
fn a_method_that_http_does_not_have_is_other_however_long() {
    let lines = Lines::default();
    let long = "A".repeat(60_000);
    for method in ["DELETE", "CONNECT", "get", "FOO", &long] {
        let line = Request { method, ..REQUEST };
        request(&lines.logger(), &line);
    }
    let methods: Vec<_> = lines.read().iter().map(|it| it["method"].clone()).collect();
    assert_eq!(methods, ["DELETE", "CONNECT", "other", "other", "other"]);
}

/// A logger as dropshot makes it for a request.
fn of_request(log: &Logger) -> Logger {
    for_framework(log).new(o!(
        "remote_addr" => "192.0.2.1:4711",
        "req_id" => "r-2",
        "method" => "GET",
        "uri" => "/s/secret?token=secret",
    ))
}

#[test]
fn a_line_written_with_the_logger_of_a_request_loses_its_uri() {
    let lines = Lines::default();
    warn!(of_request(&lines.logger()), "odd"; "why" => "because");
    assert_eq!(
        lines.read(),
        [json!({ "msg": "odd", "level": "warn", "why": "because", "request_id": "r-2" })]
    );
}

#[tokio::test(start_paused = true)]
async fn connections_that_cannot_be_accepted_have_a_line_a_minute() {
    let lines = Lines::default();
    let log = for_framework(&lines.logger());
    // As dropshot calls it.
    let location = slog::RecordLocation {
        file: "",
        line: 0,
        column: 0,
        function: "",
        module: "dropshot::server",
    };
    let from = slog::RecordStatic {
        location: &location,
        tag: "",
        level: Level::Warning,
    };
    for _ in 0..700 {
        let message = format_args!("accept error");
        log.log(&Record::new(
            &from,
            &message,
            slog::b!("error" => "no file"),
        ));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let line = |count: u64| json!({ "msg": "accept error", "level": "warn", "error": "no file", "count": count });
    assert_eq!(lines.read(), [line(1), line(600)]);
}

#[test]
fn bugs_and_stolen_tokens_beyond_their_quotas_are_told_once() {
    let (lines, quotas) = (Lines::default(), Quotas::default());
    let session_id = SessionId(Uuid::max());
    for number in 1..=1_000 {
        let written = number <= counts::IN_FULL;
        assert_eq!(quotas.admit_failure(true), written, "{number}");
        assert_eq!(quotas.admit_stolen(session_id), written, "{number}");
    }
    assert!(quotas.admit_failure(false) && quotas.admit_stolen(SessionId(Uuid::nil())));
    let log = lines.logger();
    quotas.tell(&log);
    quotas.tell(&log);
    let unwritten = 1_000 - counts::IN_FULL;
    let stolen = json!({
        "level": "info", "msg": "requests without a line of their own", "session_id": Uuid::max(), "count": unwritten,
    });
    let bugs = json!({
        "level": "error", "msg": "failures without a line of their own", "of": "program", "count": unwritten,
    });
    assert_eq!(lines.read(), [stolen, bugs]);
}

#[test]
fn lines_of_other_modules_pass() {
    let lines = Lines::default();
    info!(for_framework(&lines.logger()), "beginning");
    assert_eq!(
        lines.read(),
        [json!({ "msg": "beginning", "level": "info" })]
    );
}

/// Run by the next test in a process of its own, since a hook applies to a whole process.
#[test]
#[ignore = "panics; it is run by a_panic_is_one_line_of_json"]
fn panics_in_two_threads() {
    let (lines, _written_at_the_end) = lines::in_background(io::stderr()).unwrap();
    panics(&Logger::root(lines, o!()), Arc::default());
    for thread in [
        std::thread::spawn(|| panic!("two\nlines")),
        std::thread::spawn(|| std::panic::panic_any(7)),
    ] {
        thread.join().unwrap_err();
    }
}

#[test]
fn a_panic_is_one_line_of_json() {
    let this = std::env::current_exe().unwrap();
    let panicking = std::process::Command::new(this)
        .args(["--exact", "log::tests::panics_in_two_threads"])
        .args(["--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8(panicking.stderr).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}")))
        .collect();
    let told = |line: &Value| {
        (
            line["msg"].clone(),
            line["level"].clone(),
            line["panic"].clone(),
        )
    };
    let mut told: Vec<_> = lines.iter().map(told).collect();
    told.sort_by_key(|it| it.2.is_null());
    let line = |panic: Value| (json!("panic"), json!("error"), panic);
    assert_eq!(told, [line(json!("two\nlines")), line(Value::Null)]);
    for line in lines {
        let place = line["place"].as_str().unwrap();
        assert!(place.starts_with("src/log/tests.rs:"), "{place}");
    }
}
