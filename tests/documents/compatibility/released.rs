//! The documents as they are, against the documents as released.

use std::collections::BTreeMap;

use test_support::document::{self, Document, repository};

use super::{verdict, version};

/// The newest release of each document, by name.
fn newest() -> BTreeMap<String, Document> {
    let mut newest: BTreeMap<String, Document> = BTreeMap::new();
    let folder = repository().join("openapi/released");
    let files =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for file in files {
        let release = Document::read(&file.expect("the folder can be listed").path());
        let [major, minor, patch] = version(&release);
        let number = format!("-{major}.{minor}.{patch}");
        let name = release.name.strip_suffix(&number).unwrap_or_else(|| {
            panic!(
                "openapi/released/{}.yaml holds version {number}",
                release.name
            )
        });
        let newer = newest
            .get(name)
            .is_none_or(|other| version(other) < version(&release));
        if newer {
            newest.insert(name.to_owned(), release);
        }
    }
    newest
}

#[test]
fn a_change_that_breaks_a_consumer_of_a_released_document_says_so_in_its_version() {
    let newest = newest();
    for document in [document::catalog(), document::mobile()] {
        let released = newest
            .get(&document.name)
            .unwrap_or_else(|| panic!("openapi/released/ has no {}", document.name));
        if let Err(problem) = verdict(released, &document) {
            panic!("{problem}");
        }
    }
}
