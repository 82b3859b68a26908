//! Addresses, and the limit of connections.

use std::process::{Command, Stdio};

use super::{by, expect, founded, of};

#[test]
fn addresses_that_strangers_reach_origins_and_proxies_are_judged() {
    let place = founded();
    for (arguments, check, state, text) in [
        (&[][..], "listen", "good", "127.0.0.1:8080"),
        (&["--listen", "0.0.0.0:8080"], "listen", "warn", "in clear"),
        (
            &["--operations-listen", "127.0.0.1:9090"],
            "listen",
            "good",
            "",
        ),
        (
            &["--operations-listen", "0.0.0.0:9090"],
            "listen",
            "bad",
            "without a credential",
        ),
        (
            &["--origin", "https://a.example"],
            "origin",
            "good",
            "https://a.example",
        ),
        (
            &["--origin", "http://localhost:8080"],
            "origin",
            "warn",
            "this machine",
        ),
        (
            &["--public-url", "https://a.example/x"],
            "origin",
            "warn",
            "no pages",
        ),
        (
            &["--origin", "http://a.example"],
            "origin",
            "bad",
            "nobody can sign in",
        ),
        (&[], "proxies", "good", "none is needed"),
        (
            &["--trusted-proxies", "10.0.0.0/8"],
            "proxies",
            "good",
            "names them",
        ),
        (
            &["--origin", "https://a.example"],
            "proxies",
            "warn",
            "counts as one client",
        ),
        (
            &["--trusted-proxies", "0.0.0.0/0"],
            "proxies",
            "bad",
            "chooses an address",
        ),
    ] {
        expect(&place, arguments, check, state, text);
    }
}

#[test]
fn few_descriptors_are_warned_about_and_very_few_are_bad() {
    let place = founded();
    for (files, state) in [(10_000, "good"), (1_000, "warn"), (200, "bad")] {
        let doctor = place.command(["doctor", "--json"]);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")])
            .arg(doctor.get_program())
            .args(doctor.get_args())
            .current_dir(place.path(""))
            .stdin(Stdio::null());
        for (name, _) in doctor.get_envs() {
            limited.env_remove(name);
        }
        let (_, findings) = by(&mut limited);
        let (found, said) = of(&findings, "descriptors");
        assert_eq!(found, state, "{said}");
    }
}
