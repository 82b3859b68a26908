use crate::place::Place;

/// Every command of docs/decisions.md, "Command line", as words.
const COMMANDS: [&str; 20] = [
    "serve",
    "demo",
    "openapi",
    "copy",
    "team create",
    "team list",
    "api-key create",
    "api-key list",
    "api-key revoke",
    "user create",
    "member add",
    "member remove",
    "oauth-client create",
    "auth-code issue",
    "session list",
    "session revoke",
    "folder create",
    "file create",
    "link create",
    "link revoke",
];

#[test]
fn every_command_explains_itself_and_takes_a_database() {
    let place = Place::new();
    for command in COMMANDS {
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
        let database = !matches!(command, "openapi" | "demo");
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
    for command in COMMANDS {
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
