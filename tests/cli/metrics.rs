//! `/metrics` matches docs/metrics.md, and counts correctly.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;

use test_support::document::repository;
use test_support::postgres::Cluster;

use crate::operations::Operated;
use crate::place::Place;

/// Labels whose values the page does not list: there are too many, or they differ between builds.
const UNLISTED: [&str; 3] = ["operation", "version", "commit"];

/// Parts of docs/metrics.md that apply to one engine only.
const ENGINES: [&str; 2] = ["SQLite", "PostgreSQL"];

/// A family of series on the page of a server.
#[derive(Default)]
struct Family {
    kind: String,
    help: String,
    labels: BTreeMap<String, BTreeSet<String>>,
}

/// The families on the page, under the names of their samples.
fn families(page: &str) -> BTreeMap<String, Family> {
    let mut found = BTreeMap::<String, Family>::new();
    let mut base = String::new();
    for line in page.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => {
                name.clone_into(&mut base);
                help.trim_end_matches('.')
                    .clone_into(&mut found.entry(base.clone()).or_default().help);
            }
            ["#", "TYPE", name, kind] => {
                kind.clone_into(&mut found.entry(name.to_owned()).or_default().kind);
            }
            ["#", ..] => {}
            _ => {
                let labels = &mut found
                    .get_mut(&base)
                    .expect("a sample after its family")
                    .labels;
                for (name, value) in labels_of(line) {
                    labels.entry(name).or_default().insert(value);
                }
            }
        }
    }
    let named = found.into_iter().map(|(name, family)| {
        let end = match family.kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        (name + end, family)
    });
    named.collect()
}

/// The labels of a sample, except for the ranges of a histogram. No value contains a quote or a
/// comma.
fn labels_of(line: &str) -> Vec<(String, String)> {
    let Some((_, labels)) = line.split_once('{') else {
        return Vec::new();
    };
    let labels = labels.rsplit_once('}').unwrap().0.split(',');
    let labels = labels.filter_map(|label| label.split_once('='));
    let labels = labels.filter(|(name, _)| *name != "le");
    let labels = labels.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()));
    labels.collect()
}

/// The entry that docs/metrics.md should have for a family, up to what to do about it.
fn entry(name: &str, family: &Family) -> String {
    let labels = family.labels.iter().map(|(label, values)| {
        let values: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
        match UNLISTED.contains(&label.as_str()) {
            true => format!("`{label}`"),
            false => format!("`{label}` ({})", values.join(", ")),
        }
    });
    let labels: Vec<_> = labels.collect();
    let by = match labels.is_empty() {
        true => String::new(),
        false => format!(" by {}", labels.join(" and ")),
    };
    format!("`{name}`, {}{by}. {}.", family.kind, family.help)
}

/// The entries of docs/metrics.md up to what to do about them, without those of the other engine.
fn documented(engine: &str) -> BTreeSet<String> {
    let page = std::fs::read_to_string(repository().join("docs/metrics.md")).unwrap();
    let parts = page.split("\n### ").skip(1);
    let parts = parts.filter(|part| {
        let title = part.lines().next().unwrap_or_default();
        title == engine || !ENGINES.contains(&title)
    });
    let entries = parts.flat_map(|part| part.split("\n- ").skip(1));
    let entries = entries.map(|entry| {
        let entry = entry.split_whitespace().collect::<Vec<_>>().join(" ");
        let (what, to_do) = entry.split_once(" *").expect("what to do about it");
        assert!(to_do.ends_with("*"), "{entry}");
        what.to_owned()
    });
    entries.collect()
}

fn metrics(operated: &Operated) -> String {
    let (status, page) = operated.get("/metrics");
    assert_eq!(status, 200);
    page
}

fn assert_documented(place: &Place, engine: &str, options: &[&str]) {
    let operated = Operated::start(place, options);
    let page = metrics(&operated);
    assert!(page.ends_with("\n# EOF\n"));
    let families = families(&page);
    let served = families.iter().map(|(name, family)| entry(name, family));
    let (served, documented) = (served.collect(), documented(engine));
    let served: BTreeSet<_> = served;
    let only_served: Vec<_> = served.difference(&documented).collect();
    let only_documented: Vec<_> = documented.difference(&served).collect();
    let nothing = Vec::<&String>::new();
    assert_eq!((only_served, only_documented), (nothing.clone(), nothing));
}

#[test]
fn the_page_lists_every_series_of_a_server_on_sqlite_and_no_others() {
    assert_documented(&Place::new(), "SQLite", &[]);
}

#[test]
fn the_page_lists_every_series_of_a_server_on_postgresql_and_no_others() {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    let database = CLUSTER.get_or_init(Cluster::start).database();
    let place = Place::new();
    place.json(&["team", "create", "--name", "Acme", "--database", &database]);
    assert_documented(&place, "PostgreSQL", &["--database", &database]);
}

