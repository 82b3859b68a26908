//! The bench works. Every contender answers every operation correctly: the bench itself checks answers, and fails on a
//! wrong one. The figures of such a short run are ignored, except that they exist.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

/// The bench, with the service that CI has built already: another build would take minutes.
fn bench(subcommand: &[&str]) -> Command {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_bench"));
    bench.args(subcommand);
    if let Some(built) = std::env::var_os("INVOICING") {
        bench.arg("--invoicing").arg(built);
    }
    bench
}

#[test]
fn growth_is_measured_and_drawn() {
    measure_growth(&[]);
}

#[test]
fn growth_is_measured_and_drawn_on_postgres() {
    measure_growth(&["--postgres"]);
}

fn measure_growth(on: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let [svg, json] = ["growth.svg", "run.json"].map(|name| folder.path().join(name));
    let output = bench(&["growth"])
        .args(["--products", "250,20000", "--connections", "3"])
        .args(["--rounds", "2", "--seconds", "0.05", "--unpinned"])
        .args(on)
        .arg("--svg")
        .arg(&svg)
        .arg("--json")
        .arg(&json)
        .output()
        .expect("the bench starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");

    let run = fs::read(&json).expect("what was measured");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let sizes = run["sizes"].as_array().expect("a list");
    let told = |size: &Value| {
        [&size["products"], &size["teams"]].map(|number| number.as_u64().unwrap_or(0))
    };
    assert_eq!(
        sizes.iter().map(told).collect::<Vec<_>>(),
        [[250, 1], [20_000, 20]]
    );
    for size in sizes {
        assert!(size["file"].as_u64() > Some(0), "{size}");
        assert_eq!(size["starts"].as_array().map(Vec::len), Some(2), "{size}");
        let measured = size["measured"].as_array().expect("a list");
        assert_eq!(measured.len(), 5, "{size}");
        for question in measured {
            assert!(question[1][1]["cpu"].as_f64() > Some(0.0), "{question}");
        }
    }

    // A line for each question, through a point for each size.
    let svg = fs::read_to_string(&svg).expect("it is drawn");
    let count = |text| svg.matches(text).count();
    assert_eq!((count("<polyline"), count("<circle")), (5, 10), "{svg}");
}

#[test]
fn overload_is_measured_with_each_crowd() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let output = bench(&["overload"])
        .args(["--products", "300", "--operations", "create"])
        .args(["--connections", "16", "--idle", "5", "--slow", "2"])
        .args(["--deaf", "2", "--sign-ins", "2", "--rounds", "1"])
        .args(["--seconds", "0.2", "--unpinned", "--json"])
        .arg(&file)
        .output()
        .expect("the bench starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");

    let run = fs::read(&file).expect("what was measured");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let flood = &run["floods"][0]["rounds"][0][1];
    assert!(flood["served"].as_f64() > Some(0.0), "{run}");
    let crowds = run["crowds"].as_array().expect("a list");
    assert_eq!(crowds.len(), 4, "{run}");
    for crowd in crowds {
        assert!(crowd["rounds"][0][1]["cpu"].as_f64() > Some(0.0), "{crowd}");
    }
    let sign_ins = &run["sign_ins"][0]["rounds"][0][1];
    for part in ["alone", "beside"] {
        assert!(sign_ins[part]["served"].as_f64() > Some(0.0), "{run}");
    }
}

#[test]
fn threads_are_measured_each_beside_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let output = bench(&["threads"])
        .args(["--products", "300", "--operations", "get,create"])
        .args(["--threads", "1,3", "--connections", "4", "--rounds", "1"])
        .args(["--seconds", "0.2", "--unpinned", "--json"])
        .arg(&file)
        .output()
        .expect("the bench starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");

    let run = fs::read(&file).expect("what was measured");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let measured = run["measured"].as_array().expect("a list");
    let threads: Vec<_> = measured.iter().map(|one| &one["threads"]).collect();
    assert_eq!(threads, [1, 3, 1, 3]);
    for one in measured {
        for figure in ["cpu", "sleeps"] {
            assert!(one["samples"][0][figure].as_f64() > Some(0.0), "{one}");
        }
    }
}

#[test]
fn all_contenders_are_measured_on_all_operations() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let output = bench(&[])
        .args(["--products", "300", "--connections", "1,3", "--rounds", "1"])
        .args([
            "--seconds",
            "0.05",
            "--unpinned",
            "--postgres",
            "--goals",
            "--json",
        ])
        .arg(&file)
        .output()
        .expect("the bench starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");

    let run = fs::read(&file).expect("what was measured");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let (mut found, mut cpu) = (HashSet::new(), 0.0);
    for measured in run["measured"].as_array().expect("a list") {
        let samples = measured["samples"].as_array().expect("a list");
        assert_eq!(samples.len(), 1, "{measured}");
        for sample in samples {
            for figure in ["rate", "p50", "p99", "p999"] {
                assert!(sample[figure].as_f64() > Some(0.0), "{figure}: {measured}");
            }
            // The system counts processor time in ticks of ten milliseconds; a contender that waits for a core may have
            // none.
            cpu += sample["cpu"].as_f64().expect("a number");
            assert!(sample["memory"]["peak"].as_u64() > Some(0), "{measured}");
        }
        found.insert(
            ["operation", "connections", "contender", "part"]
                .map(|name| measured[name].to_string()),
        );
    }

    assert!(cpu > 0.0, "{run}");
    assert_eq!(found, expected_lines());
}

/// The lines that the report must have: operation, connections, contender and part, in JSON.
fn expected_lines() -> HashSet<[String; 4]> {
    let repeaters = ["hyper", "dropshot"];
    let servers = [
        "by-hand",
        "invoicing",
        "by-hand-postgres",
        "postgres",
        "postgres-replicas",
    ];
    let operations = [
        "get", "list20", "list100", "links", "create", "patch", "refresh",
    ];
    let mut expected = HashSet::new();
    let mut expect = |operation: &str, contender: &str, part: &str| {
        for connections in ["1", "3"] {
            let [operation, contender, part] =
                [operation, contender, part].map(|name| format!("{name:?}"));
            expected.insert([operation, connections.to_owned(), contender, part]);
        }
    };
    for operation in operations {
        for contender in repeaters.into_iter().chain(servers) {
            expect(operation, contender, "all");
        }
    }
    for operation in ["create", "patch"] {
        expect(operation, "loop", "all");
        expect(operation, "loop-postgres", "all");
    }
    for contender in servers {
        for part in ["alone", "readers", "writers"] {
            expect("mixed", contender, part);
        }
    }
    expected
}
