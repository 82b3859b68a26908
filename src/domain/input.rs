//! What people type on the command line and into forms, beyond what a parser knows.

use std::time::Duration;

use super::Error;
use super::time::Timestamp;

/// Text that a person typed: trimmed, not empty, no control characters (U+0000 above all, which PostgreSQL cannot hold), at
/// most 255 characters.
pub(crate) fn typed_text(field: &'static str, text: &str) -> Result<String, Error> {
    let text = text.trim();
    let refused = |why: &str| Err(Error::invalid(field, why));
    match () {
        () if text.is_empty() => refused("is empty; give it at least one character"),
        () if text.chars().count() > 255 => refused("is longer than 255 characters; shorten it"),
        () if text.contains(char::is_control) => refused("has a control character; remove it"),
        () => Ok(text.to_owned()),
    }
}

/// When something ends that is made `now` and lasts for `time`.
///
/// # Errors
/// [`Error::Refused`] when that is after the year 9999, which no timestamp can say.
pub(crate) fn end_of(now: Timestamp, time: Duration) -> Result<Timestamp, Error> {
    let end = now.after(time);
    if end > Timestamp::LAST {
        return Err(Error::Refused(
            "the expiry lies after the year 9999; shorten it".into(),
        ));
    }
    Ok(end)
}
