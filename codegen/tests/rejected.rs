//! Documents that the generator refuses, each with its full report.
//!
//! `rejected/CASE.yaml` (or `.json`) and `rejected/CASE.txt` are a pair. After a change of a
//! message: `EXPECTORATE=overwrite cargo test -p openapi-dropshot --test rejected`, and read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use openapi_dropshot::Document;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rejected");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|it| it == "yaml" || it == "json")
        })
        .collect();
    cases.sort();
    cases
}

#[test]
fn every_document_is_refused_with_its_whole_message() {
    let mut cases_seen = 0;
    for path in cases() {
        let file = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let Err(problems) = Document::parse(file, &text, "things") else {
            panic!("{file} is accepted");
        };
        expectorate::assert_contents(path.with_extension("txt"), &problems.to_string());
        cases_seen += 1;
    }
    assert!(cases_seen > 100, "{cases_seen}");
}

#[test]
fn every_problem_has_a_cause_and_a_remedy_in_one_line() {
    for path in cases() {
        let text = fs::read_to_string(&path).unwrap();
        for problem in Document::parse("case", &text, "things").unwrap_err().iter() {
            assert!(
                !problem.cause.is_empty() && !problem.remedy.is_empty(),
                "{problem}"
            );
            assert_eq!(problem.to_string().lines().count(), 1, "{problem}");
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_a_problem_of_that_file() {
    let problems = Document::read("no/such/file.yaml").unwrap_err().to_string();
    assert!(
        problems.starts_with("no/such/file.yaml: the file cannot be read: "),
        "{problems}"
    );
}

/// A valid document, as a file of this name.
fn named(module: &str) -> Result<Document, openapi_dropshot::Problems> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accepted/absence.yaml");
    let text = fs::read_to_string(path).unwrap();
    Document::parse(&format!("{module}.yaml"), &text, module)
}

#[test]
fn a_document_is_not_called_like_a_module_that_all_clients_have() {
    let modules = openapi_dropshot::client(&[named("own").unwrap()], None, None).unwrap();
    let shared: Vec<_> = modules.keys().filter(|name| *name != "own.rs").collect();
    assert!(shared.len() > 3, "{shared:?}");
    for name in shared {
        let name = name.strip_suffix(".rs").unwrap();
        match named(name) {
            Err(problems) => assert!(problems.to_string().contains("choose another name")),
            // A keyword of Rust, which is escaped.
            Ok(document) => assert_ne!(document.module, name),
        }
    }
}

#[test]
fn two_documents_of_a_client_do_not_become_one_module() {
    let problems = |one, other, mock| {
        let documents = [named(one).unwrap(), named(other).unwrap()];
        let modules = openapi_dropshot::client(&documents, None, mock);
        modules.err().map(|problems| problems.to_string())
    };
    for (one, other, mock, module) in [
        ("shop", "Shop", None, "shop"),
        ("shop", "shop_mock", Some("mock"), "shop_mock"),
        ("shop_mock", "shop", Some("mock"), "shop_mock"),
    ] {
        let expected = format!(
            "{other}.yaml: {one}.yaml becomes the module `{module}`, too; rename one of the files\n"
        );
        assert_eq!(problems(one, other, mock), Some(expected));
    }
    assert_eq!(problems("shop", "shop_mock", None), None);
}
