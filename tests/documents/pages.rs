//! Everything that the pages and the comments of the repository name exists: files, headings, decisions
//! and tests.

use std::collections::BTreeSet;
use std::path::Path;

use test_support::document::repository;

use crate::decisions;

/// The pages for people, besides those in `docs/`.
const PAGES: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// Where the Rust code is, except for code generated from documents of others.
const RUST: [&str; 6] = ["src", "tests", "codegen", "generated", "bench", "build.rs"];

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files in a folder, or the file itself, whose names have this ending; as paths in the repository.
fn files(at: &str, end: &str) -> Vec<String> {
    let path = repository().join(at);
    if path.is_file() {
        return vec![at.to_owned()];
    }
    let mut found = Vec::new();
    for entry in path
        .read_dir()
        .unwrap_or_else(|error| panic!("{at}: {error}"))
    {
        let entry = entry.expect("the folder can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let inner = format!("{at}/{name}");
        if entry.path().is_dir() {
            if !["target", "node_modules"].contains(&name.as_str()) {
                found.extend(files(&inner, end));
            }
        } else if name.ends_with(end) {
            found.push(inner);
        }
    }
    found
}

fn pages() -> Vec<String> {
    let mut pages = files("docs", ".md");
    pages.extend(PAGES.map(str::to_owned));
    pages
}

/// The anchors of a page's headings, as links name them.
pub fn anchors(page: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let headings = page.lines().filter(|line| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    });
    headings
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|it| it.is_alphanumeric() || " -_".contains(*it));
            kept.map(|it| if it == ' ' { '-' } else { it }).collect()
        })
        .collect()
}

/// The targets of a page's links.
fn links(page: &str) -> Vec<&str> {
    let inline = page
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let named = page.lines().filter(|line| line.starts_with('['));
    let named = named.filter_map(|line| Some(line.split_once("]: ")?.1));
    let links = inline.chain(named).map(str::trim);
    links.filter(|link| !link.contains("://")).collect()
}

#[test]
fn links_lead_to_files_and_headings_that_are_there() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = read(&page);
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = repository().join(Path::new(&page).parent().unwrap_or(Path::new("")));
            let target = if file.is_empty() {
                repository().join(&page)
            } else {
                folder.join(file)
            };
            let there = match std::fs::read_to_string(&target) {
                Ok(text) => anchor.is_empty() || anchors(&text).contains(anchor),
                Err(_) => anchor.is_empty() && target.is_dir(),
            };
            if !there {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn files_and_tests_that_the_pages_name_are_there() {
    let mut absent = Vec::new();
    for page in files("docs", ".md") {
        let text = read(&page);
        for name in text.split('`').skip(1).step_by(2) {
            let is_path = RUST
                .iter()
                .any(|root| name.starts_with(&format!("{root}/")));
            let there = match name.contains("::") {
                true => decisions::exists(name),
                false => repository().join(name).exists(),
            };
            if is_path && !there {
                absent.push(format!("{page}: {name}"));
            }
        }
    }
    assert!(absent.is_empty(), "{absent:#?}");
}

/// A comment cites `docs/decisions.md, S5` or `docs/decisions.md, "Errors"`.
#[test]
fn decisions_that_comments_name_are_there() {
    let (decided, headings) = (decisions::decided(), anchors(&read("docs/decisions.md")));
    let outside = concat!("../", "shared");
    let (mut wrong, mut named) = (Vec::new(), 0);
    for file in RUST.iter().flat_map(|root| files(root, ".rs")) {
        let text = read(&file);
        if text.contains(outside) {
            wrong.push(format!("{file} names {outside}"));
        }
        if ["decisions.rs", "pages.rs"]
            .iter()
            .any(|it| file.ends_with(&format!("documents/{it}")))
        {
            continue;
        }
        for (at, _) in text.match_indices("decisions.md, ") {
            named += 1;
            let rest = &text[at + "decisions.md, ".len()..];
            let there = match rest.strip_prefix('"') {
                Some(rest) => {
                    let heading = rest.split('"').next().unwrap_or_default();
                    headings.contains(&heading.to_lowercase().replace(' ', "-"))
                }
                None => {
                    let id = rest.split(|it: char| !it.is_alphanumeric()).next();
                    decided.contains(id.unwrap_or_default())
                }
            };
            if !there || !text[..at].ends_with("docs/") {
                wrong.push(format!("{file} names {:?}", rest.lines().next()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(named > 10, "only {named} comments name a decision");
}

#[test]
fn lines_of_the_pages_are_not_longer_than_120_characters() {
    let mut long = Vec::new();
    for page in files("docs", ".md") {
        let text = read(&page);
        let lines = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.chars().count() > 120);
        long.extend(lines.map(|(index, _)| format!("{page}:{}", index + 1)));
    }
    assert!(long.is_empty(), "{long:#?}");
}
