//! Tables of text, with columns as wide as a terminal shows them.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::record::{Record, Style};

/// A table with the first record's field names as its header; all records have the same fields.
pub(super) fn table(records: &[Record], style: Style) -> String {
    let Some(first) = records.first() else {
        return "(none)\n".into();
    };
    let rows = records.iter().map(|record| record.row(style));
    let rows: Vec<Vec<String>> = std::iter::once(first.head())
        .chain(rows)
        .map(|row| row.iter().map(|cell| cut(cell, style.cell)).collect())
        .collect();
    let columns = rows[0].len();
    let widest = |column: usize| {
        rows.iter()
            .map(|row: &Vec<String>| row[column].as_str().width())
            .max()
    };
    let widths: Vec<usize> = (0..columns).filter_map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let room = width.saturating_sub(cell.width());
            format!("{cell}{}", " ".repeat(room))
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A text of at most `max_width` columns; one that is cut ends with a mark. It is cut between what a reader sees as
/// characters: a family emoji is one, though it is written as its members, and half of it would be another family.
fn cut(text: &str, max_width: Option<usize>) -> String {
    let Some(max_width) = max_width.filter(|max| text.width() > *max) else {
        return text.to_owned();
    };
    let mut taken = 0;
    let fits = |character: &&str| {
        taken += character.width();
        taken < max_width
    };
    let kept: String = text.graphemes(true).take_while(fits).collect();
    kept + "\u{2026}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Timestamp;

    fn style(cell: Option<usize>) -> Style {
        Style {
            utc: true,
            now: Timestamp::from_millis(0),
            cell,
        }
    }

    fn row(name: &str) -> Record {
        Record::default()
            .with("id", 1)
            .with_text("name", name)
            .with("z", 2)
    }

    #[test]
    fn a_table_has_columns_as_wide_as_needed() {
        let text = table(&[row("\u{c4}nne"), row("B")], style(None));
        assert_eq!(text, "id  name  z\n1   \u{c4}nne  2\n1   B     2\n");
        assert_eq!(table(&[], style(None)), "(none)\n");
    }

    #[test]
    fn wide_and_combining_characters_keep_the_columns() {
        let text = table(&[row("\u{65e5}\u{672c}"), row("e\u{301}")], style(None));
        assert_eq!(
            text,
            "id  name  z\n1   \u{65e5}\u{672c}  2\n1   e\u{301}     2\n"
        );
    }

    #[test]
    fn a_cell_that_would_break_the_line_is_cut() {
        assert_eq!(cut("abcdef", Some(6)), "abcdef");
        assert_eq!(cut("abcdefg", Some(6)), "abcde\u{2026}");
        assert_eq!(cut("\u{65e5}\u{672c}\u{8a9e}", Some(4)), "\u{65e5}\u{2026}");
    }

    #[test]
    fn a_cell_is_cut_between_what_a_reader_sees_as_characters() {
        let heart = "\u{2764}\u{fe0f}"; // Wide by its second half alone.
        let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let accented = "e\u{301}";
        for (character, kept) in [(heart, 2), (family, 2), (accented, 5)] {
            let cut = cut(&character.repeat(9), Some(6));
            assert_eq!(cut, character.repeat(kept) + "\u{2026}");
            assert!(cut.width() <= 6, "{cut}");
        }
    }
}
