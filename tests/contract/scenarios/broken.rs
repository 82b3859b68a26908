//! Answers that the service gives only when something around it is broken.

use std::fs::File;
use std::path::Path;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rusqlite::Connection;
use test_support::caller::Answer;
use test_support::deployment::Skip;
use test_support::postgres;

use crate::given::given_own;

/// A database without a table that the operation needs after its caller was admitted.
pub async fn broken_database(operation: &str) -> Result<Answer, Skip> {
    let given = given_own(&[])?;
    let request = given.request(operation).await?;
    let table = match operation {
        "exchange_token" => "auth_code",
        "list_links" => "share_link",
        _ => "product",
    };
    let rename = format!("ALTER TABLE {table} RENAME TO gone");
    let address = given.service.own_database()?;
    match address.strip_prefix("sqlite:") {
        Some(file) => {
            let database = Connection::open(file).expect("it is a database");
            let rename = format!("PRAGMA foreign_keys = off; {rename}");
            database.execute_batch(&rename).expect("the table is there");
        }
        None => drop(postgres::ask(address, &rename)),
    }
    Ok(given.send(request).await)
}

/// A database that another process, this one, has locked for longer than the service waits.
pub async fn locked_database(operation: &str) -> Result<Answer, Skip> {
    let given = given_own(&[])?;
    let request = given.request(operation).await?;
    let address = given.service.own_database()?;
    let Some(file) = address.strip_prefix("sqlite:") else {
        let _locked = postgres::Locked::all(address);
        return Ok(given.send(request).await);
    };
    let index = Path::new(file).with_extension("db-shm");
    let index = File::options().read(true).write(true).open(index);
    let index = index.expect("a database in use has an index of its log");
    lock(&index);
    Ok(given.send(request).await)
}

/// Keeps a service from changing its database, until it is dropped.
pub fn lock_writes(address: &str) -> Box<dyn std::any::Any> {
    let Some(file) = address.strip_prefix("sqlite:") else {
        return Box::new(postgres::Locked::all(address));
    };
    let database = Connection::open(file).expect("it is a database");
    let begin = database.execute_batch("BEGIN IMMEDIATE");
    begin.expect("no request holds a lock for long");
    Box::new(database)
}

/// Takes the locks that readers and writers of a SQLite database in WAL mode need: the eight bytes
/// from 120 on, <https://sqlite.org/walformat.html#wal_locks>. They are free again when the file is
/// closed.
///
/// `BEGIN EXCLUSIVE` would not do: in WAL mode, readers do not wait for a writer.
fn lock(index: &File) {
    let locks = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 120,
        l_len: 8,
        l_pid: 0,
    };
    fcntl(index, FcntlArg::F_SETLKW(&locks)).expect("no request holds a lock for long");
}
