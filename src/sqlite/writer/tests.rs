//! The shared commit: what each job is answered, and what stays.

use std::fs::File;
use std::future::Future;
use std::path::Path;
use std::sync::mpsc;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use rusqlite::{OptionalExtension as _, params};
use tempfile::TempDir;

use super::queue::{GROUP, QUEUE};
use super::*;

/// Whose changes are made.
const TEAM: Holder = Holder::Team(uuid::Uuid::nil());

/// A writer on a table with a unique column and a foreign key that is checked at the commit.
fn writer() -> (TempDir, Writer) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("test.db");
    let mut connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;
             CREATE TABLE number (value INTEGER NOT NULL UNIQUE) STRICT;
             CREATE TABLE child (parent INTEGER NOT NULL REFERENCES number (value)
                 DEFERRABLE INITIALLY DEFERRED) STRICT;",
        )
        .unwrap();
    connection.busy_timeout(Duration::from_millis(300)).unwrap();
    let own = Connection::open(&path).unwrap();
    let file = Arc::new(File::open(&path).unwrap());
    let log = Checkpointer::start(&mut connection, own, file, &Arc::default()).unwrap();
    let disk_waits = Arc::new(DiskWaits::new());
    let writer = Writer::start(connection, log, &Arc::default(), &disk_waits).unwrap();
    (folder, writer)
}

fn elsewhere(folder: &TempDir) -> Connection {
    Connection::open(folder.path().join("test.db")).unwrap()
}

fn numbers(folder: &TempDir) -> Vec<i64> {
    numbers_at(folder.path())
}

