//! The lines imported at once: all of a small file, or one step of a large one.

use std::io::Read;
use std::ops::Deref;
use std::sync::Arc;

use super::cell::{MAX_BYTES, MAX_LINES};
use super::read::{Line, Reader, Unreadable};

/// The most lines in a step of a large file. On SQLite, all other changes wait while a step is imported, and a file has many
/// steps, which follow each other. So many products have less text than [the most](crate::app::product_import::MOST_TEXT)
/// that an import changes.
pub const STEP_LINES: usize = 1_000;

/// A step ends behind the line with which it has so many bytes.
const STEP_BYTES: u64 = 512 * 1024;

/// Lines that are imported at once. Clones share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines(Arc<[Line]>);

impl Lines {
    /// Reads all lines of a file uploaded to a page.
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

    /// Reads the next step of a file of any size. Returns `None` at its end.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn next<R: Read>(
        reader: &mut Reader<R>,
        mut wanted: impl FnMut(&Line) -> bool,
    ) -> Result<Option<Lines>, Unreadable> {
        let (begin, mut lines) = (reader.bytes(), Vec::new());
        while lines.len() < STEP_LINES && reader.bytes() - begin < STEP_BYTES {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: usize, name: &str) -> String {
        format!("name\n{}", format!("{name}\n").repeat(lines))
    }

    #[test]
    fn a_page_takes_so_many_lines_and_bytes() {
        assert_eq!(
            Lines::read(file(MAX_LINES, "A").as_bytes()).unwrap().len(),
            MAX_LINES
        );
        let more = Lines::read(file(MAX_LINES + 1, "A").as_bytes());
        assert!(matches!(more, Err(Unreadable::TooLarge)));
        let of_bytes = |bytes: usize| {
            let line = format!("{}\n", "x".repeat(1023));
            let mut file = format!("name\n{}", line.repeat(bytes / line.len() - 1));
            file.push_str(&line[..bytes - file.len() - 1]);
            file + "\n"
        };
        let most = of_bytes(MAX_BYTES);
        assert_eq!(most.len(), MAX_BYTES);
        Lines::read(most.as_bytes()).unwrap();
        let more = Lines::read(of_bytes(MAX_BYTES + 1).as_bytes());
        assert!(matches!(more, Err(Unreadable::TooLarge)));
    }

    /// How many lines each step has.
    fn steps(file: &str, wanted: impl Fn(&Line) -> bool) -> Vec<usize> {
        let mut reader = Reader::new(file.as_bytes()).unwrap();
        let next = || Lines::next(&mut reader, &wanted).unwrap();
        let steps = std::iter::from_fn(next).take(10);
        steps.map(|it| it.len()).collect()
    }

    #[test]
    fn a_file_is_imported_in_steps_of_so_many_lines_or_bytes() {
        assert_eq!(steps("name\n", |_| true), [0; 0]);
        let file_of = |lines| steps(&file(lines, "A"), |_| true);
        assert_eq!(file_of(2), [2]);
        assert_eq!(file_of(STEP_LINES), [STEP_LINES]);
        assert_eq!(file_of(2 * STEP_LINES + 1), [STEP_LINES, STEP_LINES, 1]);
        assert_eq!(steps(&file(4, "A"), |line| line.number % 2 == 0), [2]);
        // At 10,001 bytes a line, it takes 53 lines to exceed the bytes of a step.
        let long = "x".repeat(10_000);
        assert_eq!(steps(&file(100, &long), |_| true), [53, 47]);
        // A step ends when it has exactly as many bytes as it may have.
        let kilobyte = "x".repeat(1023);
        assert_eq!(steps(&file(513, &kilobyte), |_| true), [512, 1]);
    }
}
