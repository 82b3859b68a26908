//! What is behind an error of somebody else's library, which often says least itself.

use std::error::Error;

use tokio_postgres::error::DbError;

/// An error with what caused it, in one line, for whoever runs the service.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = said(error);
    let mut cause = error.source();
    while let Some(found) = cause {
        let more = said(found);
        // Some say what their cause says.
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = found.source();
    }
    text
}

/// What it says itself. PostgreSQL's details are left out: they quote rows, which belong in no log.
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
