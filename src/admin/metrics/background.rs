//! The background tasks, and the state of the log.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Unit;

use super::page::Page;
use crate::app::counts::Counts;
use crate::{log, trace};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Run {
    task: &'static str,
    outcome: &'static str,
}

pub(super) fn show(page: &mut Page<'_>, counts: &Counts) {
    let tasks = [
        ("delete_expired", &counts.delete_expired),
        ("empty", &counts.empty),
        ("erase_pairs", &counts.erase_pairs),
        ("record_uses", &counts.record_uses),
    ];
    let runs = Family::<Run, Counter>::default();
    for (task, of_task) in tasks {
        for (outcome, count) in [("done", &of_task.done), ("failed", &of_task.failed)] {
            let run = Run { task, outcome };
            runs.get_or_create(&run).inc_by(count.get());
        }
    }
    page.metric(
        "background_runs",
        None,
        "How often each background task was done, or failed",
        runs,
    );
    page.gauges(
        "background_last_done_timestamp",
        Some(Unit::Seconds),
        "When each background task was last done, in Unix time; 0 before the first time",
        "task",
        // No server's clock is before 1970.
        tasks.map(|(task, of_task)| (task, of_task.last_done().max(0) as u64)),
    );
    page.counter(
        "expired_rows_deleted",
        "Rows that were deleted as they had expired",
        counts.expired_rows.get(),
    );
    page.counter(
        "log_lines_dropped",
        "Lines of the log that were dropped, as nobody read them fast enough",
        log::dropped_lines(),
    );
}

pub(super) fn show_spans(page: &mut Page<'_>, counts: &trace::Counts) {
    page.counter(
        "trace_spans_ended",
        "Spans that were to be told to the collector",
        counts.ended.get(),
    );
    page.counter(
        "trace_spans_delivered",
        "Spans that the collector has taken",
        counts.delivered.get(),
    );
}
