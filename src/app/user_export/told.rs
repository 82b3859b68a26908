//! Writes the export: an object of lists, as indented JSON, sent piece by piece to a receiver.

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::yield_now;

use crate::app::part_turns::{PartTurn, PartTurns};
use crate::domain::Error;
use crate::domain::holder::Holder;
use crate::domain::list::Part;
use crate::pause::BusyTime;

/// How many rows of each kind are exported: some megabytes of text.
const MOST: usize = 10_000;

/// One more, to tell whether there are more.
pub(super) const ASKED: u32 = MOST as u32 + 1;

/// How many rows are read and written at a time. SQLite and this run on an async thread, and others go on in between. Each
/// row may have two kilobytes of what an app calls itself.
const AT_ONCE: u32 = 100;

/// Least bytes of a piece, except the last: with smaller ones, the server could not tell that a peer takes none.
const PIECE: usize = 128 * 1024;

/// An export being written: the members of an object.
pub(super) struct Told {
    to: mpsc::Sender<String>,
    holder: Holder,
    turns: PartTurns,
    /// How long all of this was busy.
    busy: BusyTime,
    /// The turn to read and write a part; not held while a piece is being sent.
    turn: Option<PartTurn>,
    is_begun: bool,
    /// Text that is not sent yet.
    text: String,
}

impl Told {
    /// Begins an export, in work that `busy` measures.
    pub(super) async fn to(
        to: mpsc::Sender<String>,
        holder: Holder,
        turns: PartTurns,
        busy: &BusyTime,
    ) -> Result<Told, Error> {
        let mut all = Told {
            to,
            holder,
            turns,
            busy: busy.clone(),
            turn: None,
            is_begun: false,
            text: String::new(),
        };
        all.pass_on().await?;
        Ok(all)
    }

    /// Sends the text if it is large enough for a piece, and lets others go on. The next part is made in the same turn if
    /// that was [short](PartTurn::is_short) until now: a small export needs only a few.
    async fn pass_on(&mut self) -> Result<(), Error> {
        let is_piece = self.text.len() >= PIECE;
        if !is_piece && self.turn.as_ref().is_some_and(PartTurn::is_short) {
            yield_now().await;
            return Ok(());
        }
        self.turn = None;
        if is_piece {
            self.hand_over().await?;
        }
        self.turn = Some(self.turns.next(self.holder, &self.busy).await?);
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<(), Error> {
        let piece = std::mem::take(&mut self.text);
        self.to.send(piece).await.map_err(Error::unavailable)
    }

    pub(super) async fn end(mut self) -> Result<(), Error> {
        self.turn = None;
        self.text += "\n}";
        self.hand_over().await
    }

    /// Writes a member.
    pub(super) fn member(&mut self, name: &str, value: &Value) {
        self.name(name);
        self.text += &format!("{value:#}").replace('\n', "\n  ");
    }

    fn name(&mut self, name: &str) {
        let before = if self.is_begun { ",\n" } else { "{\n" };
        self.is_begun = true;
        self.text += &format!("{before}  \"{name}\": ");
    }

    /// Writes the first rows of a kind, and whether there are more.
    pub(super) async fn rows<T>(
        &mut self,
        name: &str,
        more: &str,
        rows: &[T],
        row: fn(&T) -> Value,
    ) -> Result<(), Error> {
        self.rows_up_to(MOST, (name, more), rows, row).await
    }

    /// Like [`rows`](Told::rows), for a kind of which fewer are exported.
    pub(super) async fn rows_up_to<T>(
        &mut self,
        most: usize,
        (name, more): (&str, &str),
        rows: &[T],
        row: fn(&T) -> Value,
    ) -> Result<(), Error> {
        self.name(name);
        let told = &rows[..rows.len().min(most)];
        for (number, part) in told.chunks(AT_ONCE as usize).enumerate() {
            self.elements(part.iter().map(row), number == 0);
            self.pass_on().await?;
        }
        self.end_of_rows(told.is_empty());
        self.member(more, &(rows.len() > most).into());
        Ok(())
    }

    /// Starts a list of rows that may be many, or long.
    pub(super) fn parts<T, Id>(
        &mut self,
        name: &str,
        row: fn(&T) -> Value,
        id: fn(&T) -> Id,
    ) -> Parts<'_, T, Id> {
        self.name(name);
        Parts {
            all: self,
            row,
            id,
            told: 0,
            has_more: false,
            next: Some(Part::first(AT_ONCE)),
        }
    }

