//! How an answer is printed: one JSON value, or aligned text for people.

use std::io::{self, Write};

use clap::{Arg, ArgAction};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::command_error::CommandError;

/// The name of the flag `--json`.
pub(super) const JSON: &str = "json";

/// `--json`, for every command that works on the database.
pub(super) fn json_flag() -> Arg {
    Arg::new(JSON)
        .long(JSON)
        .action(ArgAction::SetTrue)
        .help("Print one JSON value on standard output, and nothing else there")
}

/// What a command answers.
pub(super) struct Output {
    body: Body,
    note: Option<&'static str>,
}

enum Body {
    One(Record),
    /// One thing with a list in it: its fields, the name of the list, and the list.
    Whole(Record, &'static str, Vec<Record>),
    Many(Vec<Record>),
}

impl Output {
    /// A list, which may be empty.
    pub(super) fn list(records: impl IntoIterator<Item = Record>) -> Self {
        Self {
            body: Body::Many(records.into_iter().collect()),
            note: None,
        }
    }

    /// One thing that has a list of others in it: for people, a table below its fields.
    pub(super) fn with_list(record: Record, name: &'static str, records: Vec<Record>) -> Self {
        Self {
            body: Body::Whole(record, name, records),
            note: None,
        }
    }

    /// The same with something that its reader should know, on standard error.
    pub(super) fn with_note(self, note: &'static str) -> Self {
        Self {
            note: Some(note),
            ..self
        }
    }

    /// Prints it.
    pub(super) fn print(&self, json: bool) -> Result<(), CommandError> {
        let text = match (&self.body, json) {
            (Body::One(record), true) => to_json(record),
            (Body::Many(records), true) => to_json(records),
            (Body::Whole(record, name, records), true) => to_json(&Whole(record, name, records)),
            (Body::One(record), false) => record.lines(),
            (Body::Whole(record, _, records), false) => {
                format!("{}\n{}", record.lines(), table(records))
            }
            (Body::Many(records), false) => table(records),
        };
        // Here a reader that has gone is a failure: a key is shown only once.
        write(&text).map_err(unwritable)?;
        if let Some(note) = self.note {
            say(&format!("note: {note}"));
        }
        Ok(())
    }
}

impl From<Record> for Output {
    fn from(record: Record) -> Self {
        Self {
            body: Body::One(record),
            note: None,
        }
    }
}

/// Writes to standard output.
fn write(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

fn unwritable(error: io::Error) -> CommandError {
    CommandError::Failed(format!("cannot write to standard output: {error}"))
}

/// Writes a text that can be had again. A reader that has seen enough (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<(), CommandError> {
    match write(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. Nothing is left to be done when nobody reads that.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn to_json(value: &impl Serialize) -> String {
    // Cannot fail: keys are texts and values are JSON already.
    let mut text = serde_json::to_string(value).expect("a record is JSON");
    text.push('\n');
    text
}

/// One thing and its fields, in the order in which they are shown.
#[derive(Default)]
pub(super) struct Record(Vec<(&'static str, Value)>);

impl Record {
    /// The same with one more field, named as in the interface's JSON.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// The same with one more field that is printed as text: an id, a time, a code of a list.
    pub(super) fn with_text(self, name: &'static str, value: impl ToString) -> Self {
        self.with(name, value.to_string())
    }

    /// The same with one more field that may be null.
    pub(super) fn with_optional(self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.with(name, value.map(|value| value.to_string()))
    }

    fn lines(&self) -> String {
        let width = self
            .0
            .iter()
            .map(|(name, _)| name.len())
            .max()
            .unwrap_or_default();
        self.0
            .iter()
            .map(|(name, value)| format!("{name:width$}  {}\n", plain(value)))
            .collect()
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A record with a list as its last member.
struct Whole<'a>(&'a Record, &'static str, &'a [Record]);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(record, name, records) = self;
        let mut map = serializer.serialize_map(Some(record.0.len() + 1))?;
        for (name, value) in &record.0 {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry(name, records)?;
        map.end()
    }
}

/// Columns under the names of the first record's fields; all records have the same.
fn table(records: &[Record]) -> String {
    let Some(first) = records.first() else {
        return "(none)\n".into();
    };
    let head = first
        .0
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect::<Vec<_>>();
    let rows = records
        .iter()
        .map(|record| record.0.iter().map(|(_, value)| plain(value)).collect());
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widths: Vec<usize> = (0..first.0.len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A value for a terminal. Names come from strangers, so what could steer the terminal is replaced.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| format!("{name} {}", plain(value)));
            members.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_aligned_and_keeps_its_order() {
        let record = Record::default()
            .with("id", 7)
            .with_text("name", "A")
            .with_optional("sku", None::<&str>);
        assert_eq!(record.lines(), "id    7\nname  A\nsku   -\n");
        assert_eq!(to_json(&record), "{\"id\":7,\"name\":\"A\",\"sku\":null}\n");
    }

    #[test]
    fn a_table_has_columns_as_wide_as_needed() {
        let row = |name: &str| {
            Record::default()
                .with("id", name.len())
                .with_text("name", name)
        };
        assert_eq!(
            table(&[row("Änne"), row("B")]),
            "id  name\n5   Änne\n1   B\n"
        );
        assert_eq!(table(&[]), "(none)\n");
    }

    #[test]
    fn values_are_written_for_people() {
        let value = serde_json::json!({ "a": [true, null, "x"], "b": { "c": 1.5 } });
        assert_eq!(plain(&value), "a yes, -, x, b c 1.5");
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        assert_eq!(
            plain(&Value::from("a\u{1b}[2Jb\n")),
            "a\u{fffd}[2Jb\u{fffd}"
        );
    }
}
