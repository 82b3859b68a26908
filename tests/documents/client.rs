//! Claims of the client crate that depend on its dependencies.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// Cargo's metadata of the workspace, with all features.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        // Only the dependencies that are built here have been downloaded.
        .args(["--all-features", "--filter-platform", "host-tuple"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The packages that a package is built from, except for tests.
fn built_from<'a>(metadata: &'a Value, root: &'a str) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::new(), vec![root]);
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let nodes = list(&metadata["resolve"]["nodes"]);
        let node = nodes.iter().find(|node| node["id"] == id);
        for dependency in node.map_or(&[][..], |node| list(&node["deps"])) {
            let kinds = list(&dependency["dep_kinds"]);
            if kinds.iter().any(|kind| kind["kind"] != "dev") {
                open.extend(dependency["pkg"].as_str());
            }
        }
    }
    found
}

fn version(text: &str) -> Vec<u32> {
    let parts = text.split('.');
    parts.map(|part| part.parse().expect("a number")).collect()
}

#[test]
fn the_rust_version_of_the_client_is_what_its_dependencies_ask_for() {
    let metadata = metadata();
    let packages = list(&metadata["packages"]);
    let client = packages.iter().find(|it| it["name"] == "invoicing-client");
    let client = client.expect("it is in the workspace");
    let id = client["id"].as_str().expect("an id");
    let built_from = built_from(&metadata, id);
    let others = packages.iter().filter(|it| {
        let other = it["id"].as_str().expect("an id");
        other != id && built_from.contains(other)
    });
    let newest = others
        .filter_map(|it| it["rust_version"].as_str().map(version))
        .max()
        .expect("some say so");
    let said = version(client["rust_version"].as_str().expect("it says so"));
    assert_eq!(said[..2], newest[..2]);
}
