//! `invoicing man`: the manual pages, and the script that installs them with the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use test_support::document::repository;

use crate::help::commands;
use crate::place::{Place, Said};

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

#[test]
fn every_command_has_a_page() {
    let place = Place::new();
    let said = place.run(&["man", "--to", "share/man1"]);
    assert_eq!(
        (said.code, said.output, said.errors),
        (0, String::new(), String::new())
    );
    let found = names(&place.path("share/man1"));
    let page = |command: &String| format!("invoicing-{}.1", command.replace(' ', "-"));
    let mut expected: BTreeSet<String> = commands().iter().map(page).collect();
    // Commands of two words have a page for the first one, too.
    let groups = commands().into_iter().filter_map(|command| {
        let (group, _) = command.split_once(' ')?;
        Some(format!("invoicing-{group}.1"))
    });
    expected.extend(groups);
    // These are decided on as a whole (X33), and not in the table.
    expected.extend(["invoicing.1", "invoicing-copy.1"].map(str::to_owned));
    assert_eq!(found, expected);
    let whole = fs::read_to_string(place.path("share/man1/invoicing.1")).unwrap();
    assert_eq!(place.run(&["man"]).output, whole);
}

#[test]
fn the_pages_are_written_as_manual_pages_are() {
    let place = Place::new();
    place.run(&["man", "--to", "."]);
    // Caused by what clap_mangen writes around the values of an option, and by the missing date: neither is
    // visible.
    let known = ["skipping paragraph macro: br ", "missing date, using"];
    for name in names(&place.path("")) {
        let mut lint = Command::new("mandoc");
        let said = Said::by(
            lint.args(["-T", "lint", "-W", "warning"])
                .arg(place.path(&name)),
            "",
        );
        let wrong = |line: &&str| !known.iter().any(|known| line.contains(known));
        let wrong: Vec<&str> = said.output.lines().filter(wrong).collect();
        assert!(
            wrong.is_empty() && said.errors.is_empty(),
            "{wrong:#?} {}",
            said.errors
        );
    }
}

#[test]
fn a_page_shows_examples_line_by_line() {
    let place = Place::new();
    place.run(&["man", "--to", "."]);
    let mut mandoc = Command::new("mandoc");
    mandoc.args(["-T", "ascii", "-O", "width=200"]);
    let said = Said::by(mandoc.arg(place.path("invoicing-team-create.1")), "");
    // Bold is a letter, a backspace and the letter again.
    let text = said.output.replace("\u{8}", "");
    assert!(
        text.contains("\n           invoicing team create --name \"Acme\"\n"),
        "{text}"
    );
    assert!(
        text.contains(&format!("invoicing {}", env!("CARGO_PKG_VERSION"))),
        "{text}"
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    place.write("file", "");
    place
        .run(&["man", "--to", "file/man"])
        .failed(1, "file/man");
}

#[test]
fn what_is_installed_is_where_systems_look() {
    let place = Place::new();
    let mut install = Command::new(repository().join("packaging/install"));
    install
        .env("DESTDIR", place.path("tree"))
        .env("PREFIX", "/usr")
        .env("INVOICING", env!("CARGO_BIN_EXE_invoicing"))
        .env_remove("ZSH_FOLDER");
    let said = Said::by(&mut install, "");
    assert_eq!((said.code, said.errors.as_str()), (0, ""));
    for file in [
        "bin/invoicing",
        "share/man/man1/invoicing-serve.1",
        "share/bash-completion/completions/invoicing",
        "share/zsh/site-functions/_invoicing",
        "share/fish/vendor_completions.d/invoicing.fish",
    ] {
        let file = place.path("tree/usr").join(file);
        assert!(
            fs::metadata(&file).is_ok_and(|file| file.len() > 0),
            "{file:?}"
        );
    }
}