/// One request on a separate connection. Returns the status of its answer.
fn ask(operated: &Operated, request: &str) -> u16 {
    let mut stream = BufReader::new(operated.server.connect());
    let request = format!("{request}\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    read_status(&mut stream)
}

fn read_status(stream: &mut BufReader<TcpStream>) -> u16 {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    // Reads to the end: by then it has been counted.
    stream.read_to_end(&mut Vec::new()).unwrap();
    line[9..12].parse().unwrap()
}

/// How many requests of an operation got an answer of this class.
fn requests(page: &str, operation: &str, class: &str) -> u64 {
    let name = format!("invoicing_requests_total{{operation=\"{operation}\",status=\"{class}\"}} ");
    let count = page.lines().find_map(|line| line.strip_prefix(&name));
    let count = count.unwrap_or_else(|| panic!("no {name} in {page}"));
    count.parse().unwrap()
}

#[test]
fn every_operation_has_its_series_before_anybody_asks() {
    let place = Place::new();
    let origin = ["--origin", "http://localhost:8080"];
    let page = metrics(&Operated::start(&place, &origin));
    for operation in [
        "list_products",
        "create_product",
        "exchange_token",
        "show_sign_in",
        "sign_in",
        "revoke_token",
    ] {
        for class in ["1xx", "2xx", "3xx", "4xx", "5xx"] {
            assert_eq!(requests(&page, operation, class), 0);
        }
        let count =
            format!("invoicing_request_duration_seconds_count{{operation=\"{operation}\"}} 0");
        assert!(page.lines().any(|line| line == count), "{count}");
    }
}

#[test]
fn what_no_operation_has_answered_is_counted_apart() {
    let place = Place::new();
    let origin = [
        "--origin",
        "http://localhost:8080",
        "--cors-origins",
        "https://shop.example",
    ];
    let operated = Operated::start(&place, &origin);
    let preflight = "OPTIONS /api/v1/products HTTP/1.1\r\nOrigin: https://shop.example\r\n\
                     Access-Control-Request-Method: POST";
    for (request, status, operation, class) in [
        ("GET /nothing HTTP/1.1", 404, "no_route", "4xx"),
        ("GET /api/v1/products/ HTTP/1.1", 404, "no_route", "4xx"),
        ("TRACE /api/v1/products HTTP/1.1", 405, "no_method", "4xx"),
        ("DELETE /sign-in HTTP/1.1", 405, "no_method", "4xx"),
        ("GET /docs/page.js HTTP/1.1", 200, "file", "2xx"),
        (preflight, 204, "preflight", "2xx"),
        ("GET /api/v1/products HTTP/1.1", 401, "list_products", "4xx"),
    ] {
        let before = requests(&metrics(&operated), operation, class);
        assert_eq!(ask(&operated, request), status, "{request}");
        let after = requests(&metrics(&operated), operation, class);
        assert_eq!(after, before + 1, "{request}");
    }
    let page = metrics(&operated);
    let all = page
        .lines()
        .filter(|line| line.starts_with("invoicing_requests_total"));
    let sum: u64 = all
        .map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap())
        .sum();
    assert_eq!(sum, 7, "each was counted once");
}

/// The value of a series.
fn value(page: &str, series: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(series));
    let line = line.unwrap_or_else(|| panic!("no {series} in {page}"));
    line.trim().parse().unwrap()
}

#[test]
fn changes_and_background_work_are_counted_and_the_process_is_seen() {
    let place = Place::new();
    let operated = Operated::start(&place, &[]);
    let page = metrics(&operated);
    // At least the cursor's key was written.
    for series in [
        "invoicing_write_group_size_count",
        "invoicing_write_group_size_bucket{le=\"256.0\"}",
        "invoicing_write_queue_wait_seconds_count",
        "invoicing_write_transaction_duration_seconds_count",
        "invoicing_database_connection_wait_seconds_count",
        "invoicing_database_connections_limit",
        "invoicing_database_size_bytes",
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_open_fds",
        "process_threads",
    ] {
        assert!(value(&page, series) > 0.0, "{series}");
    }
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let age = now - value(&page, "process_start_time_seconds");
    assert!((-2.0..600.0).contains(&age), "{age}");
    let build = format!(
        "invoicing_build_info{{version=\"{}\",",
        env!("CARGO_PKG_VERSION")
    );
    assert!(page.contains(&build), "{page}");
}

#[test]
fn a_refused_sign_in_is_counted_by_whether_somebody_has_the_account() {
    let place = Place::with_database();
    place.json(&[
        "user",
        "create",
        "--email",
        "ada@example.com",
        "--name",
        "Ada",
    ]);
    let operated = Operated::start(&place, &["--origin", "http://localhost:8080"]);
    for (email, times) in [("ada@example.com", 1), ("nobody@example.com", 2)] {
        for _ in 0..times {
            let form = format!("email={email}&password=wrong");
            let length = form.len();
            let request = format!(
                "POST /sign-in HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\
                 Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: {length}\r\n\r\n{form}"
            );
            let mut stream = BufReader::new(operated.server.connect());
            stream.get_mut().write_all(request.as_bytes()).unwrap();
            assert!((200..500).contains(&read_status(&mut stream)));
        }
    }
    let page = metrics(&operated);
    let of_account = |account| {
        let series = format!("invoicing_refused_sign_ins_total{{account=\"{account}\"}}");
        value(&page, &series)
    };
    assert_eq!((of_account("known"), of_account("unknown")), (1.0, 2.0));
    let refused = "invoicing_sign_ins_total{way=\"password\",outcome=\"refused\"}";
    assert_eq!(value(&page, refused), 3.0);
}
