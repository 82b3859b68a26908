//! The command `openapi-dropshot`, as a script sees it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_openapi-dropshot"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A folder for this test alone, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn a_document_gives_its_module() {
    let output = run(&["server", "accepted/absence.yaml"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("pub trait AbsenceApi"));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_document_with_problems_gives_all_of_them_and_1() {
    let output = run(&["server", "rejected/everything_at_once.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("rejected/everything_at_once.yaml: /components/"),
        "{stderr}"
    );
    assert!(stderr.lines().count() > 5, "{stderr}");
}

#[test]
fn a_check_tells_of_every_document_and_gives_1_for_a_problem() {
    let output = run(&["check", "accepted/absence.yaml", "documents/shapes.json"]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stdout);
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.starts_with("accepted/absence.yaml: understood, operations: "));

    let output = run(&["check", "rejected/map.yaml", "accepted/absence.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("rejected/map.yaml: "));
    assert!(text(&output.stdout).starts_with("accepted/absence.yaml: understood"));
}

#[test]
fn a_lenient_reading_tells_what_nothing_keeps_and_goes_on() {
    let document = "lenient/things.yaml";
    assert_eq!(run(&["check", document]).status.code(), Some(1));
    let output = run(&["check", "--lenient", document]);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stderr);
    assert!(told.contains("nothing keeps it"), "{told}");
    assert!(text(&output.stdout).starts_with("lenient/things.yaml: understood"));
    let output = run(&["server", "--lenient", document]);
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), told)
    );
    assert!(text(&output.stdout).contains("pub trait ThingsApi"));
}

#[test]
fn wrong_usage_gives_2() {
    for arguments in [
        &[][..],
        &["--frobnicate"],
        &["a.yaml"],
        &["check"],
        &["server"],
        &["server", "a", "b"],
        &["client", "a"],
        &["client", "--out"],
        &["client", "--out", "x"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("--help"), "{arguments:?}");
    }
}

#[test]
fn help_gives_0() {
    let output = run(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("Examples:"));
}

#[test]
fn the_client_is_written_then_current_then_stale() {
    let out = folder("client");
    let out = out.to_str().unwrap();
    let write = [
        "client",
        "--out",
        out,
        "accepted/absence.yaml",
        "documents/shapes.json",
    ];
    let check = [
        "client",
        "--out",
        out,
        "--check",
        "accepted/absence.yaml",
        "documents/shapes.json",
    ];
    assert_eq!(run(&check).status.code(), Some(1), "nothing is written yet");
    assert_eq!(run(&write).status.code(), Some(0));
    assert_eq!(run(&check).status.code(), Some(0));

    fs::write(Path::new(out).join("shapes.rs"), "// edited").unwrap();
    fs::write(Path::new(out).join("extra.rs"), "").unwrap();
    let output = run(&check);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("shapes.rs: stale") && stderr.contains("extra.rs: not generated"),
        "{stderr}"
    );
    assert!(stderr.contains("without --check"), "{stderr}");
    assert_eq!(
        fs::read_to_string(Path::new(out).join("shapes.rs")).unwrap(),
        "// edited"
    );
}

#[test]
fn a_client_of_two_documents_needs_both_to_be_right() {
    let out = folder("refused");
    let output = run(&[
        "client",
        "--out",
        out.to_str().unwrap(),
        "accepted/absence.yaml",
        "rejected/map.yaml",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("rejected/map.yaml: "));
    assert!(!out.exists(), "nothing is written");
}
