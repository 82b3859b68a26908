//! Which options a command takes, and its help for them.

use crate::place::Place;

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn a_command_takes_the_settings_that_it_uses_and_no_others() {
    let place = Place::with_database();
    let user = "user create --email ada@example.com --name Ada";
    for (command, option) in [
        (user, "--drain-delay 7"),
        ("team list", "--tls-cert x"),
        ("team list", "--public-url http://x"),
        ("openapi catalog", "--database sqlite:x.db"),
        ("copy --to sqlite:x.db", "--listen :1"),
        ("demo", "--tls-cert x"),
        ("link revoke x", "--redis redis://x"),
    ] {
        let said = place.run(&words(&format!("{command} {option}")));
        let name = option.split(' ').next().unwrap();
        said.failed(2, &format!("unexpected argument '{name}'"));
    }
    let said = place.run(&words(&format!("{user} --display-name x")));
    said.failed(2, "--display-name");
    assert!(!said.errors.contains("--drain-delay"), "{}", said.errors);
}

#[test]
fn what_contradicts_itself_for_a_server_does_not_stop_a_command() {
    let place = Place::with_database();
    place.write("invoicing.toml", "tls_cert = \"cert.pem\"\n");
    let config = ["--config", "invoicing.toml"];
    assert_eq!(
        place.run(&[&["team", "list"], &config[..]].concat()).code,
        0
    );
    place
        .run(&[&["serve"], &config[..]].concat())
        .failed(2, "go together");
}

#[test]
fn the_help_of_a_small_command_is_about_the_command() {
    let place = Place::new();
    for command in ["team list", "user create", "member add"] {
        for flag in ["-h", "--help"] {
            let help = place.run(&words(&format!("{command} {flag}"))).output;
            let lines = help.lines().filter(|line| !line.trim().is_empty()).count();
            assert!(lines <= 32, "{lines}: {help}");
            assert!(help.contains("\nDatabase and settings:\n"), "{help}");
        }
    }
    let help = place.run(&["serve", "--help"]).output;
    let short = place.run(&["serve", "-h"]).output;
    assert!(short.len() < help.len() / 2, "{short}");
    for heading in [
        "Database and settings",
        "Addresses",
        "TLS",
        "Load",
        "Rate limits",
        "Log",
    ] {
        assert!(help.contains(&format!("\n{heading}:\n")), "{heading}");
    }
}

#[test]
fn a_number_out_of_its_range_is_told_the_range() {
    let place = Place::new();
    place
        .run(&["serve", "--rate-limit-burst", "-1"])
        .failed(2, "from 1 to 1000000");
}
