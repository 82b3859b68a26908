//! Copies everything that one store keeps into another, of the same engine or not.
//!
//! 1. The source is read in one transaction that sees one moment of it and changes nothing, its schema included. Servers may
//!    go on working on it; what they write from then on is not in the copy.
//! 2. The target gets a fresh schema, or already has one, and must otherwise be empty; if not, it is refused and left as it
//!    is. No other process can write to it until the end.
//! 3. Each [table](TABLES) is read in the order of its key, some rows at a time, and written as it is: ids, times, digests,
//!    idempotency records, and the secret that signs cursors. So keys, sessions, codes, cursors and repeats go on working.
//!    Only the sealed pairs of tokens stay behind, with the keys that they are wrapped under, and count in no checksum
//!    (docs/decisions.md, S20).
//! 4. Every table is then read back from the target, and must have the checksum of what was read from the source.
//! 5. Only then is the one transaction on the target committed ([`Copied::commit`]). Until then, anything that ends the copy
//!    (an error, a signal, a machine that stops) leaves the target as empty as it was. An SQLite file that was created for
//!    the copy is removed again, unless the process was killed.
//!
//! The rules are written here, once. An engine knows how to read rows of a table and how to write them.

mod checksum;
mod error;

use super::{
    Address, OpenError, api_key, audit, auth_code, browser_session, email_change, idempotency,
    identity, invitation, item, mail_count, member, oauth_client, one_time_link, open, passkey,
    password, product, product_import, refused_sign_in, secret, session, share_link, team, token,
    user,
};
use crate::domain::Cause;
use crate::postgres;
use crate::sql::copy::{Row, Side};
use crate::sql::schema::Table;
use crate::sqlite::{self, Made};

pub use checksum::Checksum;
pub(crate) use checksum::Hasher;
pub use error::CopyError;

/// All tables, each after those that it refers to. A table that an engine has and this list lacks fails a test, which reads
/// the catalog of each engine.
pub const TABLES: &[Table] = &[
    secret::row::TABLE,
    team::row::TABLE,
    api_key::row::TABLE,
    product::row::TABLE,
    idempotency::row::TABLE,
    user::row::TABLE,
    member::row::TABLE,
    product_import::row::TABLE,
    oauth_client::row::TABLE,
    oauth_client::redirect_uri_row::TABLE,
    session::row::TABLE,
    auth_code::row::TABLE,
    token::access_row::TABLE,
    token::refresh_row::TABLE,
    item::folder_row::TABLE,
    item::file_row::TABLE,
    share_link::row::TABLE,
    password::row::TABLE,
    password::wrong_row::TABLE,
    refused_sign_in::row::TABLE,
    passkey::row::TABLE,
    passkey::spent_row::TABLE,
    identity::row::TABLE,
    browser_session::row::TABLE,
    one_time_link::row::TABLE,
    invitation::row::TABLE,
    mail_count::row::TABLE,
    email_change::row::TABLE,
    audit::row::TABLE,
];

/// The progress of a copy.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The current table.
    pub table: &'static str,
    /// Whether it is being read back from the target.
    pub verifying: bool,
    /// Rows so far: each counts once when written, and once when read back.
    pub rows: u64,
    /// The final value of `rows`.
    pub total: u64,
}

/// What was copied of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The table.
    pub table: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// Their checksum.
    pub checksum: Checksum,
}

/// A copy that is complete and verified, but not yet visible to others.
pub struct Copied {
    target: Target,
    address: Address,
    /// The tables, in the order of [`TABLES`].
    pub tables: Vec<Tally>,
}

impl Copied {
    /// The checksum of everything: stores with the same content have the same, on any engine.
    pub fn checksum(&self) -> Checksum {
        let mut hasher = Hasher::new();
        for tally in &self.tables {
            hasher.table(tally.table, &tally.checksum);
        }
        hasher.finish()
    }

    /// How many rows there are in all.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|tally| tally.rows).sum()
    }

    /// Step 5.
    ///
    /// # Errors
    /// [`CopyError::Commit`].
    pub async fn commit(self) -> Result<(), CopyError> {
        let address = self.address;
        let Target { side, made } = self.target;
        // A commit that fails leaves everything or nothing; the operator checks which.
        if let Some(made) = made {
            made.keep();
        }
        let committed = side.commit().await;
        committed.map_err(|source| CopyError::Commit { address, source })
    }
}

/// Steps 1 to 4, reporting progress. May be dropped at any time: then nothing has happened. Must be called inside a tokio
/// runtime, on a thread that nothing else waits for: SQLite is read and written on it.
///
/// # Errors
/// [`CopyError`].
pub async fn copy(
    from: &Address,
    to: &Address,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<Copied, CopyError> {
    let mut source = open_source(from).await?;
    let mut total = 0;
    for table in TABLES {
        let count = source.count(table).await;
        total += 2 * count.map_err(unreadable(from, table.name))?;
    }
    let mut copying = Copying {
        from,
        to,
        source,
        target: open_target(to).await?,
        progress,
        rows: 0,
        total,
    };
    let mut tables = Vec::new();
    for table in TABLES {
        tables.push(copying.fill(table).await?);
    }
    for (table, tally) in TABLES.iter().zip(&tables) {
        copying.verify(table, tally).await?;
    }
    Ok(Copied {
        target: copying.target,
        address: to.clone(),
        tables,
    })
}

/// Checks that `to` could take a copy: step 2, which leaves nothing behind except the schema in a PostgreSQL database.
///
/// # Errors
/// [`CopyError`].
pub async fn check_target(to: &Address) -> Result<(), CopyError> {
    open_target(to).await.map(drop)
}

/// The target of a copy, and the file that was created for it, if one was. They are dropped in this order.
struct Target {
    side: Box<dyn Side>,
    made: Option<Made>,
}

/// A copy in progress.
struct Copying<'a> {
    from: &'a Address,
    to: &'a Address,
    source: Box<dyn Side>,
    target: Target,
    progress: &'a mut (dyn FnMut(Progress) + Send),
    rows: u64,
    total: u64,
}

