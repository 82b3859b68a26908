//! Describes a third-party library's error with its causes: the error itself often says least.

use std::error::Error;

use tokio_postgres::error::DbError;

/// Returns an error and its causes in one line, for the service's operators.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = said(error);
    let mut cause = error.source();
    while let Some(found) = cause {
        let more = said(found);
        // Some repeat their cause.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = found.source();
    }
    text
}

/// Returns the error's own text. PostgreSQL's details are left out: they quote rows, which do not belong in a log.
fn said(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<DbError>() {
        Some(error) => {
            let (severity, message) = (error.severity(), error.message());
            format!("{severity}: {message} ({})", error.code().code())
        }
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Failure {
        text: &'static str,
        source: Option<Box<Failure>>,
    }

    #[test]
    fn each_cause_is_told_once() {
        let failure = |text, source: Option<Failure>| Failure {
            text,
            source: source.map(Box::new),
        };
        let refused = failure("connection refused", None);
        let repeats = failure("io: connection refused", Some(refused));
        let error = failure("db error", Some(repeats));
        assert_eq!(causes(&error), "db error: io: connection refused");
    }
}
