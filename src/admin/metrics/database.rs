//! The database: its connections, and what only one of the engines has.

use prometheus_client::registry::Unit;

use super::page::Page;
use crate::store::Numbers;
use crate::{postgres, sqlite};

/// Shows the numbers of the engine in use; the other has no series.
pub(super) fn show(page: &mut Page<'_>, store: &Numbers<'_>) {
    match store {
        Numbers::Sqlite(numbers) => {
            let readers = (numbers.readers, numbers.readers_used, numbers.readers_most);
            show_connections(page, readers);
            show_waits(page, &numbers.counts.reader_waits);
            show_groups(page, &numbers.counts.groups, &numbers.counts.waits);
            show_writes(page, numbers);
            show_files(page, numbers);
        }
        Numbers::Postgres(numbers) => {
            let pool = (numbers.connections, numbers.used, numbers.most);
            show_connections(page, pool);
            show_waits(page, &numbers.counts.waits);
            show_groups(page, &numbers.counts.groups, &numbers.counts.group_waits);
            show_postgres(page, numbers);
        }
    }
}

fn show_connections(page: &mut Page<'_>, (all, used, most): (usize, usize, usize)) {
    page.gauges(
        "database_connections",
        None,
        "Connections to the database: of PostgreSQL's pool, or those of SQLite that only read",
        "state",
        [
            ("used", used as u64),
            ("idle", all.saturating_sub(used) as u64),
        ],
    );
    page.gauge(
        "database_connections_limit",
        None,
        "As many connections may be open",
        most as u64,
    );
}

fn show_waits(page: &mut Page<'_>, waits: &crate::tally::Spread) {
    page.times(
        "database_connection_wait",
        "How long it took to get one of these connections, with the wait for a turn",
        waits,
    );
}

fn show_groups(page: &mut Page<'_>, sizes: &crate::tally::Spread, waits: &crate::tally::Spread) {
    page.times(
        "write_queue_wait",
        "How long a change waited for its turn; of PostgreSQL, those of products and refreshes",
        waits,
    );
    page.sizes(
        "write_group_size",
        "Changes that were committed together; of PostgreSQL, those of products and refreshes",
        sizes,
    );
}

fn show_postgres(page: &mut Page<'_>, numbers: &postgres::Numbers<'_>) {
    page.gauge(
        "database_connection_waiting",
        None,
        "Requests that wait for a connection",
        numbers.waiting as u64,
    );
    page.counter(
        "database_retries",
        "How often something was done again, as a connection was lost or the server asked for it",
        numbers.counts.retries.get(),
    );
    page.counter(
        "write_undone_groups",
        "Groups that were not committed; each change in them was made again, by itself or in another group",
        numbers.counts.undone_groups.get(),
    );
}

fn show_writes(page: &mut Page<'_>, numbers: &sqlite::Numbers<'_>) {
    let counts = numbers.counts;
    page.gauge(
        "write_queue_length",
        None,
        "Changes that wait for their turn to be written",
        numbers.queued as u64,
    );
    page.times(
        "write_transaction_duration",
        "How long the transaction of such a group took, from its beginning to the end of its commit",
        &counts.transactions,
    );
    page.counter(
        "write_failed_groups",
        "Groups that could not be committed: the disk failed or was full, or another process held the lock",
        counts.failed_groups.get(),
    );
}

fn show_files(page: &mut Page<'_>, numbers: &sqlite::Numbers<'_>) {
    let counts = numbers.counts;
    page.gauge(
        "database_size",
        Some(Unit::Bytes),
        "Length of the database file",
        numbers.file_bytes,
    );
    page.counter(
        "slow_reads",
        "Reads that waited for the disk, a fifth of a millisecond or longer, also those of what a change needs; not all of the first ones are noticed",
        counts.slow_reads.get(),
    );
    page.gauge(
        "wal_size",
        Some(Unit::Bytes),
        "Length of the file of the write-ahead log",
        numbers.log_bytes,
    );
    page.gauge(
        "wal_pages",
        None,
        "Pages of the write-ahead log that are in use",
        numbers.log_pages.into(),
    );
    page.times_of(
        "checkpoint_duration",
        "How long a checkpoint of the write-ahead log took: beside the writer, or by the writer, for whom all changes wait",
        "by",
        [
            ("background", &counts.background_checkpoints),
            ("writer", &counts.writer_checkpoints),
        ],
    );
    page.counter(
        "checkpoints_failed",
        "Checkpoints that failed, or could not be made as somebody reads in the log or another process is at it",
        counts.failed_checkpoints.get(),
    );
}