fn numbers_at(folder: &Path) -> Vec<i64> {
    let connection = Connection::open(folder.join("test.db")).unwrap();
    let mut all = connection
        .prepare("SELECT value FROM number ORDER BY value")
        .unwrap();
    all.query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn insert(sql: &Handle, value: i64) -> Result<i64, Error> {
    sql.execute("INSERT INTO number (value) VALUES (?1)", params![value])?;
    Ok(value)
}

/// A change that holds up the writer from now on, until the sender is used (or dropped). Whatever comes is of the next group.
async fn hold(writer: &Writer) -> (BoxFuture<'_, Result<(), Error>>, mpsc::Sender<()>) {
    let (begun, begins) = mpsc::channel();
    let (release, held) = mpsc::channel();
    let mut change = writer
        .write(TEAM, move |_| {
            let _ = begun.send(());
            let _ = held.recv();
            Ok(())
        })
        .boxed();
    queue(&mut change).await;
    begins.recv().unwrap();
    (change, release)
}

/// Polls once, which queues a change.
async fn queue<F: Future + Unpin>(future: &mut F) {
    assert!(futures::poll!(future).is_pending());
}

#[tokio::test]
async fn a_change_of_another_holder_is_in_the_next_group_however_much_waits() {
    let (folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let mut others: Vec<_> = (0..2 * GROUP as i64)
        .map(|value| writer.write(TEAM, move |sql| insert(sql, value)).boxed())
        .collect();
    for other in &mut others {
        queue(other).await;
    }
    let count = |sql: &Handle| -> Result<i64, Error> {
        let count = |connection: &Connection| {
            connection.query_row("SELECT count(*) FROM number", [], |row| row.get(0))
        };
        sql.with(count).map_err(Error::internal)
    };
    let mut its = writer.write(Holder::Service, count).boxed();
    queue(&mut its).await;
    release.send(()).unwrap();
    assert_eq!(its.await.unwrap(), 1);
    held.await.unwrap();
    join_all(others).await;
    assert_eq!(numbers(&folder).len(), 2 * GROUP);
}

#[tokio::test]
async fn a_group_that_takes_long_ends_and_what_is_left_is_the_next_in_its_order() {
    let (folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let change = |holder, value, takes| {
        let path = folder.path().to_owned();
        let change = move |sql: &Handle| {
            std::thread::sleep(takes);
            insert(sql, value)?;
            // What the groups before have inserted.
            Ok(numbers_at(&path))
        };
        writer.write(holder, change).boxed()
    };
    let (long, short) = (LONG, Duration::ZERO);
    let mut changes = [
        change(TEAM, 1, long),
        change(TEAM, 2, short),
        change(TEAM, 3, short),
        change(Holder::Service, 4, long),
    ];
    for change in &mut changes {
        queue(change).await;
    }
    release.send(()).unwrap();
    held.await.unwrap();
    let seen: Vec<_> = join_all(changes)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    // One of each holder in turn, so 4 is before 2.
    assert_eq!(seen, [vec![], vec![1, 4], vec![1, 4], vec![1]]);
    assert_eq!(numbers(&folder), [1, 2, 3, 4]);
}

#[tokio::test]
async fn what_was_acknowledged_is_seen_by_others() {
    let (folder, writer) = writer();
    for value in 0..10 {
        assert_eq!(
            writer
                .write(TEAM, move |sql| insert(sql, value))
                .await
                .unwrap(),
            value
        );
        assert_eq!(numbers(&folder).len() as i64, value + 1);
    }
}

#[tokio::test]
async fn a_change_that_fails_or_panics_is_undone_alone() {
    let (folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let group = async {
        let good = (0..4).map(|value| writer.write(TEAM, move |sql| insert(sql, 10 * value)));
        let fails = writer.write(TEAM, |sql| {
            insert(sql, 1)?;
            Err::<(), _>(Error::DuplicateSku)
        });
        let breaks_a_rule = writer.write(TEAM, |sql| insert(sql, 2).and_then(|_| insert(sql, 2)));
        let panics = writer.write(TEAM, |sql| -> Result<(), Error> {
            insert(sql, 3)?;
            panic!("on purpose")
        });
        let last = writer.write(TEAM, |sql| insert(sql, 50));
        let release = async move { release.send(()).unwrap() };
        tokio::join!(join_all(good), fails, breaks_a_rule, panics, last, release)
    };
    let (held, (good, fails, breaks_a_rule, panics, last, ())) = tokio::join!(held, group);
    held.unwrap();
    assert!(good.iter().all(Result::is_ok), "{good:?}");
    assert!(matches!(fails, Err(Error::DuplicateSku)));
    assert!(
        matches!(breaks_a_rule, Err(Error::Internal(_))),
        "{breaks_a_rule:?}"
    );
    let panics = panics.unwrap_err();
    assert_eq!(
        panics.cause().unwrap().to_string(),
        "a change panicked: on purpose"
    );
    last.unwrap();
    assert_eq!(numbers(&folder), [0, 10, 20, 30, 50]);
}

#[tokio::test]
async fn only_a_change_that_has_to_be_undone_makes_its_group_run_again() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    for (undo, expected) in [(false, 1), (true, 2)] {
        let (folder, writer) = writer();
        let (held, release) = hold(&writer).await;
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let group = async {
            let good = writer.write(TEAM, move |sql| {
                counted.fetch_add(1, Ordering::Relaxed);
                insert(sql, 1)
            });
            let refused = writer.write(TEAM, move |sql| {
                if undo {
                    insert(sql, 2)?;
                }
                insert(sql, 1)
            });
            let release = async move { release.send(()).unwrap() };
            tokio::join!(good, refused, release)
        };
        let (_, (good, refused, ())) = tokio::join!(held, group);
        good.unwrap();
        refused.unwrap_err();
        assert_eq!(runs.load(Ordering::Relaxed), expected);
        assert_eq!(numbers(&folder), [1]);
    }
}

#[tokio::test]
async fn a_commit_that_fails_answers_no_success_and_leaves_the_writer_usable() {
    let (folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let group = async {
        let good = writer.write(TEAM, |sql| insert(sql, 1));
        let orphan = writer.write(TEAM, |sql| {
            sql.execute("INSERT INTO child (parent) VALUES (9)", [])
        });
        let release = async move { release.send(()).unwrap() };
        tokio::join!(good, orphan, release)
    };
    let (_, (good, orphan, ())) = tokio::join!(held, group);
    assert!(matches!(good, Err(Error::Unavailable(_))), "{good:?}");
    assert!(matches!(orphan, Err(Error::Unavailable(_))), "{orphan:?}");
    assert_eq!(numbers(&folder), [0; 0]);
    writer.write(TEAM, |sql| insert(sql, 1)).await.unwrap();
}

/// What it saw, such as a sku that is taken, may have been work that was not committed.
#[tokio::test]
async fn a_commit_that_fails_answers_no_refusal_either_but_a_bug_is_told() {
    let (_folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let group = async {
        let good = writer.write(TEAM, |sql| insert(sql, 1));
        let refused = writer.write(TEAM, |sql| {
            let taken = "SELECT 1 FROM number WHERE value = 1";
            match sql
                .with(|connection| connection.query_row(taken, [], |_| Ok(())).optional())
                .map_err(Error::internal)?
            {
                Some(()) => Err(Error::DuplicateSku),
                None => insert(sql, 2),
            }
        });
        let bug = writer.write(TEAM, |_| Err::<(), _>(Error::internal("a bug")));
        let orphan = writer.write(TEAM, |sql| {
            sql.execute("INSERT INTO child (parent) VALUES (9)", [])
        });
        let release = async move { release.send(()).unwrap() };
        tokio::join!(good, refused, bug, orphan, release)
    };
    let (_, (_, refused, bug, _, ())) = tokio::join!(held, group);
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    assert!(matches!(bug, Err(Error::Internal(_))), "{bug:?}");
}

#[tokio::test]
async fn a_change_that_ends_the_transaction_fails_its_group_and_nothing_else() {
    let (folder, writer) = writer();
    let ended = writer.write(TEAM, |sql| sql.execute("ROLLBACK", [])).await;
    assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    writer.write(TEAM, |sql| insert(sql, 1)).await.unwrap();
    assert_eq!(numbers(&folder), [1]);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_keeps_what_it_took() {
    let (folder, writer) = writer();
    let (_held, release) = hold(&writer).await;
    let mut waiting = Vec::new();
    let refused = loop {
        let value = waiting.len() as i64;
        let mut change = Box::pin(writer.write(TEAM, move |sql| insert(sql, value)));
        match futures::poll!(&mut change) {
            std::task::Poll::Pending => waiting.push(change),
            std::task::Poll::Ready(refused) => break refused,
        }
    };
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    let taken = waiting.len();
    assert_eq!(taken, TEAM.share(QUEUE));
    release.send(()).unwrap();
    assert!(join_all(waiting).await.iter().all(Result::is_ok));
    assert_eq!(numbers(&folder).len(), taken);
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_wait_can_be_foreseen_is_refused_at_once_and_never_runs() {
    let (folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    tokio::time::advance(Duration::from_secs(2)).await;
    tokio::time::resume();
    let refused = writer.write(TEAM, |sql| insert(sql, 1)).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    release.send(()).unwrap();
    held.await.unwrap();
    writer.write(TEAM, |sql| insert(sql, 2)).await.unwrap();
    assert_eq!(numbers(&folder), [2]);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_waits_too_long_is_unavailable_and_never_runs() {
    let (folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let late = writer.write(TEAM, |sql| insert(sql, 1)).await;
    assert!(matches!(late, Err(Error::Unavailable(_))), "{late:?}");
    release.send(()).unwrap();
    drop(held);
    drop(writer); // Waits until the queue is empty.
    assert_eq!(numbers(&folder), [0; 0]);
}

#[tokio::test]
async fn a_lock_held_by_another_process_is_waited_for_then_unavailable() {
    let (folder, writer) = writer();
    let other = elsewhere(&folder);
    other
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO number VALUES (1)")
        .unwrap();
    let refused = writer.write(TEAM, |sql| insert(sql, 2)).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");

    let mut waits = Box::pin(writer.write(TEAM, |sql| insert(sql, 3)));
    queue(&mut waits).await;
    other.execute_batch("COMMIT").unwrap();
    waits.await.unwrap();
    assert_eq!(numbers(&folder), [1, 3]);
}

#[tokio::test]
async fn groups_and_waits_are_counted() {
    let (_folder, writer) = writer();
    let (held, release) = hold(&writer).await;
    let insert = |value| Box::pin(writer.write(TEAM, move |sql| insert(sql, value)));
    let (mut one, mut other) = (insert(1), insert(2));
    queue(&mut one).await;
    queue(&mut other).await;
    release.send(()).unwrap();
    let (held, one, other) = tokio::join!(held, one, other);
    held.unwrap();
    one.and(other).unwrap();
    let counts = &writer.counts;
    let count =
        |spread: &crate::tally::Spread| spread.ranges().map(|(_, count)| count).sum::<u64>();
    assert_eq!((count(&counts.waits), counts.groups.sum()), (3, 3));
    let groups = count(&counts.groups);
    assert_eq!(groups, 2, "the two that waited are one group");
    assert_eq!(count(&counts.transactions), groups);
    assert_eq!((counts.failed_groups.get(), writer.queued()), (0, 0));
}
