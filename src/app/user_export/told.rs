//! How all of it is written: an object of lists, as indented JSON, which goes piece by piece to whoever takes it.

use serde_json::Value;
use tokio::sync::mpsc;

use crate::domain::Error;
use crate::domain::audit::AuditEvent;
use crate::domain::id::AuditEventId;
use crate::domain::list::Part;

/// As many rows of each kind are told: some megabytes of text.
const MOST: usize = 10_000;

/// One more says whether there are more.
pub(super) const ASKED: u32 = MOST as u32 + 1;

/// As many rows are told at a time, and events read, which SQLite and this do on an async thread: others go on in between.
const AT_ONCE: u32 = 500;

/// The least bytes of a piece, but for the last: of smaller ones, the server could not tell that a peer takes none.
const PIECE: usize = 128 * 1024;

/// What is told: the members of an object.
pub(super) struct Told {
    to: mpsc::Sender<String>,
    is_begun: bool,
    /// What has not gone yet.
    text: String,
}

impl Told {
    pub(super) fn to(to: mpsc::Sender<String>) -> Told {
        Told {
            to,
            is_begun: false,
            text: String::new(),
        }
    }

    /// Hands over what is large enough, and lets others go on.
    async fn pass_on(&mut self) -> Result<(), Error> {
        if self.text.len() >= PIECE {
            self.hand_over().await?;
        }
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<(), Error> {
        let piece = std::mem::take(&mut self.text);
        self.to.send(piece).await.map_err(Error::unavailable)
    }

    pub(super) async fn end(mut self) -> Result<(), Error> {
        self.text += "\n}";
        self.hand_over().await
    }

    /// A member.
    pub(super) fn member(&mut self, name: &str, value: &Value) {
        self.name(name);
        self.text += &format!("{value:#}").replace('\n', "\n  ");
    }

    fn name(&mut self, name: &str) {
        let before = if self.is_begun { ",\n" } else { "{\n" };
        self.is_begun = true;
        self.text += &format!("{before}  \"{name}\": ");
    }

    /// The first rows of a kind, and whether there are more.
    pub(super) async fn rows<T>(
        &mut self,
        name: &str,
        more: &str,
        rows: &[T],
        row: fn(&T) -> Value,
    ) -> Result<(), Error> {
        self.name(name);
        let told = &rows[..rows.len().min(MOST)];
        for (number, part) in told.chunks(AT_ONCE as usize).enumerate() {
            self.elements(part.iter().map(row), number == 0);
            self.pass_on().await?;
        }
        self.end_of_rows(told.is_empty());
        self.member(more, &(rows.len() > MOST).into());
        Ok(())
    }

    /// Elements of a list, as they stand in a member.
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

/// Events that are read and told part by part.
pub(super) struct Events<'a> {
    all: &'a mut Told,
    row: fn(&AuditEvent) -> Value,
    told: usize,
    /// Whether there are more than are told.
    has_more: bool,
    /// What is to be read next, if there may be more.
    pub(super) next: Option<Part<AuditEventId>>,
}

impl Events<'_> {
    pub(super) fn begin<'a>(
        all: &'a mut Told,
        name: &str,
        row: fn(&AuditEvent) -> Value,
    ) -> Events<'a> {
        all.name(name);
        Events {
            all,
            row,
            told: 0,
            has_more: false,
            next: Some(Part::first(AT_ONCE)),
        }
    }

    /// The next part is read.
    pub(super) async fn take(&mut self, events: Vec<AuditEvent>) -> Result<(), Error> {
        let room = MOST - self.told;
        let told = &events[..events.len().min(room)];
        self.all.elements(told.iter().map(self.row), self.told == 0);
        self.told += told.len();
        self.has_more = events.len() > room;
        let goes_on = events.len() == AT_ONCE as usize && !self.has_more;
        let next = events.last().filter(|_| goes_on).map(|last| Part {
            after: Some(last.id),
            limit: AT_ONCE,
        });
        self.next = next;
        self.all.pass_on().await
    }

    /// As of [`Told::rows`].
    pub(super) fn end(self, more: &str) {
        self.all.end_of_rows(self.told == 0);
        self.all.member(more, &self.has_more.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of so many rows, in pieces.
    async fn told(rows: usize, row: fn(&()) -> Value) -> Vec<String> {
        let (to, mut pieces) = mpsc::channel(1_000);
        let mut all = Told::to(to);
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
        assert_eq!(others.len(), 4, "of 500 rows each");
        assert!(others.iter().all(|it| it.len() >= large));
        assert!(last.len() < large);
        // What is smaller is one.
        assert_eq!(told(1_000, |()| "x".repeat(100).into()).await.len(), 1);
        assert_eq!(told(500, |()| "x".repeat(100).into()).await.len(), 1);
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
