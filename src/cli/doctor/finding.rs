//! What a check has found.

use crate::cli::record::{Record, plain_text};

/// How it is with something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// As it should be.
    Good,
    /// The service works, but somebody should know.
    Warn,
    /// Something that was asked for does not work, or somebody may read or do what is not theirs.
    Bad,
}

impl State {
    /// As it is printed.
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Warn => "warn",
            State::Bad => "bad",
        }
    }
}

/// What a check has found. Neither text has a secret in it.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The name of the check.
    pub(super) check: &'static str,
    /// How it is.
    pub(super) state: State,
    /// What was found.
    pub(super) found: String,
    /// What to do; none where it is good.
    pub(super) to_do: Option<String>,
}

impl Finding {
    pub(super) fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Good,
            found: found.into(),
            to_do: None,
        }
    }

    pub(super) fn warn(
        check: &'static str,
        found: impl Into<String>,
        to_do: impl Into<String>,
    ) -> Self {
        Self {
            check,
            state: State::Warn,
            found: found.into(),
            to_do: Some(to_do.into()),
        }
    }

    pub(super) fn bad(
        check: &'static str,
        found: impl Into<String>,
        to_do: impl Into<String>,
    ) -> Self {
        Self {
            state: State::Bad,
            ..Self::warn(check, found, to_do)
        }
    }

    /// As JSON has it.
    pub(super) fn record(&self) -> Record {
        Record::default()
            .with("check", self.check)
            .with("state", self.state.name())
            .with("found", self.found.as_str())
            .with_optional("toDo", self.to_do.as_deref())
    }

    /// As a person reads it: a line, and what to do on another.
    pub(super) fn lines(&self) -> String {
        let (check, found) = (self.check, plain_text(&self.found));
        let state = self.state.name();
        let line = format!("{state:4}  {check:16}  {found}\n");
        let to_do = self.to_do.as_deref().map(plain_text);
        line + &to_do.map_or_else(String::new, |it| format!("{:24}to do: {it}\n", ""))
    }
}
