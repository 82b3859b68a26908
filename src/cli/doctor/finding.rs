//! The result of a check.

use crate::cli::record::{Record, plain_text};

/// The state of what was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// As it should be.
    Good,
    /// The service works, but the operator should know.
    Warn,
    /// Something that was asked for does not work, or others may read or do something that they should not.
    Bad,
}

impl State {
    /// The name that is printed.
    pub(super) fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Warn => "warn",
            State::Bad => "bad",
        }
    }
}

/// The result of a check. Neither text contains a secret.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// The name of the check.
    pub(super) check: &'static str,
    /// The state of what was checked.
    pub(super) state: State,
    /// What was found.
    pub(super) found: String,
    /// What to do; `None` if the state is good.
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

    /// As JSON.
    pub(super) fn record(&self) -> Record {
        Record::default()
            .with("check", self.check)
            .with("state", self.state.name())
            .with("found", self.found.as_str())
            .with_optional("toDo", self.to_do.as_deref())
    }

    /// As text for people: one line, and what to do on another.
    pub(super) fn lines(&self) -> String {
        let (check, found) = (self.check, plain_text(&self.found));
        let state = self.state.name();
        let line = format!("{state:4}  {check:16}  {found}\n");
        let to_do = self.to_do.as_deref().map(plain_text);
        line + &to_do.map_or_else(String::new, |it| format!("{:24}to do: {it}\n", ""))
    }
}
