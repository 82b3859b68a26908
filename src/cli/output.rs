//! Prints an answer: one JSON value, or aligned text for people.

use std::io::{self, IsTerminal, Write};

use clap::{Arg, ArgAction};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::domain::time::{Clock, SystemClock};

use super::command_error::CommandError;
use super::record::{Record, Style, steers};
use super::table::table;

/// The name of the flag `--utc`.
pub(super) const UTC: &str = "utc";

/// Wide enough for an id, and for most names.
const WIDEST_CELL: usize = 40;

/// The name of the flag `--json`.
pub(super) const JSON: &str = "json";

/// `--json`, for every command that works on the database.
pub(super) fn json_flag() -> Arg {
    Arg::new(JSON)
        .long(JSON)
        .action(ArgAction::SetTrue)
        .help("Print one JSON value, and nothing else, to standard output")
}

/// `--utc`, for every command that shows times.
pub(super) fn utc_flag() -> Arg {
    Arg::new(UTC)
        .long(UTC)
        .action(ArgAction::SetTrue)
        .help("Show times in UTC instead of the local time zone, and never as \"3 days ago\"")
}

/// The answer of a command.
pub(super) struct Output {
    body: Body,
    note: Option<String>,
    failure: Option<String>,
}

enum Body {
    /// Nothing: the command has already written its output, or there is only a note.
    Nothing,
    One(Record),
    /// One thing with a list in it: its fields, the name of the list, and the list.
    Whole(Record, &'static str, Vec<Record>),
    Many(Vec<Record>),
    /// JSON, for people too.
    Document(Value),
    /// A list, and the text that people read instead.
    Told(String, Vec<Record>),
}

impl Output {
    /// A list, which may be empty.
    pub(super) fn list(records: impl IntoIterator<Item = Record>) -> Self {
        Self {
            body: Body::Many(records.into_iter().collect()),
            note: None,
            failure: None,
        }
    }

    /// One thing that has a list of others in it: for people, a table below its fields.
    pub(super) fn with_list(record: Record, name: &'static str, records: Vec<Record>) -> Self {
        Self {
            body: Body::Whole(record, name, records),
            note: None,
            failure: None,
        }
    }

    /// A document that is always printed as JSON.
    pub(super) fn document(document: Value) -> Self {
        Self {
            body: Body::Document(document),
            note: None,
            failure: None,
        }
    }

    /// A list for which people get a text of its own.
    pub(super) fn told(text: String, records: Vec<Record>) -> Self {
        Self {
            body: Body::Told(text, records),
            note: None,
            failure: None,
        }
    }

    /// An empty answer.
    pub(super) fn nothing() -> Self {
        Self {
            body: Body::Nothing,
            note: None,
            failure: None,
        }
    }

    /// Marks the command as not fully successful, and why: exit code 1.
    pub(super) fn failing(self, why: impl Into<String>) -> Self {
        Self {
            failure: Some(why.into()),
            ..self
        }
    }

    /// Adds a note for standard error.
    pub(super) fn with_note(self, note: impl Into<String>) -> Self {
        Self {
            note: Some(note.into()),
            ..self
        }
    }

    /// Prints the answer.
    ///
    /// # Errors
    /// When it cannot be printed; otherwise the reason why the command failed, if it did.
    pub(super) fn print(self, json: bool, utc: bool) -> Result<(), CommandError> {
        let style = Style {
            utc,
            now: SystemClock.now(),
            cell: io::stdout().is_terminal().then_some(WIDEST_CELL),
        };
        let text = match (&self.body, json) {
            (Body::Nothing, _) => String::new(),
            (Body::One(record), true) => to_json(record),
            (Body::Many(records) | Body::Told(_, records), true) => to_json(records),
            (Body::Told(text, _), false) => text.clone(),
            (Body::Whole(record, name, records), true) => to_json(&Whole(record, name, records)),
            (Body::One(record), false) => record.lines(style),
            (Body::Whole(record, _, records), false) => {
                format!("{}\n{}", record.lines(style), table(records, style))
            }
            (Body::Many(records), false) => table(records, style),
            (Body::Document(document), true) => to_json(document),
            (Body::Document(document), false) => indented(document),
        };
        // A closed pipe is a failure here: a key is shown only once.
        write(&text).map_err(unwritable)?;
        if let Some(note) = &self.note {
            say(&format!("note: {note}"));
        }
        self.failure
            .map_or(Ok(()), |why| Err(CommandError::Failed(why)))
    }
}

impl From<Record> for Output {
    fn from(record: Record) -> Self {
        Self {
            body: Body::One(record),
            note: None,
            failure: None,
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

/// Writes a text that can be printed again. A reader that has seen enough (`| head`) is not a failure.
pub(super) fn print(text: &str) -> Result<(), CommandError> {
    match write(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritable(error)),
        _ => Ok(()),
    }
}

/// Writes a line to standard error. If that fails, there is nothing left to do.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// JSON on one line.
fn to_json(value: &impl Serialize) -> String {
    // Cannot fail: keys are strings and values are already JSON.
    harmless(&serde_json::to_string(value).expect("a record is JSON"))
}

/// JSON on several lines.
fn indented(document: &Value) -> String {
    harmless(&format!("{document:#}"))
}

/// The same JSON, with a line feed at its end. Characters that could control a terminal are escaped.
fn harmless(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + 1);
    for char in text.chars() {
        match steers(char) && char != '\n' {
            true => lines.push_str(&format!("\\u{:04x}", u32::from(char))),
            false => lines.push(char),
        }
    }
    lines.push('\n');
    lines
}

/// A record with a list as its last member.
struct Whole<'a>(&'a Record, &'static str, &'a [Record]);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(record, name, records) = self;
        let mut map = serializer.serialize_map(None)?;
        record.serialize_into(&mut map)?;
        map.serialize_entry(name, records)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_the_same_without_what_could_control_a_terminal() {
        let record = serde_json::json!({ "name": "a\u{9b}2J\u{202e}b\n\"" });
        let text = to_json(&record);
        assert!(
            text.trim_end_matches('\n').chars().all(|it| !steers(it)),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), record);
        assert_eq!(
            serde_json::from_str::<Value>(&indented(&record)).unwrap(),
            record
        );
    }
}