    /// Writes elements of a list, indented as in a member.
    fn elements(&mut self, elements: impl Iterator<Item = Value>, are_first: bool) {
        for (number, element) in elements.enumerate() {
            self.text += if are_first && number == 0 { "[" } else { "," };
            self.text += "\n    ";
            self.text += &format!("{element:#}").replace('\n', "\n    ");
        }
    }

    fn end_of_rows(&mut self, are_none: bool) {
        self.text += if are_none { "[]" } else { "\n  ]" };
    }
}

/// A list of rows that are read and written part by part.
pub(super) struct Parts<'a, T, Id> {
    all: &'a mut Told,
    row: fn(&T) -> Value,
    id: fn(&T) -> Id,
    told: usize,
    /// Whether there are more than are exported.
    has_more: bool,
    /// The next part to read, if there may be more.
    pub(super) next: Option<Part<Id>>,
}

impl<T, Id> Parts<'_, T, Id> {
    /// Writes the part that was read.
    pub(super) async fn take(&mut self, rows: Vec<T>) -> Result<(), Error> {
        let room = MOST - self.told;
        let told = &rows[..rows.len().min(room)];
        self.all.elements(told.iter().map(self.row), self.told == 0);
        self.told += told.len();
        self.has_more = rows.len() > room;
        let goes_on = rows.len() == AT_ONCE as usize && !self.has_more;
        let next = rows.last().filter(|_| goes_on).map(|last| Part {
            after: Some((self.id)(last)),
            limit: AT_ONCE,
        });
        self.next = next;
        self.all.pass_on().await
    }

    /// Ends the list, as [`Told::rows`] does.
    pub(super) fn end(self, more: &str) {
        self.all.end_of_rows(self.told == 0);
        self.all.member(more, &self.has_more.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of an export of this many rows.
    async fn told(rows: usize, row: fn(&()) -> Value) -> Vec<String> {
        let (to, mut pieces) = mpsc::channel(1_000);
        let turns = PartTurns::new(1, 1);
        let busy = BusyTime::default();
        let all = Told::to(to, Holder::Service, turns, &busy).await;
        let mut all = all.unwrap();
        let rows = vec![(); rows];
        all.rows("rows", "more", &rows, row).await.unwrap();
        all.end().await.unwrap();
        let mut told = Vec::new();
        pieces.recv_many(&mut told, 1_000).await;
        told
    }

    #[tokio::test]
    async fn all_pieces_but_the_last_are_large() {
        let all = told(2_000, |()| "x".repeat(1_000).into()).await;
        let large = 128 * 1024;
        let (last, others) = all.split_last().unwrap();
        assert_eq!(others.len(), 10, "of 200 rows each");
        assert!(others.iter().all(|it| it.len() >= large));
        assert!(last.len() < large);
        // A smaller export is one piece.
        assert_eq!(told(1_000, |()| "x".repeat(100).into()).await.len(), 1);
        assert_eq!(told(100, |()| "x".repeat(100).into()).await.len(), 1);
    }

    #[tokio::test]
    async fn ten_thousand_rows_are_told_and_whether_there_are_more() {
        for (rows, has_more) in [(10_000, false), (10_001, true)] {
            let all = told(rows, |()| 1.into()).await.concat();
            let all: Value = serde_json::from_str(&all).unwrap();
            assert_eq!(all["rows"].as_array().unwrap().len(), 10_000);
            assert_eq!(all["more"], has_more);
        }
    }
}
