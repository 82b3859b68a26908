//! Cursors: where the next page of a list starts, as a text that only this service can make.
//!
//! 1. A cursor is the id of the last item of a page and an HMAC-SHA256, in base64url: 64 characters.
//! 2. The HMAC covers the list that the page belongs to (team, mode, status), so a cursor is useless in another list,
//!    and no list can be entered at a place that the service did not choose.
//! 3. Its key is in the database: a cursor outlives a restart, and any process on the same database accepts it.
//!
//! A cursor names an id and not a row number. Products created meanwhile come before the first page,
//! archived ones drop out, and neither moves the others.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::Error;
use super::catalog::Catalog;
use super::id::ProductId;
use super::product::StatusFilter;

/// Bytes of an id, and of an HMAC. Together a multiple of three, so that base64 has no spare bits
/// and every text stands for one cursor.
const ID: usize = 16;
const TAG: usize = 32;

/// Makes and reads cursors.
#[derive(Debug)]
pub struct Cursors(hmac::Key);

impl Cursors {
    /// Cursors under this key.
    pub fn new(key: [u8; 32]) -> Cursors {
        Cursors(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    /// The cursor for what comes after the product `last` in a list.
    pub fn write(&self, catalog: Catalog, status: StatusFilter, last: ProductId) -> String {
        let tag = hmac::sign(&self.0, &message(catalog, status, last.as_bytes()));
        URL_SAFE_NO_PAD.encode([last.as_bytes(), tag.as_ref()].concat())
    }

    /// The product after which the page of this cursor starts.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`] unless [`Cursors::write`] made the text for the same list.
    pub fn read(
        &self,
        catalog: Catalog,
        status: StatusFilter,
        text: &str,
    ) -> Result<ProductId, Error> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| Error::InvalidCursor)?;
        let bytes: [u8; ID + TAG] = bytes.try_into().map_err(|_| Error::InvalidCursor)?;
        let (id, tag) = bytes
            .split_first_chunk::<ID>()
            .ok_or(Error::InvalidCursor)?;
        // In constant time.
        hmac::verify(&self.0, &message(catalog, status, id), tag)
            .map_err(|_| Error::InvalidCursor)?;
        Ok(ProductId(Uuid::from_bytes(*id)))
    }
}

/// What the HMAC covers. The words hold no line break and the rest has a fixed length, so that no two
/// lists have the same message.
fn message(catalog: Catalog, status: StatusFilter, last: &[u8; ID]) -> Vec<u8> {
    let words = format!("products cursor 1\n{}\n{status}\n", catalog.mode);
    [words.as_bytes(), catalog.team_id.as_bytes(), last].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::catalog::Mode;
    use crate::domain::id::TeamId;

    fn catalog(team: u128, mode: Mode) -> Catalog {
        Catalog {
            team_id: TeamId(Uuid::from_u128(team)),
            mode,
        }
    }

    fn id() -> ProductId {
        ProductId(Uuid::from_u128(0x0193_4567_89ab_7cde_8f01_2345_6789_abcd))
    }

    #[test]
    fn a_cursor_is_read_back_in_its_own_list_only() {
        let cursors = Cursors::new([7; 32]);
        let list = catalog(1, Mode::Live);
        let text = cursors.write(list, StatusFilter::Active, id());
        assert_eq!(text.len(), 64);
        assert!(
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert_eq!(
            cursors.read(list, StatusFilter::Active, &text).unwrap(),
            id()
        );

        for (list, status) in [
            (catalog(2, Mode::Live), StatusFilter::Active),
            (catalog(1, Mode::Test), StatusFilter::Active),
            (catalog(1, Mode::Live), StatusFilter::All),
        ] {
            let refused = cursors.read(list, status, &text);
            assert!(
                matches!(refused, Err(Error::InvalidCursor)),
                "{list:?} {status}"
            );
        }
        let other_key = Cursors::new([8; 32]).read(list, StatusFilter::Active, &text);
        assert!(matches!(other_key, Err(Error::InvalidCursor)));
    }

    #[test]
    fn a_cursor_with_any_character_changed_is_refused() {
        let cursors = Cursors::new([7; 32]);
        let list = catalog(1, Mode::Live);
        let text = cursors.write(list, StatusFilter::Active, id());
        for at in 0..text.len() {
            for other in "AZaz09-_"
                .chars()
                .filter(|other| !text[at..].starts_with(*other))
            {
                let wrong = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                let refused = cursors.read(list, StatusFilter::Active, &wrong);
                assert!(matches!(refused, Err(Error::InvalidCursor)), "{wrong}");
            }
        }
    }

    #[test]
    fn texts_that_are_no_cursor_are_refused() {
        let cursors = Cursors::new([7; 32]);
        let list = catalog(1, Mode::Live);
        let text = cursors.write(list, StatusFilter::Active, id());
        for wrong in [
            "",
            "A",
            "====",
            "\0",
            "é",
            &text[1..],
            &text[4..],
            &format!("{text}AAAA"),
        ] {
            let refused = cursors.read(list, StatusFilter::Active, wrong);
            assert!(matches!(refused, Err(Error::InvalidCursor)), "{wrong:?}");
        }
    }
}
