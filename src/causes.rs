//! What is behind an error of somebody else's library, which often says least itself.

use std::error::Error;

/// An error with what caused it, in one line.
pub(crate) fn causes(error: &dyn Error) -> String {
    let all = std::iter::successors(Some(error), |it| (*it).source());
    let all: Vec<_> = all.map(ToString::to_string).collect();
    all.join(": ")
}
