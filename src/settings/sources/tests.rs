use super::*;
use crate::settings::{Database, LogLevel, Toggle};

/// What a command line, variables and a file (if any) resolve to.
fn resolve_all(
    arguments: &[&str],
    variables: &[(&str, &str)],
    file: Option<&str>,
) -> Result<(Settings, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("invoicing.toml");
    let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    arguments.insert(0, "serve".into());
    if let Some(file) = file {
        std::fs::write(&path, file).unwrap();
        arguments.extend(["--config".into(), path.into()]);
    }
    let variables = variables
        .iter()
        .map(|(k, v)| (k.into(), v.into()))
        .collect();
    let resolved = resolve(
        |texts| complete(Command::new("serve"), texts, |_| true),
        &arguments,
        &variables,
    );
    match resolved {
        Ok(resolved) => {
            let settings = Settings::from_matches(&resolved.settings);
            let checked = settings.and_then(|found| found.check_for_serving().map(|()| found));
            checked
                .map(|settings| (settings, resolved.warnings))
                .map_err(|e| e.to_string())
        }
        Err(error) => {
            let folder = format!("{}/", folder.path().display());
            Err(error.to_string().replace(&folder, ""))
        }
    }
}

#[test]
fn the_defaults_are_those_of_the_interface() {
    let settings = Settings::default();
    assert_eq!(settings.database, Database::sqlite("invoicing.db"));
    assert_eq!(settings.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(settings.rate_limit, Toggle::On);
    assert_eq!(
        (settings.rate_limit_per_second, settings.rate_limit_burst),
        (100, 200)
    );
    assert_eq!(
        (
            settings.token_rate_limit_per_second,
            settings.token_rate_limit_burst
        ),
        (10, 20)
    );
    assert!(settings.tls().is_none());
}

#[test]
fn the_command_line_wins_over_variables_and_these_over_the_file() {
    let file = Some("listen = \"127.0.0.1:1\"\nlog_level = \"debug\"\nrate_limit = false");
    let variables = [
        ("INVOICING_LISTEN", "127.0.0.1:2"),
        ("INVOICING_LOG_LEVEL", "warn"),
    ];
    let (settings, warnings) = resolve_all(&["--listen", "127.0.0.1:3"], &variables, file).unwrap();
    assert_eq!(settings.listen.port(), 3);
    assert_eq!(settings.log_level, LogLevel::Warn);
    assert_eq!(settings.rate_limit, Toggle::Off);
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn the_file_takes_lists_numbers_and_switches() {
    let file =
        "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nrate_limit_burst = 5\nrate_limit = true";
    let (settings, _) = resolve_all(&[], &[], Some(file)).unwrap();
    assert!(
        settings
            .trusted_proxies
            .contains("10.9.9.9".parse().unwrap())
    );
    assert_eq!(settings.rate_limit_burst, 5);
}

#[test]
fn every_problem_of_the_file_is_reported_with_its_line() {
    let file = "# ours\nlisten = \"nowhere\"\nrate-limit = \"on\"\nlog_level = \"loud\"\nport = 1\n\
                rate_limit_burst = 0\n[tls_cert]\nx = 1\n";
    let mut problems: Vec<String> = resolve_all(&[], &[], Some(file))
        .unwrap_err()
        .lines()
        .map(str::to_owned)
        .collect();
    problems.sort();
    assert_eq!(
        problems,
        [
            "invoicing.toml:2: listen: write ADDRESS:PORT, such as 127.0.0.1:8080 or [::]:8080",
            "invoicing.toml:3: `rate-limit` is no setting; did you mean `rate_limit`?",
            "invoicing.toml:4: log_level: write one of error, warn, info, debug",
            "invoicing.toml:5: `port` is no setting; `invoicing serve --help` lists the settings",
            "invoicing.toml:6: rate_limit_burst: write a whole number from 1 to 1000000",
            "invoicing.toml:7: tls_cert: write a text in quotes, a whole number, true, false or a list of texts",
        ]
    );
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_line() {
    let error = resolve_all(&[], &[], Some("rate_limit = \"on\"\nlisten = \n")).unwrap_err();
    assert!(
        error.starts_with("invoicing.toml:2: is not TOML: "),
        "{error}"
    );
    let error = resolve_all(&["--config", "absent.toml"], &[], None).unwrap_err();
    assert!(
        error.starts_with("absent.toml: cannot be read: "),
        "{error}"
    );
}

#[test]
fn a_wrong_variable_is_refused_by_name() {
    let error = resolve_all(&[], &[("INVOICING_RATE_LIMIT", "maybe")], None).unwrap_err();
    assert_eq!(error, "INVOICING_RATE_LIMIT: write one of on, off");
    let error = resolve_all(&[], &[("INVOICING_DATABASE", "postgres://x")], None).unwrap_err();
    assert!(
        error.starts_with("INVOICING_DATABASE: the database is missing"),
        "{error}"
    );
}

#[test]
fn an_unknown_variable_is_only_warned_about() {
    let variables = [
        ("INVOICING_LISTN", "x"),
        ("INVOICING_ACCESS_TOKEN", "x"),
        ("INVOICING_API_KEY", "x"),
        ("INVOICING_BASE_URL", "x"),
        ("OTHER", "x"),
    ];
    let (_, warnings) = resolve_all(&[], &variables, None).unwrap();
    assert_eq!(
        warnings,
        [
            "INVOICING_ACCESS_TOKEN is no setting and is ignored",
            "INVOICING_LISTN is no setting and is ignored; did you mean `INVOICING_LISTEN`?",
        ]
    );
}

#[test]
fn a_certificate_needs_its_key() {
    let error = resolve_all(&["--tls-cert", "a.pem"], &[], None).unwrap_err();
    assert!(error.contains("go together"), "{error}");
    let variables = [("INVOICING_TLS_KEY", "k.pem")];
    let (settings, _) = resolve_all(&["--tls-cert", "a.pem"], &variables, None).unwrap();
    assert_eq!(settings.tls().unwrap().key, Path::new("k.pem"));
}

#[test]
fn a_wrong_address_is_refused_without_its_password() {
    for wrong in [
        "postgres://ada:secret@h",
        "postgres://ada:se?secret=x@h/d",
        "postgres://ada:p@secret@h/d",
        "postgres://ada:secret/d",
        "mysql://ada:secret@h/d",
        "ada:secret@h",
        "host=h password=secret",
    ] {
        let database = format!("database = \"{wrong}\"");
        for refused in [
            resolve_all(&["--database", wrong], &[], None),
            resolve_all(&[&format!("--database={wrong}")], &[], None),
            resolve_all(&[&format!("--redis={wrong}")], &[], None),
            resolve_all(&[wrong], &[], None),
            resolve_all(&[&format!("--{wrong}")], &[], None),
            resolve_all(&[], &[("INVOICING_DATABASE", wrong)], None),
            resolve_all(&[], &[], Some(&database)),
        ] {
            let said = refused.expect_err(wrong);
            assert!(!said.contains("secret"), "{said}");
        }
    }
}

#[test]
fn a_malformed_client_secret_is_not_repeated() {
    let wrong = "hunter2\n";
    let file = "oidc_client_secret = \"hunter2\\n\"";
    for refused in [
        resolve_all(&["--oidc-client-secret", wrong], &[], None),
        resolve_all(&[&format!("--oidc-client-secret={wrong}")], &[], None),
        resolve_all(&[], &[("INVOICING_OIDC_CLIENT_SECRET", wrong)], None),
        resolve_all(&[], &[], Some(file)),
    ] {
        let said = refused.unwrap_err();
        assert!(said.contains("printable ASCII"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn what_holds_no_password_is_shown_in_a_complaint() {
    for (arguments, shown) in [
        (&["--listen", "nowhere:port"][..], "'nowhere:port'"),
        (&["--database", "sqlite:"], "'sqlite:'"),
        (&["--database", "mysql://h/d"], "'mysql:...'"),
        (&["--databse"], "'--database'"),
    ] {
        let said = resolve_all(arguments, &[], None).unwrap_err();
        assert!(said.contains(shown), "{said}");
    }
}

#[test]
fn an_address_may_be_of_this_machine_or_of_all_its_networks() {
    let listen = |text: &str| {
        resolve_all(&["--listen", text], &[], None).map(|(found, _)| found.listen.to_string())
    };
    assert_eq!(listen("localhost:8080").unwrap(), "127.0.0.1:8080");
    assert_eq!(listen(":8080").unwrap(), "0.0.0.0:8080");
    assert_eq!(listen("[::1]:8080").unwrap(), "[::1]:8080");
    for wrong in ["8080", "localhost", ":", "example.com:8080"] {
        assert!(
            listen(wrong).unwrap_err().contains("ADDRESS:PORT"),
            "{wrong}"
        );
    }
}

#[test]
fn a_provider_is_there_as_a_whole_and_somebody_can_sign_in() {
    const ISSUER: (&str, &str) = ("INVOICING_OIDC_ISSUER", "https://accounts.example.com/x/");
    const ID: (&str, &str) = ("INVOICING_OIDC_CLIENT_ID", "invoicing");
    const SECRET: (&str, &str) = ("INVOICING_OIDC_CLIENT_SECRET", "hunter2");
    const NAME: (&str, &str) = ("INVOICING_OIDC_NAME", "Example");
    const OFF: (&str, &str) = ("INVOICING_PASSWORD_SIGN_IN", "off");
    for (given, why) in [
        (&[ISSUER][..], "go together"),
        (&[ISSUER, ID], "go together"),
        (&[ID, SECRET], "go together"),
        (&[NAME], "go together"),
        (
            &[OFF, ("INVOICING_ORIGIN", "http://127.0.0.1:8080")],
            "no other way to sign in",
        ),
        (
            &[OFF, ("INVOICING_ORIGIN", "http://a.example")],
            "no other way to sign in",
        ),
        (
            &[OFF, ("INVOICING_PUBLIC_URL", "https://a.example/x")],
            "no other way to sign in",
        ),
        (
            &[
                ISSUER,
                ID,
                SECRET,
                ("INVOICING_PUBLIC_URL", "https://a.example/x"),
            ],
            "for the pages",
        ),
        (
            &[ISSUER, ID, SECRET, ("INVOICING_ORIGIN", "http://a.example")],
            "for the pages",
        ),
        (
            &[("INVOICING_OIDC_ISSUER", "http://a.example"), ID, SECRET],
            "https://",
        ),
    ] {
        let refused = resolve_all(&[], given, None).expect_err(why);
        assert!(refused.contains(why), "{given:?}: {refused}");
        assert!(!refused.contains(SECRET.1), "{refused}");
    }
    let (settings, _) = resolve_all(&[], &[ISSUER, ID, SECRET, OFF], None).unwrap();
    let oidc = settings.oidc().unwrap();
    assert_eq!(oidc.name, "accounts.example.com");
    assert_eq!(settings.switched_on().issuer.as_deref(), Some(ISSUER.1));
    assert!(!settings.switched_on().password);
    assert!(!format!("{settings:?}").contains(SECRET.1));
    let (settings, _) = resolve_all(&[], &[ISSUER, ID, SECRET, NAME], None).unwrap();
    assert_eq!(settings.oidc().unwrap().name, "Example");
    assert!(settings.switched_on().password);
}

#[test]
fn passwords_are_switched_off_where_there_are_passkeys() {
    const OFF: (&str, &str) = ("INVOICING_PASSWORD_SIGN_IN", "off");
    let origin = ("INVOICING_ORIGIN", "https://invoices.example.com");
    let (settings, _) = resolve_all(&[], &[OFF, origin], None).unwrap();
    let on = settings.switched_on();
    assert_eq!(on.relying_party.unwrap().id(), "invoices.example.com");
    assert!(!on.password);
}
