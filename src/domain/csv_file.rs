//! CSV files for spreadsheets: lines end with CRLF, cells are quoted according to RFC 4180, and no cell is one that a
//! spreadsheet takes for a formula (docs/decisions.md, W26).

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{QuoteStyle, Terminator, WriterBuilder};

/// Writes lines.
pub struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    /// Starts a file without lines, or continues one that has some.
    pub fn new(file: W) -> Writer<W> {
        let csv = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .quote_style(QuoteStyle::Necessary)
            .from_writer(file);
        Writer(csv)
    }

    /// Writes a line of these cells.
    ///
    /// # Errors
    /// I/O errors of the file.
    pub fn line<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> io::Result<()> {
        for cell in cells {
            self.0.write_field(guarded(cell.as_ref()).as_bytes())?;
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    /// Returns the file that was written to.
    ///
    /// # Errors
    /// I/O errors of the file.
    pub fn into_inner(self) -> io::Result<W> {
        self.0.into_inner().map_err(|error| error.into_error())
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// I/O errors of the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// How a cell starts that a spreadsheet takes for a formula, or that looks as if it were guarded already.
const GUARDED: [char; 12] = [
    '=', '+', '-', '@', '\'', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Guards the text of a cell, so that no spreadsheet takes it for a formula.
pub(crate) fn guarded(text: &str) -> Cow<'_, str> {
    match text.starts_with(GUARDED) {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// Returns the text that `guarded` was given. A `'` that guards nothing is part of the text: it was typed.
pub fn unguarded(cell: &str) -> &str {
    let text = cell.strip_prefix('\'');
    text.filter(|text| text.starts_with(GUARDED))
        .unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_looks_like_a_formula_gets_a_quote_which_is_taken_off_again() {
        for begin in GUARDED {
            let text = format!("{begin}1+1");
            assert_eq!(guarded(&text), format!("'{text}"));
            assert_eq!(unguarded(&guarded(&text)), text);
        }
        for text in ["", "a", "1=1", "''", "'='", "''="] {
            assert_eq!(unguarded(&guarded(text)), text, "{text}");
        }
    }

    #[test]
    fn a_line_is_quoted_where_it_has_to_be_and_ends_with_crlf() {
        let mut writer = Writer::new(Vec::new());
        writer.line(["a", "b,c", "say \"d\"", "=1", ""]).unwrap();
        let text = writer.into_inner().unwrap();
        let text = str::from_utf8(&text).unwrap();
        assert_eq!(text, "a,\"b,c\",\"say \"\"d\"\"\",'=1,\r\n");
    }

    #[test]
    fn a_quote_that_guards_nothing_stays() {
        for text in ["'s-Hertogenbosch", "'"] {
            assert_eq!(unguarded(text), text);
        }
    }

    #[test]
    fn what_is_flushed_is_in_the_file_before_the_next_line() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file);
        writer.line(["a"]).unwrap();
        writer.flush().unwrap();
        // As if the process ended here.
        std::mem::forget(writer);
        assert_eq!(file, b"a\r\n");
    }
}
