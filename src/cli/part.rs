//! Which part of a list a command shows.

use std::error::Error;
use std::str::FromStr;

use crate::domain::list::{PART_LIMIT, Part};

use super::output::Output;
use super::record::Record;

/// The most entries that a command lists at once; all of them are held in memory.
const MAX_LIMIT: i64 = 10_000;

/// Which part of a list to show.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PartOf<Id>
where
    Id: FromStr<Err: Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    /// Maximum number of entries to list, up to 10000.
    #[arg(long, value_name = "N", default_value_t = PART_LIMIT, value_parser = clap::value_parser!(u32).range(1..=MAX_LIMIT))]
    limit: u32,
    /// Continue after this entry, the last of the previous part.
    #[arg(long, value_name = "ID")]
    after: Option<Id>,
}

impl<Id> PartOf<Id>
where
    Id: FromStr<Err: Error + Send + Sync> + Clone + Send + Sync + 'static,
{
    /// The part.
    pub(super) fn part(&self) -> Part<Id> {
        Part {
            after: self.after.clone(),
            limit: self.limit,
        }
    }

    /// Builds the answer of the command; if there may be more, a note tells how to see it. `id` is the field that `--after`
    /// takes.
    pub(super) fn list(&self, records: Vec<Record>, id: &str) -> Output {
        let full = records.len() as u64 >= u64::from(self.limit);
        let last = records.last().and_then(|record| record.text(id));
        let note = last.filter(|_| full).map(|last| {
            format!(
                "there may be more than these {}: go on with --after {last}",
                self.limit
            )
        });
        let list = Output::list(records);
        match note {
            Some(note) => list.with_note(note),
            None => list,
        }
    }
}
