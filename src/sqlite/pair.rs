//! Sealed pairs of tokens, and how the file forgets them.
//!
//! While a grace runs, the file holds a pair sealed under the token before it ([`crate::domain::session::grace`]). After
//! that, no holder of that token may find the pair there any more. Clearing the column is not enough: when SQLite splits a
//! page, it leaves on it the rows that it moved to another, `secure_delete` or not; and the log has all versions of a page.
//! So a pair is turned into noise, wherever it lies:
//!
//! 1. A pair is wrapped once more, under a random key of the ten seconds in which its token was spent.
//! 2. The keys of the last half minute are a whole table (`grace_key`). That is one page, which is never split, and where a
//!    deleted row is overwritten.
//! 3. The background task deletes a key when every grace that may need it has ended ([`forget`]).
//! 4. Then the log is emptied (`wal.rs`). Nothing is left of a pair anywhere, except bytes that cannot be opened.
//!
//! The wrapping is done in SQL, next to the number of the key. A copy takes neither pairs nor keys along (`store/copy`).

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

use super::handle::Handle;
use crate::domain::Error;
use crate::domain::secret::random;
use crate::domain::session::grace::GRACE;
use crate::domain::time::Timestamp;
use crate::sql::values;

/// Makes a key for a time, unless there is one.
pub(crate) const ADD_KEY: &str = "INSERT INTO grace_key (number, key) VALUES ($1 / 10000, new_grace_key()) ON CONFLICT DO NOTHING";

/// The pair in a row of `refresh_token`, as it was before it was wrapped.
pub(crate) const UNWRAPPED: &str =
    "unwrap_pair(successor, (SELECT key FROM grace_key WHERE number = spent_at / 10000))";

/// The pair `$3`, as stored in the row of a token spent at `$2`, for which there is a key.
pub(crate) const WRAPPED: &str =
    "wrap_pair($3, (SELECT key FROM grace_key WHERE number = $2 / 10000))";

/// Defines `new_grace_key()`, `wrap_pair(pair, key)` and `unwrap_pair(pair, key)`. The result is null if either argument is,
/// and for a pair that the key does not open.
pub(super) fn define_wrapping(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function("new_grace_key", 0, flags, |_| Ok(random::<32>()))?;
    connection.create_scalar_function("wrap_pair", 2, flags, |values| answer(values, wrap))?;
    connection.create_scalar_function("unwrap_pair", 2, flags, |values| answer(values, unwrap))
}

fn answer(
    values: &Context<'_>,
    change: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let (pair, key) = (values.get_raw(0), values.get_raw(1));
    let (Some(pair), Some(key)) = (pair.as_blob_or_null()?, key.as_blob_or_null()?) else {
        return Ok(None);
    };
    Ok(change(pair, key))
}

/// A nonce, then the ciphertext.
fn wrap(pair: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let key = RandomizedNonceKey::new(&AES_256_GCM, key).ok()?;
    let mut pair = pair.to_vec();
    let nonce = key.seal_in_place_append_tag(Aad::empty(), &mut pair).ok()?;
    Some([nonce.as_ref().as_slice(), &pair].concat())
}

fn unwrap(wrapped: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let (nonce, ciphertext) = wrapped.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let key = RandomizedNonceKey::new(&AES_256_GCM, key).ok()?;
    let mut pair = ciphertext.to_vec();
    let pair = key.open_in_place(nonce, Aad::empty(), &mut pair).ok()?;
    Some(pair.to_vec())
}

/// Step 3, when no pair is left whose grace is not running `now`. Returns whether there was anything to forget.
pub(super) fn forget(handle: &Handle, now: Timestamp) -> Result<bool, Error> {
    let delete = "DELETE FROM grace_key WHERE number NOT BETWEEN ?1 / 10000 AND ?2 / 10000";
    let deleted = handle.execute(delete, values![now.before(GRACE), now.after(GRACE)])?;
    Ok(deleted > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_opened_by_its_key_alone() {
        let (key, other) = (random::<32>(), random::<32>());
        let wrapped = wrap(b"pair", &key).unwrap();
        assert_eq!(unwrap(&wrapped, &key).as_deref(), Some(&b"pair"[..]));
        assert_eq!(unwrap(&wrapped, &other), None);
        assert_eq!(unwrap(&wrapped[..20], &key), None);
        assert_eq!(unwrap(b"", &key), None);
    }

    #[test]
    fn the_answer_is_null_where_there_is_no_pair_or_no_key() {
        let connection = Connection::open_in_memory().unwrap();
        define_wrapping(&connection).unwrap();
        let ask = |query: &str| -> Option<Vec<u8>> {
            connection.query_row(query, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(
            ask("SELECT unwrap_pair(wrap_pair(x'05', zeroblob(32)), zeroblob(32))"),
            Some(vec![5])
        );
        for nothing in [
            "wrap_pair(NULL, zeroblob(32))",
            "wrap_pair(x'05', NULL)",
            "unwrap_pair(NULL, zeroblob(32))",
            "unwrap_pair(x'05', NULL)",
            "unwrap_pair(x'05', zeroblob(32))",
        ] {
            assert_eq!(ask(&format!("SELECT {nothing}")), None, "{nothing}");
        }
    }
}
