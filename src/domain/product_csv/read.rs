//! Reads a CSV file line by line: however large the file, only the current line is in memory.
//!
//! A line is identified by its number in the file, as an editor counts. The parser counts line feeds, so it is set to
//! end lines at those alone; a CR before one is removed here, and a line feed is added at the end of the file, which
//! may lack one. So the parser needs the end of the file to end a line only if a quote is not closed.

use std::fmt;
use std::io::{self, Read};

use csv::{ByteRecord, ReaderBuilder, Terminator};

use super::cell::{Column, MAX_BYTES, MAX_LINE_BYTES, MAX_LINES, Reason};
use crate::domain::csv_file::unguarded;

/// A line that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file; the names of the columns are line 1.
    pub number: u64,
    /// Its cells, or why they cannot be read.
    pub cells: Result<Cells, Reason>,
}

/// The cells of a line, by column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells([Option<Box<str>>; Column::ALL.len()]);

impl Cells {
    /// The text of a cell; `None` if the file has no such column.
    pub fn get(&self, column: Column) -> Option<&str> {
        self.0[column as usize].as_deref()
    }

    /// Makes cells from the texts typed into a form.
    pub fn typed<const N: usize>(columns: [Column; N], texts: [String; N]) -> Cells {
        let mut cells = Cells::default();
        for (column, text) in columns.into_iter().zip(texts) {
            cells.0[column as usize] = Some(text.into());
        }
        cells
    }

    /// The text of a cell that is neither empty nor missing.
    pub fn given(&self, column: Column) -> Option<&str> {
        self.get(column).filter(|text| !text.is_empty())
    }
}

/// Why a file cannot be read as a file of products.
#[derive(Debug)]
pub enum Unreadable {
    /// Reading it fails.
    Failed(io::Error),
    /// The first line does not name the columns; what is wrong with it.
    Header(String),
    /// A line is too long; its number.
    TooLong(u64),
    /// A quote of the last line is not closed, as when the rest of the file is missing; its number.
    Unclosed(u64),
    /// It is larger than a page accepts.
    TooLarge,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Failed(error) => write!(f, "the file cannot be read: {error}"),
            Unreadable::Header(what) => write!(f, "line 1 {what}"),
            Unreadable::TooLarge => write!(
                f,
                "the file has more than {MAX_BYTES} bytes or {MAX_LINES} lines; \
                 `invoicing product import` takes files of any size"
            ),
            Unreadable::Unclosed(line) => write!(
                f,
                "line {line} has a cell whose closing quote is missing; is the file cut off?"
            ),
            Unreadable::TooLong(line) => write!(
                f,
                "line {line} does not end within {MAX_LINE_BYTES} bytes; is a closing quote missing?"
            ),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Reads a file of products, line by line.
pub struct Reader<R> {
    csv: csv::Reader<Bounded<R>>,
    columns: Vec<Column>,
    record: ByteRecord,
}

impl<R: Read> Reader<R> {
    /// Reads the names of the columns.
    ///
    /// # Errors
    /// [`Unreadable`], also for a file without any line.
    pub fn new(file: R) -> Result<Reader<R>, Unreadable> {
        let mut reader = Reader {
            csv: ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .terminator(Terminator::Any(b'\n'))
                .from_reader(Bounded::new(file)),
            columns: Vec::new(),
            record: ByteRecord::new(),
        };
        let found = reader.advance()?;
        let cells = (0..reader.record.len()).filter_map(|at| reader.cell(at));
        reader.columns = match found {
            Some(_) => columns(&cells.collect::<Vec<_>>()).map_err(Unreadable::Header)?,
            None => {
                let names = Column::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>();
                let what = format!("is missing: it names the columns, {}", names.join(","));
                return Err(Unreadable::Header(what));
            }
        };
        Ok(reader)
    }

    /// How many bytes of the file the lines read so far take up.
    pub fn bytes(&self) -> u64 {
        self.csv.position().byte()
    }

    /// Advances to the next line that is not empty, and returns its number.
    fn advance(&mut self) -> Result<Option<u64>, Unreadable> {
        loop {
            let begin = self.csv.position().line();
            self.csv.get_mut().left = MAX_LINE_BYTES;
            match self.csv.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(_) if self.csv.get_ref().left == 0 => return Err(Unreadable::TooLong(begin)),
                Err(error) => return Err(Unreadable::Failed(error.into())),
            }
            let within = self.record.as_slice().iter().filter(|it| **it == b'\n');
            let line = self.csv.position().line() - within.count() as u64;
            if self.csv.get_ref().exhausted {
                return Err(Unreadable::Unclosed(line));
            }
            if self.record.len() > 1 || self.cell(0) != Some(b"") {
                return Ok(Some(line - 1));
            }
        }
    }

