//! Settings, files and the disk.

use std::time::SystemTime;

use super::{by, expect, founded, mode, of};
use crate::certificate::{self, DAY};

#[test]
fn settings_that_contradict_each_other_or_are_none_are_found() {
    let place = founded();
    expect(&place, &[], "settings", "good", "of no file");
    let mut command = place.command(["doctor", "--json"]);
    let (code, findings) = by(command.env("INVOICING_DATABSE", "x"));
    let (state, said) = of(&findings, "settings");
    assert_eq!((code, state.as_str()), (0, "warn"), "{said}");
    assert!(said.contains("INVOICING_DATABSE is no setting"), "{said}");
    expect(
        &place,
        &["--tls-cert", "a.pem"],
        "settings",
        "bad",
        "go together",
    );
    place
        .run(&["doctor", "--log-level", "loud"])
        .failed(2, "loud");
}

#[test]
fn a_file_with_secrets_that_others_may_read_is_bad() {
    let place = founded();
    let config = ["--config", "invoicing.toml"];
    expect(&place, &[], "settings-file", "good", "none");
    place.write("invoicing.toml", "hsts = 0\n");
    mode(&place.path("invoicing.toml"), 0o644);
    expect(&place, &config, "settings-file", "good", "0644");
    place.write(
        "invoicing.toml",
        "redis = \"redis://:hunter2@127.0.0.1:1\"\n",
    );
    expect(&place, &config, "settings-file", "bad", "with redis");
    mode(&place.path("invoicing.toml"), 0o640);
    expect(&place, &config, "settings-file", "good", "0640");
    mode(&place.path("invoicing.toml"), 0o660);
    expect(&place, &config, "settings-file", "bad", "others may change");
}

#[test]
fn a_database_file_that_others_may_read_is_warned_about_and_one_that_they_may_write_is_bad() {
    let place = founded();
    let file = place.path("invoicing.db");
    mode(&file, 0o600);
    expect(&place, &[], "database-file", "good", "invoicing.db");
    mode(&file, 0o640);
    expect(&place, &[], "database-file", "warn", "chmod 0600");
    mode(&file, 0o666);
    expect(&place, &[], "database-file", "bad", "others may write");
    mode(&file, 0o600);
    mode(&place.path(""), 0o777);
    expect(
        &place,
        &[],
        "database-file",
        "bad",
        "everybody on this machine may put files",
    );
    mode(&place.path(""), 0o700);
}

#[test]
fn a_disk_without_room_or_that_is_not_there_is_bad() {
    let place = founded();
    // The kernel's own file system has no free space.
    expect(
        &place,
        &["--database", "sqlite:/sys/invoicing.db"],
        "disk",
        "bad",
        "/sys",
    );
    expect(
        &place,
        &["--database", "sqlite:none/x.db"],
        "disk",
        "bad",
        "cannot look at",
    );
}

#[test]
fn a_certificate_that_is_over_about_to_end_for_another_or_with_an_open_key_is_found() {
    let now = SystemTime::now();
    let (over, later) = (now - DAY, now + 90 * DAY);
    let place = founded();
    let options = [
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
        "--origin",
        "https://invoices.example.com",
    ];
    expect(&place, &[], "tls", "good", "not set");
    expect(
        &place,
        &options,
        "tls",
        "bad",
        "cannot read certificates from cert.pem",
    );
    certificate::write(&place, "invoices.example.com", later);
    expect(&place, &options, "tls", "good", "days");
    mode(&place.path("key.pem"), 0o644);
    expect(&place, &options, "tls", "bad good", "others may read");
    certificate::write(&place, "other.example.com", later);
    expect(
        &place,
        &options,
        "tls",
        "good warn",
        "not for invoices.example.com",
    );
    certificate::write(&place, "invoices.example.com", over);
    expect(&place, &options, "tls", "bad", "has ended");
    let key = std::fs::read(place.path("key.pem")).unwrap();
    certificate::write(&place, "invoices.example.com", later);
    place.write("key.pem", key);
    expect(
        &place,
        &options,
        "tls",
        "bad",
        "cannot use cert.pem with key.pem",
    );
    certificate::write(&place, "invoices.example.com", now + 7 * DAY);
    expect(&place, &options, "tls", "warn", "ends in 6 days");
}
