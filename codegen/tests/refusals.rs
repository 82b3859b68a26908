//! The page of refusals, `docs/generator/refusals.md`: every message for the documents in `rejected/`, sorted by topic.
//!
//! After a change of a message: `EXPECTORATE=overwrite cargo test -p openapi-dropshot --test rejected --test refusals`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use openapi_dropshot::Document;

const PAGE: &str = "../docs/generator/refusals.md";

/// The parts of the page. A message goes into the first part with words that occur in its place.
const PARTS: [(&str, &[&str]); 6] = [
    ("Security", &["securitySchemes", "security"]),
    ("Schemas", &["schema", "schemas"]),
    ("Parameters", &["parameters"]),
    (
        "Bodies and answers",
        &[
            "requestBody",
            "requestBodies",
            "responses",
            "links",
            "headers",
        ],
    ),
    ("Paths and operations", &["paths"]),
    ("The document", &[]),
];

const WIDTH: usize = 120;

fn part(pointer: &str) -> usize {
    let has = |words: &[&str]| pointer.split('/').any(|it| words.contains(&it));
    PARTS
        .iter()
        .position(|(_, words)| words.is_empty() || has(words))
        .unwrap_or_default()
}

/// A sentence of a message, from a capital letter to a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}.", letters.as_str())
}

/// An item of a list, wrapped to the width of the page.
fn item(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), "-".to_owned());
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines = lines + &line + "\n";
            line = " ".to_owned();
        }
        line = line + " " + word;
    }
    lines + &line + "\n"
}

/// Every message once, by part: cause, remedy, and the name of a document that gets it.
fn messages() -> BTreeMap<usize, BTreeMap<(String, String), String>> {
    let mut messages: BTreeMap<usize, BTreeMap<_, _>> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rejected");
    let files: BTreeSet<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    for path in files {
        let file = path.file_name().unwrap().to_str().unwrap();
        if file.ends_with(".txt") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for problem in Document::parse(file, &text, "things").unwrap_err().iter() {
            let message = (problem.cause.clone(), problem.remedy.clone());
            let part = messages.entry(part(problem.pointer.as_str())).or_default();
            part.entry(message).or_insert_with(|| file.to_owned());
        }
    }
    messages
}

#[test]
fn the_page_of_refusals_has_every_message() {
    let mut page = "\
# What is refused, and what to write instead

A document that the [generator](../generator.md) does not understand whole is refused: with the file, the JSON Pointer,
the cause and the remedy. These are all causes that its tests know, by where they are found, each with a document that
has it. The page is made of those tests (`codegen/tests/refusals.rs`); names in it are those of the examples.
"
    .to_owned();
    let messages = messages();
    for (index, (title, _)) in PARTS.iter().enumerate() {
        writeln!(page, "\n## {title}\n").unwrap();
        for ((cause, remedy), file) in &messages[&index] {
            let example = format!("[Example](../../codegen/tests/rejected/{file})");
            page += &item(&format!(
                "**{}** {} {example}",
                sentence(cause),
                sentence(remedy)
            ));
        }
    }
    let all: usize = messages.values().map(BTreeMap::len).sum();
    assert!(all > 150, "{all}");
    expectorate::assert_contents(PAGE, &page);
}
