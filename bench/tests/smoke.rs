//! Every contender answers every operation rightly: the bench itself checks answers, and fails on a
//! wrong one. No figure of so short a run is looked at, save that there is one.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

#[test]
fn all_contenders_are_measured_on_all_operations() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_bench"));
    bench
        .args(["--products", "300", "--connections", "1,3", "--rounds", "1"])
        .args(["--seconds", "0.05", "--unpinned", "--goals", "--json"])
        .arg(&file);
    if let Some(built) = std::env::var_os("INVOICING") {
        bench.arg("--invoicing").arg(built); // CI has built it, and would wait minutes for another.
    }
    let output = bench.output().expect("the bench starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");

    let run = fs::read(&file).expect("what was measured");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let mut found = HashSet::new();
    for measured in run["measured"].as_array().expect("a list") {
        let samples = measured["samples"].as_array().expect("a list");
        assert_eq!(samples.len(), 1, "{measured}");
        for sample in samples {
            for figure in ["rate", "cpu", "p50", "p99", "p999"] {
                assert!(sample[figure].as_f64() > Some(0.0), "{figure}: {measured}");
            }
            assert!(sample["memory"]["peak"].as_u64() > Some(0), "{measured}");
        }
        found.insert(
            ["operation", "connections", "contender", "part"]
                .map(|name| measured[name].to_string()),
        );
    }

    let servers = ["hyper", "dropshot", "by-hand", "invoicing"];
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
        for contender in servers {
            expect(operation, contender, "all");
        }
    }
    for operation in ["create", "patch"] {
        expect(operation, "loop", "all");
    }
    for contender in ["by-hand", "invoicing"] {
        for part in ["alone", "readers", "writers"] {
            expect("mixed", contender, part);
        }
    }
    assert_eq!(found, expected);
}
