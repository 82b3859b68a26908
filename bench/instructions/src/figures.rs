//! The figures: instructions of each path, as text and compared.
//!
//! A path may take a tenth more than was accepted. That allows for differences between machines with the same sources:
//! another C library, other CPU features behind its `memcpy`. (The compiler is pinned by `rust-toolchain.toml`.) A
//! tenth less fails as well: until the new figure is accepted, the gain could be lost again unnoticed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// How much a path may move, in percent, up or down.
const TOLERANCE: u64 = 10;

const HEAD: &str = "\
# Instructions of each hot path, one walk. Written by `cargo instructions accept`; see bench/README.md.
";

/// Instructions by path, in the order in which they were counted.
#[derive(Debug, PartialEq, Eq)]
pub struct Figures(Vec<(String, u64)>);

impl Figures {
    /// Figures of these paths.
    pub fn new<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> Figures {
        Figures(
            counts
                .into_iter()
                .map(|(path, count)| (path.to_owned(), count))
                .collect(),
        )
    }

    /// Compares the accepted figures with those of now.
    pub fn compare(&self, now: &Figures) -> Comparison {
        let mut gone: BTreeMap<&str, u64> = self
            .0
            .iter()
            .map(|(path, count)| (&**path, *count))
            .collect();
        let mut changes: Vec<Change> = now
            .0
            .iter()
            .map(|(path, count)| Change {
                path: path.clone(),
                before: gone.remove(&**path),
                now: Some(*count),
            })
            .collect();
        changes.extend(gone.into_iter().map(|(path, count)| Change {
            path: path.to_owned(),
            before: Some(count),
            now: None,
        }));
        Comparison(changes)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        self.0
            .iter()
            .try_for_each(|(path, count)| writeln!(f, "{path:<16}{count:>12}"))
    }
}

impl FromStr for Figures {
    type Err = String;

    fn from_str(text: &str) -> Result<Figures, String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let figure = |line: &str| {
            let (path, count) = line.split_once(' ')?;
            Some((path.to_owned(), count.trim().parse().ok()?))
        };
        lines
            .map(|line| {
                figure(line).ok_or_else(|| format!("`{line}` is no path and its instructions"))
            })
            .collect::<Result<_, _>>()
            .map(Figures)
    }
}

/// The change of each path.
#[derive(Debug)]
pub struct Comparison(Vec<Change>);

#[derive(Debug)]
struct Change {
    path: String,
    before: Option<u64>,
    now: Option<u64>,
}

impl Change {
    /// Both figures, if there are two to compare.
    fn both(&self) -> Option<(u64, u64)> {
        self.before.zip(self.now)
    }

    /// By how many percent it has grown.
    fn percent(&self) -> Option<f64> {
        self.both()
            .map(|(before, now)| (now as f64 / before as f64 - 1.0) * 100.0)
    }

    fn holds(&self) -> bool {
        self.both()
            .is_some_and(|(before, now)| now.abs_diff(before) * 100 <= before * TOLERANCE)
    }
}

impl Comparison {
    /// Whether every path is within its accepted figure.
    pub fn holds(&self) -> bool {
        self.0.iter().all(Change::holds)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<16}{:>12}{:>12}{:>10}",
            "instructions", "accepted", "now", "change"
        )?;
        for change in &self.0 {
            let count =
                |count: Option<u64>| count.map_or("none".to_owned(), |count| count.to_string());
            let percent = change
                .percent()
                .map_or("".to_owned(), |percent| format!("{percent:+.1} %"));
            write!(
                f,
                "{:<16}{:>12}{:>12}{percent:>10}",
                change.path,
                count(change.before),
                count(change.now)
            )?;
            writeln!(f, "{}", if change.holds() { "" } else { "  <--" })?;
        }
        if self.holds() {
            return Ok(());
        }
        writeln!(
            f,
            "\nWhat is marked has moved by more than {TOLERANCE} %, or is new or gone. If it has grown: is that worth it? \
             `cargo instructions accept` accepts the figures of now; commit them with what changed them."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(get: u64) -> Figures {
        Figures::new([("key-check", 1_000), ("get", get)])
    }

    #[test]
    fn figures_are_read_back_as_they_were_written() {
        assert_eq!(figures(7).to_string().parse(), Ok(figures(7)));
        assert!("get".parse::<Figures>().is_err());
        assert!("get many".parse::<Figures>().is_err());
    }

    #[test]
    fn a_path_may_move_by_a_tenth_either_way() {
        for (now, holds) in [
            (1_100, true),
            (900, true),
            (1_101, false),
            (899, false),
            (0, false),
        ] {
            assert_eq!(
                figures(1_000).compare(&figures(now)).holds(),
                holds,
                "{now}"
            );
        }
    }

    #[test]
    fn a_failure_names_the_path_both_figures_the_change_and_what_to_do() {
        let shown = figures(1_000).compare(&figures(1_150)).to_string();
        let line = shown
            .lines()
            .find(|line| line.ends_with("<--"))
            .expect("a marked line");
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words, ["get", "1000", "1150", "+15.0", "%", "<--"]);
        assert!(shown.contains("cargo instructions accept"), "{shown}");
    }

    #[test]
    fn a_path_that_is_new_or_gone_fails() {
        let (one, two) = (Figures::new([("get", 1_000)]), figures(1_000));
        assert!(!one.compare(&two).holds());
        assert!(!two.compare(&one).holds());
    }
}
