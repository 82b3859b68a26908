//! The lines that are imported at once: those of a small file, or a step of a large one.

use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;

use super::cell::{MAX_BYTES, MAX_LINES};
use super::read::{Line, Reader, Unreadable};

/// Lines that are imported at once. Copies share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines(Arc<[Line]>);

impl Lines {
    /// The lines of a file that a page takes.
    ///
    /// # Errors
    /// [`Unreadable`], also for a file of more than [`MAX_BYTES`] or [`MAX_LINES`].
    pub fn read(csv: &[u8]) -> Result<Lines, Unreadable> {
        if csv.len() > MAX_BYTES {
            return Err(Unreadable::TooLarge);
        }
        let reader = Reader::new(csv)?;
        let lines: Vec<Line> = reader.take(MAX_LINES + 1).collect::<Result<_, _>>()?;
        match lines.len() {
            ..=MAX_LINES => Ok(lines.into()),
            _ => Err(Unreadable::TooLarge),
        }
    }

    /// The next lines of a file of any size, as many as are imported at once; none at its end.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn next<R: Read>(
        reader: &mut Reader<R>,
        mut wanted: impl FnMut(&Line) -> bool,
    ) -> Result<Option<Lines>, Unreadable> {
        let (begin, mut lines) = (reader.bytes(), Vec::new());
        while lines.len() < MAX_LINES && reader.bytes() - begin < MAX_BYTES as u64 {
            match reader.next().transpose()? {
                Some(line) if wanted(&line) => lines.push(line),
                Some(_) => {}
                None if lines.is_empty() => return Ok(None),
                None => break,
            }
        }
        Ok(Some(lines.into()))
    }
}

impl From<Vec<Line>> for Lines {
    fn from(lines: Vec<Line>) -> Lines {
        Lines(lines.into())
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.0
    }
}
