//! Checks that the time of an answer does not reveal whether an account exists (docs/decisions.md, P31).
//!
//! Attempts of both kinds alternate, so that anything else that slows the machine slows both. Then the times are ranked
//! (the Mann-Whitney test): for two kinds that are alike, the sum of the ranks of one is off by four deviations once in
//! sixteen thousand runs; for a kind that hashes nothing, always. `INVOICING_TIMING_ROUNDS` sets more rounds; a hundred
//! at most, as mail that is not accepted waits.

use std::time::{Duration, Instant};

use crate::browser::{Browser, server};
use crate::team::person;

/// How many wrong passwords are compared for each account.
const ATTEMPTS: usize = 9;

/// By how many deviations the first kind is slower than expected by chance.
fn deviations(first: &[Duration], second: &[Duration]) -> f64 {
    let mut all: Vec<_> = first.iter().map(|it| (*it, true)).collect();
    all.extend(second.iter().map(|it| (*it, false)));
    all.sort();
    let ranks = all
        .iter()
        .enumerate()
        .filter(|(_, (_, is_first))| *is_first);
    let sum: f64 = ranks.map(|(rank, _)| (rank + 1) as f64).sum();
    let (m, n) = (first.len() as f64, second.len() as f64);
    let mean = m * (m + n + 1.0) / 2.0;
    (sum - mean) / (m * n * (m + n + 1.0) / 12.0).sqrt()
}

#[test]
fn times_that_differ_are_told_from_times_that_do_not() {
    let millis = |from: u64| (0..40).map(move |it| Duration::from_millis(from + it));
    let (fast, slow): (Vec<_>, Vec<_>) = (millis(0).collect(), millis(20).collect());
    assert!(deviations(&slow, &fast) > 4.0);
    assert!(deviations(&fast, &slow) < -4.0);
    assert!(deviations(&fast, &fast).abs() < 1.0);
}

async fn attempt(browser: &mut Browser<'_>, email: &str) -> Duration {
    let fields = [
        ("email", email),
        ("password", "a wrong one, typed by mistake"),
    ];
    let begun = Instant::now();
    let answer = browser.post("/sign-in", &fields).await;
    let took = begun.elapsed();
    answer.expect(422, "The email or the password is wrong.");
    took
}

#[tokio::test]
async fn a_sign_in_takes_as_long_whether_there_is_such_an_account() {
    let Some(service) = server() else { return };
    let rounds = std::env::var("INVOICING_TIMING_ROUNDS");
    let rounds = rounds.map_or(5, |it| it.parse().expect("a number"));
    let mut times: [Vec<Duration>; 3] = Default::default();
    let mut browser = Browser::new(&service);
    attempt(&mut browser, "warm@example.com").await;
    for round in 0..rounds {
        let emails = ["known", "unknown", "without"].map(|it| format!("{it}-{round}@example.com"));
        person(&service, &emails[0]).await;
        // A user without a password.
        let create = ["user", "create", "--email", &emails[2], "--name", "x"];
        service.command(&create).expect("an own server");
        for number in 0..ATTEMPTS {
            // Each kind follows each other one: unfinished work of one slows the next.
            for kind in [[0, 1, 2], [2, 1, 0], [1, 0, 2]][number % 3] {
                times[kind].push(attempt(&mut browser, &emails[kind]).await);
            }
        }
    }
    let [known, unknown, without] = &times;
    for (kind, others) in [
        ("an unknown email", unknown),
        ("a user without a password", without),
    ] {
        let off = deviations(known, others);
        assert!(
            off.abs() < 4.0,
            "{kind}: {off:.1} deviations\n{known:?}\n{others:?}"
        );
    }
}

/// The mail is sent after the answer (P13).
#[tokio::test]
async fn a_forgotten_password_takes_as_long_whether_there_is_such_an_account() {
    let settings = [
        ("INVOICING_SMTP_URL", "smtp://127.0.0.1:1"),
        ("INVOICING_MAIL_FROM", "no-reply@example.com"),
    ];
    let Some(service) = crate::browser::server_with(&settings) else {
        return;
    };
    let rounds = std::env::var("INVOICING_TIMING_ROUNDS");
    let rounds = rounds.map_or(5, |it| it.parse().expect("a number"));
    let mut browser = Browser::new(&service);
    for round in 0..8 * rounds {
        let create = [
            "user",
            "create",
            "--email",
            &format!("{round}@example.com"),
            "--name",
            "x",
        ];
        service.command(&create).expect("an own server");
    }
    let [mut known, mut unknown] = [Vec::new(), Vec::new()];
    for round in 0..8 * rounds {
        let mut both = [("", &mut known), ("nobody-", &mut unknown)];
        if round % 2 == 1 {
            both.reverse();
        }
        for (name, times) in both {
            // Unfinished work of the last answer slows whatever comes next, which is this.
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(150) {
                browser.get("/reset").await;
            }
            let email = format!("{name}{round}@example.com");
            let begun = Instant::now();
            let answer = browser.post("/reset", &[("email", &email)]).await;
            times.push(begun.elapsed());
            assert_eq!(answer.location(), "/reset?done=asked");
        }
    }
    let off = deviations(&known, &unknown);
    assert!(
        off.abs() < 4.0,
        "{off:.1} deviations\n{known:?}\n{unknown:?}"
    );
}
