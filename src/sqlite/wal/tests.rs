use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::domain::holder::Holder;
use crate::sqlite::{Sqlite, connect, create_private};

/// Bytes of a page. Most is counted in pages here: the smallest take the least room on a disk.
const SMALL: u32 = 512;
/// The usual one, for what is counted in bytes.
const USUAL: u32 = 4096;

/// A file with a table, a writer of it, and its log.
fn file(page: u32) -> (TempDir, PathBuf, Connection, Checkpointer) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    let file = Arc::new(create_private(&path).unwrap());
    let mut connection = connect(&path).unwrap();
    connection.pragma_update(None, "page_size", page).unwrap();
    // Durability takes time here, and makes no difference.
    let create = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; CREATE TABLE page (x BLOB)";
    connection.execute_batch(create).unwrap();
    let own = connect(&path).unwrap();
    let log = Checkpointer::start(&mut connection, own, file, &Arc::default()).unwrap();
    (folder, path, connection, log)
}

/// Commits about twenty small pages.
fn commit(connection: &mut Connection, log: &mut Checkpointer) {
    let insert = "INSERT INTO page VALUES (zeroblob(10000))";
    connection.execute(insert, []).unwrap();
    log.committed(connection);
}

/// Commits one page after the other until nothing is left of the log.
fn commit_until_empty(path: &Path, connection: &mut Connection, log: &mut Checkpointer) {
    let begun = Instant::now();
    while path.with_extension("db-wal").metadata().unwrap().len() > 0 {
        // It makes the file no longer, however long this takes.
        connection.pragma_update(None, "user_version", 1).unwrap();
        log.committed(connection);
        assert!(begun.elapsed() < Duration::from_secs(10), "it stays");
    }
}

fn pages(log: &Checkpointer) -> u32 {
    log.shared.pages.load(Ordering::Relaxed)
}

