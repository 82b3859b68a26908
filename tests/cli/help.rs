use test_support::document::repository;

use crate::place::Place;

/// The commands of docs/decisions.md, "Command line", that are built, as words: from the second cell of its table,
/// the text between backticks, up to the first argument.
pub fn commands() -> Vec<String> {
    let page = std::fs::read_to_string(repository().join("docs/decisions.md")).unwrap();
    let (_, section) = page.split_once("\n## Command line").expect("the section");
    let section = section.split("\n## ").next().expect("a first part");
    let not_built = section
        .lines()
        .find_map(|line| line.strip_prefix("> Not built yet: "))
        .unwrap_or_default();
    let mut commands = Vec::new();
    for line in section.lines().filter(|line| line.starts_with("| **X")) {
        let mut cells = line.split(" | ");
        let id = cells
            .next()
            .unwrap_or_default()
            .trim_matches(['|', ' ', '*']);
        if not_built.split([',', ' ', '.']).any(|word| word == id) {
            continue;
        }
        let quoted = cells
            .next()
            .unwrap_or_default()
            .split('`')
            .skip(1)
            .step_by(2);
        commands.extend(quoted.map(words));
    }
    commands
}

/// A command without its arguments: `openapi catalog|mobile [--format F]` is `openapi`.
fn words(usage: &str) -> String {
    let word = |text: &&str| text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let words = usage.split(' ').take_while(word);
    let words: Vec<&str> = words.take_while(|word| !word.starts_with("--")).collect();
    words.join(" ")
}

#[test]
fn the_page_names_the_commands_that_it_always_had() {
    let commands = commands();
    for command in [
        "serve",
        "openapi",
        "api-key create",
        "file create",
        "link revoke",
    ] {
        assert!(
            commands.iter().any(|found| found == command),
            "{commands:?}"
        );
    }
}

#[test]
fn every_command_explains_itself_and_takes_a_database() {
    let place = Place::new();
    for command in &commands() {
        let words: Vec<&str> = command.split(' ').collect();
        let help = place.run(&[&words[..], &["--help"]].concat());
        assert_eq!(help.code, 0, "{command}");
        assert!(
            help.output.contains(&format!("Usage: invoicing {command}")),
            "{}",
            help.output
        );
        assert!(
            !help.output.contains("Everything that can be set"),
            "{}",
            help.output
        );
        let without = ["openapi", "demo", "completions", "man", "backup verify"];
        let database = !without.contains(&command.as_str());
        assert_eq!(
            help.output.contains("INVOICING_DATABASE"),
            database,
            "{command}"
        );
    }
}

#[test]
fn the_overview_names_every_command_and_shows_where_to_begin() {
    let place = Place::new();
    let overview = place.run(&["--help"]).output;
    for command in &commands() {
        let first = command.split(' ').next().unwrap();
        assert!(
            overview.contains(&format!("\n  {first} ")),
            "{first}: {overview}"
        );
    }
    assert!(overview.contains("invoicing demo"));
    place.run(&[]).failed(2, "Usage: invoicing");
    place.run(&["team"]).failed(2, "Usage: invoicing team");
    place.run(&["teams"]).failed(2, "team");
}
