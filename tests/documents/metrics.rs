//! Everything that packaging/ asks Prometheus for exists: docs/metrics.md, which `tests/cli/metrics.rs` checks against
//! a server, has every series that an alert or a panel names. (`tests/interop/metrics` asks a real Prometheus.)

use std::collections::BTreeSet;

use serde_json::Value;
use test_support::document::repository;

use crate::pages::anchors;

fn read(path: &str) -> String {
    let text = std::fs::read_to_string(repository().join(path));
    text.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of series in a text.
fn series(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| word.starts_with("invoicing_") || word.starts_with("process_"))
}

/// The series of docs/metrics.md, with each name of a histogram's series.
fn documented() -> BTreeSet<String> {
    let page = read("docs/metrics.md");
    let mut names = BTreeSet::new();
    for entry in page.split("\n- `").skip(1) {
        let (name, rest) = entry.split_once('`').expect("a name");
        if rest.starts_with(", histogram") {
            names.extend(["_bucket", "_count", "_sum"].map(|end| format!("{name}{end}")));
        } else {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Every value under this name, at any depth.
fn strings<'a>(json: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match json {
        Value::Object(members) => {
            found.extend(members.get(name).and_then(Value::as_str));
            members.values().for_each(|it| strings(it, name, found));
        }
        Value::Array(items) => items.iter().for_each(|it| strings(it, name, found)),
        _ => {}
    }
}

fn assert_documented<'a>(what: &str, queries: impl IntoIterator<Item = &'a str>) {
    let documented = documented();
    let mut asked = 0;
    for query in queries {
        for name in series(query) {
            assert!(documented.contains(name), "{what} asks for {name}");
            asked += 1;
        }
    }
    assert!(asked > 15, "{what} asks for {asked} series");
}

#[test]
fn every_alert_asks_for_series_that_are_there_and_says_what_to_do() {
    let alerts = read("packaging/prometheus/alerts.yml");
    let rules: Vec<_> = alerts.split("- alert: ").skip(1).collect();
    let what_to_do = anchors(&read("docs/operations.md"));
    for rule in &rules {
        let (_, runbook) = rule
            .split_once("runbook: docs/operations.md#")
            .expect("a runbook");
        let section = runbook.lines().next().unwrap_or_default();
        assert!(what_to_do.contains(section), "there is no {section}");
        assert!(rule.contains("summary: "), "{rule}");
        assert!(rule.contains("labels: {severity: "), "{rule}");
    }
    assert_documented("an alert", rules.iter().copied());
    let cases = read("packaging/prometheus/alerts.test.yml");
    for rule in rules {
        let name = rule.lines().next().unwrap_or_default();
        let case = format!("alertname: {name}\n        eval_time: 40m\n        exp_alerts:");
        assert!(cases.contains(&case), "no case in which {name} fires");
    }
}

#[test]
fn every_panel_of_the_dashboard_asks_for_series_that_are_there() {
    let dashboard: Value = serde_json::from_str(&read("packaging/grafana/dashboard.json")).unwrap();
    let (mut queries, mut ids) = (Vec::new(), BTreeSet::new());
    strings(&dashboard["panels"], "expr", &mut queries);
    strings(&dashboard["templating"], "definition", &mut queries);
    assert_documented("the dashboard", queries);
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
    }
}

#[test]
fn the_dashboard_shows_every_series() {
    let dashboard = read("packaging/grafana/dashboard.json");
    let shown: BTreeSet<_> = series(&dashboard).collect();
    let base = |name: &str| {
        let ends = ["_bucket", "_count", "_sum"];
        let end = ends.iter().find_map(|end| name.strip_suffix(end));
        end.unwrap_or(name).to_owned()
    };
    let shown: BTreeSet<_> = shown.into_iter().map(base).collect();
    let missing: BTreeSet<_> = documented()
        .iter()
        .map(|it| base(it))
        .filter(|it| !shown.contains(it))
        .collect();
    assert_eq!(missing, BTreeSet::new());
}
