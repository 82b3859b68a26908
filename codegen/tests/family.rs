//! The published crates: whether each works alone, without the repository that it comes from.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const FAMILY: [&str; 5] = [
    "openapi-dropshot",
    "openapi-dropshot-cli",
    "openapi-dropshot-compatibility",
    "openapi-dropshot-runtime",
    "openapi-dropshot-test",
];

/// The packages of the workspace, as reported by cargo.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn is_published(package: &Value) -> bool {
    FAMILY.contains(&package["name"].as_str().unwrap())
}

#[test]
fn a_published_crate_needs_nothing_of_the_repository_but_others_of_them() {
    let packages = packages();
    let family: Vec<_> = packages.iter().filter(|it| is_published(it)).collect();
    assert_eq!(family.len(), FAMILY.len());
    for package in family {
        for dependency in package["dependencies"].as_array().unwrap() {
            let (name, package) = (&dependency["name"], &package["name"]);
            if dependency["path"].is_string() {
                assert!(is_published(dependency), "{package} needs {name}");
                assert_ne!(
                    dependency["req"], "*",
                    "{package} does not say which {name}"
                );
            }
        }
    }
}

#[test]
fn a_published_crate_says_what_it_is_and_how_it_may_be_used() {
    for package in packages().iter().filter(|it| is_published(it)) {
        let name = package["name"].as_str().unwrap();
        assert_eq!(package["publish"], Value::Null, "{name}");
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        for member in ["description", "readme", "rust_version"] {
            assert!(package[member].is_string(), "{name} has no {member}");
        }
        for member in ["keywords", "categories"] {
            assert_ne!(package[member], serde_json::json!([]), "{name}: {member}");
        }
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            let file = manifest.with_file_name(file);
            assert!(file.is_file(), "{} is missing", file.display());
        }
    }
}