fn rows(path: &Path) -> u32 {
    let count = "SELECT count(*) FROM page";
    let connection = connect(path).unwrap();
    connection.query_row(count, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_log_begins_anew_while_one_commit_follows_the_other() {
    let (_folder, path, mut connection, mut log) = file(SMALL);
    let (mut commits, begun) = (0, Instant::now());
    let mut begun_anew = 0;
    while begun_anew < 3 {
        let before = pages(&log);
        commit(&mut connection, &mut log);
        commits += 1;
        begun_anew += u32::from(pages(&log) < before);
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", pages(&log));
    }
    assert_eq!(rows(&path), commits);
}

/// As when a command imports a catalog beside a server.
#[test]
fn the_log_begins_anew_while_two_processes_write() {
    let (_folder, path, mut connection, mut log) = file(SMALL);
    let mut import = connect(&path).unwrap();
    import.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let (own, its_file) = (connect(&path).unwrap(), File::open(&path).unwrap());
    let mut its_log =
        Checkpointer::start(&mut import, own, Arc::new(its_file), &Arc::default()).unwrap();
    let step =
        "WITH RECURSIVE line (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM line WHERE n < 4000)
        INSERT INTO page SELECT zeroblob(500) FROM line";
    std::thread::scope(|scope| {
        let imports = scope.spawn(|| {
            for _ in 0..60 {
                import.execute(step, []).unwrap();
                its_log.committed(&mut import);
            }
        });
        while !imports.is_finished() {
            commit(&mut connection, &mut log);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let length = path.with_extension("db-wal").metadata().unwrap().len();
    let pages = length / u64::from(SMALL);
    // Half a million are written. Each process may wait in vain for the other's checkpoint on a slow disk, but not each time.
    assert!(pages < u64::from(4 * BLOCKING_PAGES), "{pages}");
}

/// Nobody can write while it waits.
#[test]
fn a_checkpoint_waits_for_a_reader_for_a_moment_only() {
    let (_folder, path, mut connection, _log) = file(SMALL);
    let reader = connect(&path).unwrap();
    let begin = "BEGIN; SELECT count(*) FROM page";
    reader.execute_batch(begin).unwrap();
    let insert = "INSERT INTO page VALUES (zeroblob(500))";
    connection.execute(insert, []).unwrap();
    let begun = Instant::now();
    let full = checkpoint_waiting::<WRITERS_TAKE>(&mut connection, CheckpointMode::FULL);
    assert!(!full, "the reader is in its way");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[test]
fn a_log_that_no_thread_checkpoints_is_left_to_the_writer_in_the_end() {
    let (_folder, path, mut connection, mut log) = file(SMALL);
    // A thread that never finishes: only what the writer does itself counts.
    log.wake = None;
    let mut commits = 0;
    while log.before.is_none_or(|before| pages(&log) >= before) && commits < BLOCKING_PAGES {
        commit(&mut connection, &mut log);
        commits += 1;
        assert!(pages(&log) < BLOCKING_PAGES + CHECKPOINT_PAGES + 100);
        if pages(&log) < 100 && commits > 100 {
            return assert_eq!(rows(&path), commits);
        }
    }
    panic!("it has {} pages", pages(&log));
}

#[test]
fn a_reader_of_one_moment_sees_it_until_its_end_whatever_is_checkpointed() {
    let (_folder, path, mut connection, mut log) = file(SMALL);
    let reader = connect(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || reader.query_row("SELECT count(*) FROM page", [], |row| row.get::<_, u32>(0));
    assert_eq!(count().unwrap(), 0);
    while pages(&log) < 3 * CHECKPOINT_PAGES {
        commit(&mut connection, &mut log);
    }
    assert_eq!(count().unwrap(), 0);
    reader.execute_batch("COMMIT").unwrap();
    while pages(&log) > CHECKPOINT_PAGES {
        commit(&mut connection, &mut log);
    }
}

#[test]
fn what_a_long_read_kept_from_being_copied_is_no_work_of_the_writer() {
    let (_folder, path, mut connection, mut log) = file(USUAL);
    let reader = connect(&path).unwrap();
    let begin = "BEGIN; SELECT count(*) FROM page";
    reader.execute_batch(begin).unwrap();
    while pages(&log) < BLOCKING_PAGES + 2 * CHECKPOINT_PAGES {
        commit(&mut connection, &mut log);
    }
    // From here on, this test decides when the thread does something.
    drop(log.wake.take());
    log.thread.take().unwrap().join().unwrap();
    reader.execute_batch("COMMIT").unwrap();
    let due = pages(&log) + 2 * CHECKPOINT_PAGES;
    while pages(&log) < due {
        commit(&mut connection, &mut log);
    }
    let copied = path.metadata().unwrap().len() / u64::from(USUAL);
    assert!(
        copied < u64::from(CHECKPOINT_PAGES),
        "{copied} by the writer"
    );

    let file = File::open(&path).unwrap();
    checkpoint_most(&connect(&path).unwrap(), &file, &log.shared);
    for _ in 0..2 {
        commit(&mut connection, &mut log);
    }
    assert!(pages(&log) < CHECKPOINT_PAGES, "it starts anew");
    let length = path.with_extension("db-wal").metadata().unwrap().len();
    assert!(length <= LONGEST_FILE as u64, "{length}");
}

#[test]
fn emptying_a_log_waits_for_readers_and_keeps_no_commit_waiting() {
    let (_folder, path, mut connection, mut log) = file(SMALL);
    let length = || path.with_extension("db-wal").metadata().unwrap().len();
    let reader = connect(&path).unwrap();
    commit(&mut connection, &mut log);
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM page")
        .unwrap();
    let emptying = log.emptying();
    emptying.after(true);
    let begun = Instant::now();
    for _ in 0..20 {
        commit(&mut connection, &mut log);
        assert!(length() > 0);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "each one waits");
    reader.execute_batch("COMMIT").unwrap();
    commit_until_empty(&path, &mut connection, &mut log);
}

#[test]
fn a_long_log_is_emptied_while_one_commit_follows_the_other() {
    let (_folder, path, mut connection, mut log) = file(SMALL);
    while pages(&log) < 2 * FINAL_PAGES {
        commit(&mut connection, &mut log);
    }
    log.emptying().after(false);
    commit_until_empty(&path, &mut connection, &mut log);
}

/// A file with a log of `length` pages, as a killed process leaves it, and a writer that has just opened it.
fn killed(length: u32) -> (TempDir, PathBuf, Connection, Checkpointer) {
    let (folder, path, connection, log) = file(SMALL);
    let killed = folder.path().join("killed.db");
    let insert = "INSERT INTO page VALUES (zeroblob(500000))";
    let wal = |path: &Path| path.with_extension("db-wal");
    while wal(&path).metadata().unwrap().len() < u64::from(SMALL * length) {
        connection.execute(insert, []).unwrap();
    }
    std::fs::copy(&path, &killed).unwrap();
    std::fs::copy(wal(&path), wal(&killed)).unwrap();
    drop((connection, log));
    let mut connection = connect(&killed).unwrap();
    connection
        .execute_batch("PRAGMA synchronous = OFF")
        .unwrap();
    let own = connect(&killed).unwrap();
    let file = Arc::new(File::open(&killed).unwrap());
    let log = Checkpointer::start(&mut connection, own, file, &Arc::default()).unwrap();
    (folder, killed, connection, log)
}

#[test]
fn what_a_killed_process_left_of_the_log_is_no_work_of_the_writer() {
    let (_folder, path, mut connection, mut log) = killed(BLOCKING_PAGES + CHECKPOINT_PAGES);
    let copied = || path.metadata().unwrap().len() / u64::from(SMALL) > u64::from(CHECKPOINT_PAGES);
    // A thread that never starts: only what the writer does itself counts.
    let wake = log.wake.take();
    log.emptying().after(false);
    connection.execute_batch("BEGIN IMMEDIATE; COMMIT").unwrap();
    log.committed(&mut connection);
    assert!(!copied(), "by one who has changed nothing");
    for _ in 0..10 {
        commit(&mut connection, &mut log);
    }
    assert!(!copied(), "by one who has changed something");

    log.wake = wake;
    commit_until_empty(&path, &mut connection, &mut log);
}

#[tokio::test]
async fn closing_the_store_leaves_no_log_behind() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    let store = Sqlite::open(&path).unwrap();
    store
        .write(Holder::Service, |sql| sql.execute("DELETE FROM team", []))
        .await
        .unwrap();
    assert!(path.with_extension("db-wal").exists());
    drop(store);
    assert!(!path.with_extension("db-wal").exists());
}
