//! Every sentence of decisions.md has a test that names it.
//!
//! `tests/decisions.txt` lists the sentences in their order, each by a digest and its beginning, and
//! below it the tests that prove it. decisions.md itself lies beside the repository, in
//! `../shared`; where it is there, the list is compared with it, so that a sentence that is added or
//! changed fails until somebody has looked for its test. The tests are looked for in the tree in any
//! case.

use std::collections::BTreeMap;

use test_support::deployment::say;
use test_support::document::repository;

/// A sentence of the list.
#[derive(Debug)]
struct Entry {
    digest: String,
    beginning: String,
    /// `path/of/the/file.rs::name_of_the_test`
    tests: Vec<String>,
    /// Why there is nothing to test.
    excuse: Option<String>,
}

fn list() -> Vec<Entry> {
    let text = std::fs::read_to_string(repository().join("tests/decisions.txt"));
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.expect("the list is there").lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        match (line.strip_prefix("    "), entries.last_mut()) {
            (Some(test), Some(entry)) => match test.strip_prefix("nothing to prove: ") {
                Some(excuse) => entry.excuse = Some(excuse.to_owned()),
                None => entry.tests.push(test.to_owned()),
            },
            _ => {
                let (digest, beginning) = line.split_once(' ').unwrap_or((line, ""));
                entries.push(Entry {
                    digest: digest.to_owned(),
                    beginning: beginning.to_owned(),
                    tests: Vec::new(),
                    excuse: None,
                });
            }
        }
    }
    entries
}

/// The sentences of a page: sentences of paragraphs, rows of tables, commands of the command line.
fn sentences(page: &str) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    for line in page.lines() {
        let text = line.trim();
        let separates = text.chars().all(|character| "| -".contains(character));
        if separates || text.starts_with('#') || text.starts_with('|') || line.starts_with("    ") {
            sentences.extend(split(&std::mem::take(&mut paragraph)));
        }
        match sentences.last_mut() {
            _ if separates || text.starts_with('#') => {}
            Some(command) if line.starts_with("     ") => *command = format!("{command} {text}"),
            _ if text.starts_with('|') || line.starts_with("    ") => {
                sentences.push(text.to_owned())
            }
            _ => {
                if text.starts_with("- ") {
                    sentences.extend(split(&std::mem::take(&mut paragraph)));
                }
                paragraph.push(' ');
                paragraph.push_str(text.trim_start_matches("- "));
            }
        }
    }
    sentences.extend(split(&paragraph));
    sentences.iter().map(|sentence| words(sentence)).collect()
}

/// A paragraph at its full stops: those before white space and a capital letter, a code or a digit.
fn split(paragraph: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    let mut words = paragraph.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let sentence = sentences.last_mut().expect("there is one");
        sentence.push_str(word);
        sentence.push(' ');
        let begins = |next: &&str| {
            next.starts_with(|it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '`')
        };
        if word.ends_with('.') && words.peek().is_some_and(begins) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A short name for a sentence (FNV-1a): it only has to notice a change.
fn digest(sentence: &str) -> String {
    let hash = sentence.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:08x}")
}

#[test]
fn the_list_has_every_sentence_of_the_decisions() {
    let page = repository().join("../shared/decisions.md");
    let Ok(page) = std::fs::read_to_string(&page) else {
        return say(&format!("{} is not there", page.display()));
    };
    let sentences = sentences(&page);
    let decided: Vec<_> = sentences
        .iter()
        .map(|sentence| (digest(sentence), sentence))
        .collect();
    let listed: BTreeMap<_, _> = list()
        .into_iter()
        .map(|entry| (entry.digest, entry.beginning))
        .collect();
    for (digest, sentence) in &decided {
        let beginning = listed.get(digest).unwrap_or_else(|| {
            panic!("tests/decisions.txt lacks a sentence:\n{digest} {sentence}")
        });
        assert!(
            sentence.starts_with(beginning.as_str()),
            "{digest} begins with {sentence}"
        );
    }
    let digests: Vec<_> = decided.into_iter().map(|(digest, _)| digest).collect();
    let order: Vec<_> = list().into_iter().map(|entry| entry.digest).collect();
    assert_eq!(
        order, digests,
        "a sentence is gone, or they stand in another order"
    );
}

#[test]
fn every_sentence_names_tests_that_are_there() {
    let entries = list();
    assert!(
        entries.len() > 100,
        "only {} sentences are listed",
        entries.len()
    );
    let mut wrong = Vec::new();
    for entry in &entries {
        if entry.tests.is_empty() && entry.excuse.is_none() {
            wrong.push(format!("{} {} has no test", entry.digest, entry.beginning));
        }
        wrong.extend(entry.tests.iter().filter(|test| !exists(test)).cloned());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let excused = entries
        .iter()
        .filter(|entry| entry.excuse.is_some())
        .count();
    assert!(
        excused <= 5,
        "sentences without a test may only become fewer"
    );
}

/// Whether a file has a test of this name.
fn exists(test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else {
        return false;
    };
    let Ok(text) = std::fs::read_to_string(repository().join(file)) else {
        return false;
    };
    let lines: Vec<_> = text.lines().collect();
    let function = format!("fn {name}(");
    // The table of `tests/contract/coverage.rs` makes tests: `200 every_200_is_produced {`.
    let made = format!(" {name} {{");
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
        "name",
        &format!("{here}::exists"),
        &format!("{here}::none"),
    ] {
        assert!(!exists(absent), "{absent}");
    }
}

#[test]
fn a_page_is_split_into_sentences_rows_and_commands() {
    let page = "# Title\n\nOne `a.b` is one\nsentence. Two.\n- Three: 1. Four\n\n\
                | a | b |\n|---|---|\n| 400 | x |\n\nBefore.\n\n    run it\n              -> more\n    again\n";
    let expected = [
        "One `a.b` is one sentence.",
        "Two.",
        "Three: 1.",
        "Four",
        "| a | b |",
        "| 400 | x |",
        "Before.",
        "run it -> more",
        "again",
    ];
    assert_eq!(sentences(page), expected);
}
