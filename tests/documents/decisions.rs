//! Every decision has a test that names it.
//!
//! `docs/decisions.md` gives each decision an id, in bold at the start of a bullet or of a row: `**E7**`.
//! `tests/decisions.txt` lists the ids in the same order, and below each:
//!
//! - the tests that prove it, as `path/of/the/file.rs::name_of_the_test` or `path/of/the/file.test.mjs::name of the test`;
//! - or `not built: which part`, alone or beside tests of the part that is;
//! - or `nothing to prove: why`.
//!
//! Parts that are not built yet are also named on the page, in one line at the head of their section, so that the page
//! is true: `> Not built yet: X24, X25.`, or `> Not built yet: all of this section.`

use std::collections::{BTreeMap, BTreeSet};

use test_support::document::repository;

const PAGE: &str = "docs/decisions.md";
const LIST: &str = "tests/decisions.txt";
const NOT_BUILT: &str = "> Not built yet: ";

/// A decision of the list.
#[derive(Debug, Default)]
struct Entry {
    id: String,
    /// `path/of/the/file.rs::name_of_the_test`
    tests: Vec<String>,
    /// Whether a part has no test because it does not exist.
    not_built: bool,
    /// Whether there is nothing to test.
    excused: bool,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn entries(list: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in list.lines() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match (line.strip_prefix("    "), entries.last_mut()) {
            (Some(proof), Some(entry)) if proof.starts_with("not built: ") => {
                entry.not_built = true
            }
            (Some(proof), Some(entry)) if proof.starts_with("nothing to prove: ") => {
                entry.excused = true
            }
            (Some(test), Some(entry)) => entry.tests.push(test.to_owned()),
            _ => entries.push(Entry {
                id: line.to_owned(),
                ..Entry::default()
            }),
        }
    }
    entries
}

/// The id at the start of a bullet or row.
fn id_of(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("- **")
        .or_else(|| line.strip_prefix("| **"))?;
    let (id, _) = rest.split_once("**")?;
    is_id(id).then_some(id)
}

/// Whether a text is letters followed by a number.
pub fn is_id(text: &str) -> bool {
    let number = text.trim_start_matches(|it: char| it.is_ascii_uppercase());
    number.len() < text.len() && !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())
}

/// The ids of a page, in its order.
pub fn ids(page: &str) -> Vec<&str> {
    page.lines().filter_map(id_of).collect()
}

/// The ids of `docs/decisions.md`.
pub fn decided() -> BTreeSet<String> {
    ids(&read(PAGE)).into_iter().map(str::to_owned).collect()
}

/// The decisions that a page marks as not built.
fn not_built(page: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut all_of_section = false;
    for line in page.lines() {
        if line.starts_with('#') {
            all_of_section = false;
        } else if let Some(what) = line.strip_prefix(NOT_BUILT) {
            all_of_section = what == "all of this section.";
            found.extend(what.split([' ', ',', '.']).filter(|word| is_id(word)));
        }
        found.extend(id_of(line).filter(|_| all_of_section));
    }
    found
}

/// What is wrong with a list of the decisions on a page.
fn complaints(page: &str, list: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let (ids, entries) = (ids(page), entries(list));
    let mut complaints = Vec::new();
    let mut count: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for id in &ids {
        count.entry(id).or_default().0 += 1;
    }
    for entry in &entries {
        count.entry(&entry.id).or_default().1 += 1;
    }
    for (id, times) in count {
        match times {
            (1, 1) => {}
            (0, _) => complaints.push(format!("{id} is listed in {LIST}, and not in {PAGE}")),
            (_, 0) => complaints.push(format!("{id} has no entry in {LIST}")),
            _ => complaints.push(format!("{id} is used twice")),
        }
    }
    let order = entries.iter().map(|entry| entry.id.as_str());
    if complaints.is_empty() && !order.eq(ids) {
        complaints.push(format!("{LIST} has another order than {PAGE}"));
    }
    let not_built = not_built(page);
    for entry in &entries {
        let id = &entry.id;
        if entry.tests.is_empty() && !entry.not_built && !entry.excused {
            complaints.push(format!("{id} has no test"));
        }
        if entry.not_built != not_built.contains(id.as_str()) {
            complaints.push(format!(
                "{id} is not built in one of {PAGE} and {LIST} only"
            ));
        }
        let missing = entry.tests.iter().filter(|test| !exists(test));
        complaints
            .extend(missing.map(|test| format!("{id} names a test that does not exist: {test}")));
    }
    complaints
}

