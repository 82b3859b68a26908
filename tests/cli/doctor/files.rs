//! Settings, files and the disk.

use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::{by, expect, founded, mode, of};
use crate::place::Place;

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
    // The kernel's own file system has room for nothing.
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

/// A certificate for this name that ends then.
fn write_certificate(place: &Place, name: &str, year: i32) {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_after = date_time_ymd(year, 1, 1);
    if year < 2026 {
        params.not_before = date_time_ymd(year - 1, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    place.write("cert.pem", params.self_signed(&key).unwrap().pem());
    place.write("key.pem", key.serialize_pem());
    mode(&place.path("key.pem"), 0o600);
}

#[test]
fn a_certificate_that_is_over_about_to_end_for_another_or_with_an_open_key_is_found() {
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
    write_certificate(&place, "invoices.example.com", 2500);
    expect(&place, &options, "tls", "good", "days");
    mode(&place.path("key.pem"), 0o644);
    expect(&place, &options, "tls", "bad good", "others may read");
    write_certificate(&place, "other.example.com", 2500);
    expect(
        &place,
        &options,
        "tls",
        "good warn",
        "not for invoices.example.com",
    );
    write_certificate(&place, "invoices.example.com", 2001);
    expect(&place, &options, "tls", "bad", "has ended");
    let key = std::fs::read(place.path("key.pem")).unwrap();
    write_certificate(&place, "invoices.example.com", 2500);
    place.write("key.pem", key);
    expect(
        &place,
        &options,
        "tls",
        "bad",
        "cannot use cert.pem with key.pem",
    );
    let mut params = CertificateParams::new(["invoices.example.com".to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    params.not_after = (SystemTime::now() + Duration::from_secs(7 * 86_400)).into();
    place.write("cert.pem", params.self_signed(&key).unwrap().pem());
    place.write("key.pem", key.serialize_pem());
    mode(&place.path("key.pem"), 0o600);
    expect(&place, &options, "tls", "warn", "ends in 6 days");
}