    /// A cell of the current line.
    fn cell(&self, at: usize) -> Option<&[u8]> {
        let cell = self.record.get(at)?;
        let last = at + 1 == self.record.len();
        Some(cell.strip_suffix(b"\r").filter(|_| last).unwrap_or(cell))
    }

    fn cells(&self) -> Result<Cells, Reason> {
        let (found, expected) = (self.record.len(), self.columns.len());
        if found != expected {
            let text = format!("must have {expected} cells, as the first line, but has {found}");
            return Err(Reason::of_line(text));
        }
        let mut cells = Cells::default();
        for (at, column) in self.columns.iter().enumerate() {
            let text = str::from_utf8(self.cell(at).unwrap_or_default())
                .map_err(|_| Reason::of_cell(*column, "is not text in UTF-8"))?;
            cells.0[*column as usize] = Some(unguarded(text).into());
        }
        Ok(cells)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Line, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = match self.advance().transpose()? {
            Ok(number) => number,
            Err(error) => return Some(Err(error)),
        };
        let cells = self.cells();
        Some(Ok(Line { number, cells }))
    }
}

/// The columns that the first line names.
fn columns(cells: &[&[u8]]) -> Result<Vec<Column>, String> {
    let mut columns = Vec::with_capacity(cells.len());
    for cell in cells {
        let name = str::from_utf8(cell).map_err(|_| "is not text in UTF-8")?;
        let known = Column::ALL.iter().find(|column| column.as_str() == name);
        let Some(column) = known else {
            let names: Vec<_> = Column::ALL.iter().map(|it| it.as_str()).collect();
            let hint = match cells.len() == 1 && name.contains([';', '\t']) {
                true => "cells are separated by commas, and ",
                false => "",
            };
            let name: String = name.chars().take(50).collect();
            let names = names.join(", ");
            return Err(format!(
                "has an unknown column, {name:?}; {hint}the columns are {names}"
            ));
        };
        if columns.contains(column) {
            return Err(format!("has the column {column} twice"));
        }
        columns.push(*column);
    }
    Ok(columns)
}

/// A file of which at most [`left`](Bounded::left) bytes are read until that is set again, with a line feed added at
/// its end.
struct Bounded<R> {
    file: R,
    left: usize,
    ended: bool,
    /// Whether the parser has read up to the end, after the line feed.
    exhausted: bool,
}