#[test]
fn every_decision_is_listed_with_tests_that_are_there() {
    let (page, list) = (read(PAGE), read(LIST));
    assert!(ids(&page).len() > 200, "{:?}", ids(&page));
    let complaints = complaints(&page, &list, exists);
    assert!(complaints.is_empty(), "{complaints:#?}");
    let excused = entries(&list).iter().filter(|entry| entry.excused).count();
    assert_eq!(excused, 0, "decisions without a test may only become fewer");
}

/// Whether a file has a test of this name.
pub fn exists(test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else {
        return false;
    };
    let Ok(text) = std::fs::read_to_string(repository().join(file)) else {
        return false;
    };
    // Browser tests, which are named with sentences.
    if file.ends_with(".test.mjs") {
        return text.contains(&format!("\ntest(\"{name}\","));
    }
    let lines: Vec<_> = text.lines().collect();
    let function = format!("fn {name}(");
    // The list in `tests/contract/coverage.rs` generates tests: `200 every_200_is_produced`.
    let made = format!(" {name}");
    lines.iter().enumerate().any(|(index, line)| {
        let above = &lines[index.saturating_sub(4)..index];
        let is_test = above
            .iter()
            .any(|line| line.contains("test]") || line.contains("test("));
        (line.contains(&function) && is_test) || line.ends_with(&made)
    })
}

#[test]
fn a_test_that_is_not_there_is_noticed() {
    let here = "tests/documents/decisions.rs";
    assert!(exists(&format!(
        "{here}::a_test_that_is_not_there_is_noticed"
    )));
    assert!(exists("tests/contract/coverage.rs::every_200_is_produced"));
    for absent in [
        "nothing.rs::name",
        "tests/interop/pages/people.test.mjs::somebody",
        "name",
        &format!("{here}::exists"),
        &format!("{here}::none"),
    ] {
        assert!(!exists(absent), "{absent}");
    }
}

#[test]
fn whatever_is_wrong_with_the_list_is_told() {
    let page = "## One\n\n> Not built yet: A3 in part.\n\n- **A1** Text,\n  **bold** text.\n- **A2** Text.\n- **A3** Text.\n\
                \n## Two\n\n> Not built yet: all of this section.\n\n| **B1** | x |\n\n## Three\n\n- **C12** Text.\n";
    let good = "# Comment\nA1\n    a.rs::one\nA2\n    nothing to prove: it is so\n\
                A3\n    a.rs::three\n    not built: a part\n\nB1\n    not built: it\nC12\n    a.rs::twelve\n";
    assert_eq!(ids(page), ["A1", "A2", "A3", "B1", "C12"]);
    let complaints = |page: &str, list: &str| complaints(page, list, |test| test != "a.rs::none");
    assert_eq!(complaints(page, good), Vec::<String>::new());
    let unbuilt = "is not built in one of docs/decisions.md and tests/decisions.txt only";
    for (from, to, complaint) in [
        (
            "A1\n    a.rs::one\n",
            "",
            "A1 has no entry in tests/decisions.txt",
        ),
        ("C12", "C13", "C12 has no entry in tests/decisions.txt"),
        (
            "C12",
            "C13",
            "C13 is listed in tests/decisions.txt, and not in docs/decisions.md",
        ),
        ("C12", "A1", "A1 is used twice"),
        ("    a.rs::one\n", "", "A1 has no test"),
        (
            "a.rs::one",
            "a.rs::none",
            "A1 names a test that does not exist: a.rs::none",
        ),
        ("    not built: a part\n", "", &format!("A3 {unbuilt}")),
        ("a.rs::twelve", "not built: it", &format!("C12 {unbuilt}")),
        ("not built: it", "b.rs::one", &format!("B1 {unbuilt}")),
    ] {
        let told = complaints(page, &good.replacen(from, to, 1));
        assert!(
            told.iter().any(|it| it == complaint),
            "{complaint}: {told:?}"
        );
    }
    let twice = page.replace("A2", "A1");
    assert!(complaints(&twice, good).contains(&"A1 is used twice".to_owned()));
    let moved = good
        .replace("A1", "x")
        .replace("C12", "A1")
        .replace('x', "C12");
    assert_eq!(complaints(page, &moved).len(), 1);
}
