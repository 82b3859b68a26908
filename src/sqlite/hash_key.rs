//! `hash_key(team_id, mode, key)`, by which an idempotency record is found. It is an SQL function because the migration and
//! a copy need it too.

use aws_lc_rs::digest;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Defines the function: the first half of the SHA-256 of all three arguments, each preceded by its length.
pub(super) fn define_hash_key(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("hash_key", 3, flags, |arguments| {
        let mut hash = digest::Context::new(&digest::SHA256);
        for at in 0..arguments.len() {
            let field = arguments.get_raw(at).as_bytes()?;
            hash.update(&(field.len() as u64).to_be_bytes());
            hash.update(field);
        }
        Ok(hash.finish().as_ref()[..16].to_vec())
    })
}
