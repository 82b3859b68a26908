//! A backup's description of itself.

use serde::{Deserialize, Serialize};

use super::watch::Watch;
use crate::domain::Cause;
use crate::domain::time::Timestamp;
use crate::sqlite::Snapshot;
use crate::store::copy::Hasher;

/// What is in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The checksum of everything in it.
    pub id: String,
    /// When it was begun, in milliseconds since 1970: what was acknowledged before is in it.
    pub made_at: Timestamp,
    /// The version of the program that made it.
    pub made_by: String,
    /// The version of the schema.
    pub schema_version: i64,
    /// How large the database in it is, in bytes.
    pub database_bytes: u64,
    /// Its tables, by name.
    pub tables: Vec<Tally>,
}

/// What is in a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The table.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
    /// The SHA-256 of their values, in lower-case hexadecimal digits.
    pub checksum: String,
}

impl Manifest {
    /// How many rows there are in all.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|tally| tally.rows).sum()
    }
}

/// Counts all of a file.
///
/// # Errors
/// The error from SQLite.
pub(super) fn tally(snapshot: &Snapshot, watch: &Watch) -> Result<Vec<Tally>, Cause> {
    let tables = snapshot.tables()?;
    let total = tables.len() as u64; // some dozens
    let mut tallies = Vec::new();
    for (done, table) in (0..).zip(tables) {
        watch.show("counting", done, total);
        let (mut hasher, mut rows) = (Hasher::new(), 0);
        snapshot.each_row(&table, |row| {
            hasher.row(row);
            rows += 1;
        })?;
        tallies.push(Tally {
            table,
            rows,
            checksum: hasher.finish().to_string(),
        });
    }
    Ok(tallies)
}

/// The checksum of all tables.
pub(super) fn id(tallies: &[Tally]) -> String {
    let mut hasher = Hasher::new();
    for tally in tallies {
        hasher.text(&tally.table);
        hasher.text(&tally.checksum);
    }
    hasher.finish().to_string()
}