impl Copying<'_> {
    /// Step 3.
    async fn fill(&mut self, table: &'static Table) -> Result<Tally, CopyError> {
        let selected = self.source.select(table).await;
        selected.map_err(unreadable(self.from, table.name))?;
        let mut tally = Counting::new(table);
        loop {
            let batch = self.source.fetch().await;
            let batch = batch.map_err(unreadable(self.from, table.name))?;
            if batch.is_empty() {
                return Ok(tally.finish());
            }
            let rows = tally.add(&batch);
            let written = self.target.side.insert(table, batch).await;
            written.map_err(unwritable(self.to, table.name))?;
            self.advance(table, false, rows).await;
        }
    }

    /// Step 4.
    async fn verify(&mut self, table: &'static Table, expected: &Tally) -> Result<(), CopyError> {
        let selected = self.target.side.select(table).await;
        selected.map_err(unwritable(self.to, table.name))?;
        let mut tally = Counting::new(table);
        loop {
            let batch = self.target.side.fetch().await;
            let batch = batch.map_err(unwritable(self.to, table.name))?;
            if batch.is_empty() {
                break;
            }
            let rows = tally.add(&batch);
            self.advance(table, true, rows).await;
        }
        match tally.finish() == *expected {
            true => Ok(()),
            false => Err(CopyError::Differs {
                address: self.to.clone(),
                table: table.name,
            }),
        }
    }

    /// Reports that more rows are done, and yields. SQLite never waits, so this is where a copy can be cancelled.
    async fn advance(&mut self, table: &Table, verifying: bool, rows: u64) {
        self.rows += rows;
        (self.progress)(Progress {
            table: table.name,
            verifying,
            rows: self.rows,
            total: self.total,
        });
        tokio::task::yield_now().await;
    }
}

/// Step 1.
async fn open_source(from: &Address) -> Result<Box<dyn Side>, CopyError> {
    let missing = || CopyError::NoSource(from.clone());
    let mut source = open_as_it_is(from).await?.ok_or_else(missing)?;
    let schema = source
        .begin_reading()
        .await
        .map_err(unreadable(from, DATABASE))?;
    match schema {
        (0, _) => Err(missing()),
        (found, known) if found != known => Err(other_schema(from, found, known)),
        _ => Ok(source),
    }
}

/// Step 2.
async fn open_target(to: &Address) -> Result<Target, CopyError> {
    let made = match to {
        Address::Sqlite(path) => Made::new(path).map_err(OpenError::from)?,
        Address::Postgres(_) => None,
    };
    let side = open_empty(to).await?;
    Ok(Target { side, made })
}

/// Step 2, once the file is made.
async fn open_empty(to: &Address) -> Result<Box<dyn Side>, CopyError> {
    // Opening a store migrates its schema, which must not happen to one that has data.
    if let Some(mut before) = open_as_it_is(to).await? {
        let (found, known) = before
            .begin_reading()
            .await
            .map_err(unwritable(to, DATABASE))?;
        if found != 0 && found != known {
            return Err(other_schema(to, found, known));
        }
    }
    drop(open(to).await?);
    let missing = || CopyError::NoSource(to.clone());
    let mut target = open_as_it_is(to).await?.ok_or_else(missing)?;
    target
        .begin_writing(TABLES)
        .await
        .map_err(unwritable(to, DATABASE))?;
    for table in TABLES {
        let count = target.count(table).await;
        if count.map_err(unwritable(to, table.name))? > 0 {
            return Err(CopyError::NotEmpty {
                address: to.clone(),
                table: table.name,
            });
        }
    }
    Ok(target)
}

/// Opens what exists, unchanged; `None` if there is no such file.
async fn open_as_it_is(address: &Address) -> Result<Option<Box<dyn Side>>, OpenError> {
    Ok(match address {
        Address::Sqlite(path) if !path.exists() => None,
        Address::Sqlite(path) => Some(Box::new(sqlite::Copy::open(path)?)),
        Address::Postgres(address) => {
            let opened = postgres::Copy::open(address).await;
            Some(Box::new(opened.map_err(Box::new)?))
        }
    })
}

fn other_schema(address: &Address, found: i64, known: i64) -> CopyError {
    CopyError::Schema {
        address: address.clone(),
        found,
        known,
    }
}

/// What an error names that concerns no table.
const DATABASE: &str = "the database";

fn unreadable(address: &Address, table: &'static str) -> impl FnOnce(Cause) -> CopyError {
    let address = address.clone();
    move |source| CopyError::Read {
        address,
        table,
        source,
    }
}

fn unwritable(address: &Address, table: &'static str) -> impl FnOnce(Cause) -> CopyError {
    let address = address.clone();
    move |source| CopyError::Write {
        address,
        table,
        source,
    }
}

/// A tally in progress.
struct Counting {
    table: &'static str,
    rows: u64,
    hasher: Hasher,
}

impl Counting {
    fn new(table: &'static Table) -> Counting {
        Counting {
            table: table.name,
            rows: 0,
            hasher: Hasher::new(),
        }
    }

    /// Counts rows, and returns how many they are.
    fn add(&mut self, batch: &[Row]) -> u64 {
        for row in batch {
            self.hasher.row(row);
        }
        let rows = batch.len() as u64; // a thousand
        self.rows += rows;
        rows
    }

    fn finish(self) -> Tally {
        Tally {
            table: self.table,
            rows: self.rows,
            checksum: self.hasher.finish(),
        }
    }
}
