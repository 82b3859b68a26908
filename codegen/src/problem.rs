//! What is wrong with a document, where, and what to write instead.

use std::fmt::{self, Write as _};

use crate::model::Pointer;

/// One thing that the generator refuses.
///
/// Displayed as `openapi/catalog.yaml: /paths/~1products/get: the operation has no operationId; write ...`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file, as the caller named it.
    pub file: String,
    /// Where in the file; empty for the whole document.
    pub pointer: Pointer,
    /// What is wrong.
    pub cause: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            pointer,
            cause,
            remedy,
        } = self;
        write!(f, "{}: ", OneLine(file))?;
        if !pointer.as_str().is_empty() {
            write!(f, "{}: ", OneLine(pointer.as_str()))?;
        }
        write!(f, "{}; {}", OneLine(cause), OneLine(remedy))
    }
}

/// A text on one line. A document may contain any name, and a program that reads these lines (cargo reads those of a build
/// script) would take a second line for a message of its own.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char {
            char if char.is_control() => write!(f, "{}", char.escape_default()),
            char => f.write_char(char),
        })
    }
}

/// Everything that is wrong with a document, in the order of the pointers; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts the problems found. Returns `None` if there are none.
    #[must_use]
    pub(crate) fn new(mut found: Vec<Problem>) -> Option<Self> {
        found.sort();
        found.dedup();
        (!found.is_empty()).then_some(Self(found))
    }

    /// The problems, one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    /// Writes one line per problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|problem| writeln!(f, "{problem}"))
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_whatever_the_document_says() {
        let problem = Problem {
            file: "a.yaml".to_owned(),
            pointer: Pointer::default().child("x\ncargo::rustc-env=A=b"),
            cause: "`\r\u{85}`".to_owned(),
            remedy: "remove it".to_owned(),
        };
        let shown = problem.to_string();
        assert_eq!(
            shown,
            "a.yaml: /x\\ncargo::rustc-env=A=b: `\\r\\u{85}`; remove it"
        );
    }
}
