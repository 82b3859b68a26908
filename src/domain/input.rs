//! Checks of what people type on the command line and into forms, beyond those a parser makes.

use std::time::Duration;

use super::Error;
use super::letter::is_unseen;
use super::time::Timestamp;

/// Trims text that a person typed, and refuses it if it is empty or only has characters that nobody sees, is longer than 255
/// characters, has a control character (U+0000 above all, which PostgreSQL cannot store), or one that turns the text around
/// it: a name is shown beside others' names.
pub(crate) fn typed_text(field: &'static str, text: &str) -> Result<String, Error> {
    let text = text.trim();
    let refused = |why: &str| Err(Error::invalid(field, why));
    match () {
        () if text.chars().all(|it| is_unseen(it) || it.is_whitespace()) => {
            refused("is empty; give it at least one character")
        }
        () if text.chars().count() > 255 => refused("is longer than 255 characters; shorten it"),
        () if text.contains(char::is_control) => refused("has a control character; remove it"),
        () if text.contains(turns_text) => {
            refused("has a character that turns the text around it; remove it")
        }
        () => Ok(text.to_owned()),
    }
}

/// Embeddings, overrides and isolates (Unicode Standard Annex 9). Marks of direction, which many languages need, turn nothing.
fn turns_text(it: char) -> bool {
    matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns when something that is made `now` and lasts for `time` ends.
///
/// # Errors
/// [`Error::Refused`] if that is after the year 9999, which no timestamp can express.
pub(crate) fn end_of(now: Timestamp, time: Duration) -> Result<Timestamp, Error> {
    let end = now.after(time);
    if end > Timestamp::LAST {
        return Err(Error::Refused(
            "the expiry lies after the year 9999; shorten it".into(),
        ));
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_text_has_one_to_255_characters_and_none_of_control() {
        assert_eq!(typed_text("name", " a b ").unwrap(), "a b");
        typed_text("name", &"é".repeat(255)).unwrap();
        let unseen = [
            "\u{200b}",
            "\u{200f} \u{feff}",
            "\u{34f}\u{fe0f}\u{17b4}\u{2800}\u{e0100}",
            "\u{202e}ecalevoL",
            "a\u{2066}b",
        ];
        typed_text("name", "\u{5d0}\u{200f}!").unwrap();
        for wrong in ["", " ", "a\0b", "a\nb", &"é".repeat(256)]
            .into_iter()
            .chain(unseen)
        {
            typed_text("name", wrong).unwrap_err();
        }
    }

    #[test]
    fn what_ends_does_so_in_the_year_9999_at_the_latest() {
        let time = Duration::from_millis(1);
        let last = Timestamp::LAST;
        assert_eq!(end_of(last.before(time), time).unwrap(), last);
        end_of(last, time).unwrap_err();
    }
}
