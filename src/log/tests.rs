use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use slog::{info, warn};

use super::*;

/// Where the lines of a test go.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn logger(&self) -> Logger {
        Logger::root(Mutex::new(json(self.clone())).ignore_res(), o!())
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
    status: 200,
    latency: Duration::from_micros(1_234),
    request_id: "r-1",
    caller: Caller::ApiKey(Uuid::nil()),
};

#[test]
fn a_request_is_one_line_of_json() {
    let lines = Lines::default();
    request(&lines.logger(), &REQUEST);
    request(
        &lines.logger(),
        &Request {
            status: 503,
            caller: Caller::User(Uuid::nil()),
            ..REQUEST
        },
    );
    request(
        &lines.logger(),
        &Request {
            route: None,
            caller: Caller::Unknown,
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
    let nil = "00000000-0000-0000-0000-000000000000";
    assert_eq!(
        lines.read(),
        [
            line("info", json!({ "key_id": nil })),
            line("error", json!({ "user_id": nil, "status": 503 })),
            line("info", json!({ "route": null })),
        ]
    );
}

/// The logger that dropshot makes for a request.
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

#[test]
fn lines_of_other_modules_pass() {
    let lines = Lines::default();
    info!(for_framework(&lines.logger()), "beginning");
    assert_eq!(
        lines.read(),
        [json!({ "msg": "beginning", "level": "info" })]
    );
}
