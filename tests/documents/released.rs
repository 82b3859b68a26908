//! The current documents against the released ones. `codegen/compatibility/` does the check;
//! `cargo compatibility` prints its findings, and CONTRIBUTING.md explains what to do about them.

use openapi_dropshot_compatibility::{Api, apis, changelog, compare, report};
use test_support::document::repository;

fn published() -> Vec<Api> {
    apis(&repository().join("openapi")).unwrap_or_else(|problem| panic!("{problem}"))
}

#[test]
fn a_change_since_a_release_is_said_by_the_version() {
    let apis = published();
    let names: Vec<_> = apis.iter().map(|api| api.name.as_str()).collect();
    assert_eq!(names, ["catalog", "mobile"]);
    for Api {
        present, newest, ..
    } in &apis
    {
        let comparison = compare(newest, present).unwrap_or_else(|problem| panic!("{problem}"));
        let report = report(newest, present, &comparison);
        assert!(comparison.is_said(), "{report}");
    }
}

#[test]
fn the_changelog_of_the_documents_is_what_is_made_now() {
    let made = changelog(&published()).unwrap_or_else(|problem| panic!("{problem}"));
    let file = repository().join("openapi/CHANGELOG.md");
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == made,
        "{} is stale; run `cargo compatibility changelog`, and commit it",
        file.display()
    );
}