impl<R> Bounded<R> {
    fn new(file: R) -> Bounded<R> {
        Bounded {
            file,
            left: MAX_LINE_BYTES,
            ended: false,
            exhausted: false,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the line is too long"));
        }
        let room = into.len().min(self.left);
        let read = self.file.read(&mut into[..room])?;
        self.left -= read;
        if read > 0 || room == 0 {
            return Ok(read);
        }
        if self.ended {
            self.exhausted = true;
            return Ok(0);
        }
        self.ended = true;
        into[0] = b'\n';
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> Vec<Line> {
        let lines = Reader::new(file.as_bytes()).unwrap();
        lines.collect::<Result<_, _>>().unwrap()
    }

    fn names(file: &str) -> Vec<(u64, String)> {
        let line = |line: Line| {
            let cells = line.cells.unwrap();
            (line.number, cells.get(Column::Name).unwrap().to_owned())
        };
        read(file).into_iter().map(line).collect()
    }

    fn refused(file: impl AsRef<[u8]>) -> String {
        let refused = Reader::new(file.as_ref()).err();
        refused.expect("it is refused").to_string()
    }

    #[test]
    fn lines_are_numbered_as_an_editor_does_however_they_end() {
        for end in ["\n", "\r\n"] {
            for last in ["", end] {
                let file = ["name,sku", "A,1", "", "\"B\nb\",2", "C,3"].join(end) + last;
                let expected = [(2, "A".into()), (4, "B\nb".into()), (6, "C".into())];
                assert_eq!(names(&file), expected, "{file:?}");
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_ignored_and_columns_come_in_any_order() {
        let lines = read("\u{feff}sku,name\r\n1,\"a \"\"b\"\", c\"\r\n");
        let cells = lines[0].cells.as_ref().unwrap();
        assert_eq!(cells.get(Column::Name), Some("a \"b\", c"));
        assert_eq!(cells.get(Column::Sku), Some("1"));
        assert_eq!(cells.get(Column::Currency), None);
    }

    #[test]
    fn a_quoted_last_cell_keeps_its_quotes_meaning_before_crlf() {
        assert_eq!(names("name\r\n\"A, B\"\r\n"), [(2, "A, B".into())]);
    }

    #[test]
    fn a_first_line_that_names_no_known_columns_is_refused_by_name() {
        for (file, why) in [
            ("", "line 1 is missing"),
            ("name,Preis\n", "unknown column, \"Preis\""),
            ("name,unitPrice,\n", "unknown column, \"\""),
            ("name;unitPrice\n", "separated by commas"),
            (
                "name,unit;Price\n",
                "unknown column, \"unit;Price\"; the columns are",
            ),
            ("Preis\n", "unknown column, \"Preis\"; the columns are"),
            ("name,sku,name\n", "has the column name twice"),
        ] {
            assert!(refused(file).contains(why), "{}", refused(file));
        }
        assert!(refused(b"\xff\xfe").contains("UTF-8"));
    }

    #[test]
    fn a_line_of_other_cells_is_refused_and_the_next_is_read() {
        let lines = read("name,sku\nA\nB,2,3\nC,3\n");
        let told: Vec<_> = lines.iter().map(|it| it.cells.is_ok()).collect();
        assert_eq!(told, [false, false, true]);
        let reason = lines[1].cells.as_ref().unwrap_err().to_string();
        assert_eq!(reason, "must have 2 cells, as the first line, but has 3");
    }

    #[test]
    fn a_cell_that_is_no_utf_8_is_refused_by_its_column() {
        let file = b"name,sku\nM\xfcller,1\nB,2\n";
        let lines: Vec<_> = Reader::new(&file[..]).unwrap().collect();
        let first = lines[0].as_ref().unwrap();
        let reason = first.cells.as_ref().unwrap_err().to_string();
        assert_eq!((first.number, &*reason), (2, "name is not text in UTF-8"));
        assert!(lines[1].as_ref().unwrap().cells.is_ok());
    }

    #[test]
    fn a_quote_that_never_closes_fills_no_memory() {
        let endless = b"name,sku\nA,1\n\"".chain(io::repeat(b'x'));
        let mut lines = Reader::new(endless).unwrap();
        assert!(lines.next().unwrap().is_ok());
        let told = lines.next().unwrap().unwrap_err().to_string();
        assert!(told.starts_with("line 3 does not end"), "{told}");
    }

    #[test]
    fn a_file_that_is_cut_off_within_quotes_is_refused_by_the_line() {
        for (file, line) in [
            ("name,sku\nA,1\nB,\"2", 3),
            ("name,sku\nA,1\n\nB,\"2\n", 4),
            ("name,sku\r\nA,\"1\r\nB,2\r\nC,3\r\n", 2),
            ("name,sku\nA,\"", 2),
            ("name,\"sku\nA,1\n", 1),
        ] {
            let told = match Reader::new(file.as_bytes()) {
                Ok(mut lines) => lines.find_map(Result::err),
                Err(error) => Some(error),
            };
            let told = told.expect(file).to_string();
            let expected = format!("line {line} has a cell whose closing quote is missing");
            assert!(told.starts_with(&expected), "{file:?}: {told}");
        }
        for file in [
            "name\n\"A\"",
            "name\n\"A\n\"",
            "name\n\"A\n\"\n\n",
            "name\n\"\"\"\"",
        ] {
            assert_eq!(read(file).len(), 1, "{file:?}");
        }
    }

    #[test]
    fn what_a_file_fails_with_is_told_and_is_no_long_line() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut lines = Reader::new(b"name\n".chain(Failing)).unwrap();
        let told = lines.next().unwrap().unwrap_err();
        assert!(told.to_string().contains("the disk is gone"), "{told}");
    }

    #[test]
    fn typed_cells_are_those_of_the_form() {
        let texts = ["A".to_owned(), "1".to_owned()];
        let cells = Cells::typed([Column::Name, Column::Sku], texts);
        assert_eq!(cells.get(Column::Name), Some("A"));
        assert_eq!(cells.get(Column::Sku), Some("1"));
        assert_eq!(cells.get(Column::Currency), None);
    }
}
