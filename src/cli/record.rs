//! How a command shows one thing: as JSON for programs, as lines or as a row of a table for people.

use chrono::{DateTime, Local, SecondsFormat, Utc};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::domain::time::Timestamp;

/// How people want it shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Times in UTC instead of the local time zone, and never as "3 days ago".
    pub(super) utc: bool,
    /// What "ago" counts from.
    pub(super) now: Timestamp,
    /// The most columns of a cell, if a table should fit a terminal.
    pub(super) cell: Option<usize>,
}

/// One thing and its fields, in the order in which they are shown.
#[derive(Default)]
pub(super) struct Record(Vec<Field>);

struct Field {
    name: &'static str,
    value: Value,
    time: Option<Time>,
    /// Whether a table has no column for it.
    detail: bool,
}

/// A time, which people see in less detail than programs do.
#[derive(Clone, Copy)]
enum Time {
    /// When something was made.
    Made(Timestamp),
    /// Shown as the distance from now.
    Distant(Timestamp),
}

impl Record {
    /// Adds a field, named as in the interface's JSON.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push(Field {
            name,
            value: value.into(),
            time: None,
            detail: false,
        });
        self
    }

    /// Adds a field that is printed as text: an id, a code of a list.
    pub(super) fn with_text(self, name: &'static str, value: impl ToString) -> Self {
        self.with(name, value.to_string())
    }

    /// Adds a field that may be null.
    pub(super) fn with_optional(self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.with(name, value.map(|value| value.to_string()))
    }

    /// Adds the time at which something was made or changed.
    pub(super) fn with_time(self, name: &'static str, time: Timestamp) -> Self {
        self.with_optional(name, Some(time))
            .timed(Some(Time::Made(time)))
    }

    /// Adds a time that a table shows as the distance from now, if there is one.
    pub(super) fn with_distant_time(self, name: &'static str, time: Option<Timestamp>) -> Self {
        self.with_optional(name, time)
            .timed(time.map(Time::Distant))
    }

    /// Leaves these fields out of tables, because the caller has named them, or they are too long.
    pub(super) fn without_columns(mut self, names: &[&str]) -> Self {
        for field in &mut self.0 {
            field.detail |= names.contains(&field.name);
        }
        self
    }

    fn timed(mut self, time: Option<Time>) -> Self {
        if let Some(field) = self.0.last_mut() {
            field.time = time;
        }
        self
    }

    /// The text of a field, if there is one.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let field = self.0.iter().find(|field| field.name == name)?;
        field.value.as_str()
    }

    /// Its fields, one per line.
    pub(super) fn lines(&self, style: Style) -> String {
        let width = self.0.iter().map(|field| field.name.len()).max();
        let width = width.unwrap_or_default();
        let line = |field: &Field| {
            let value = match field.time {
                Some(Time::Made(time) | Time::Distant(time)) => zoned(time, style),
                None => plain(&field.value),
            };
            format!("{:width$}  {value}\n", field.name)
        };
        self.0.iter().map(line).collect()
    }

    /// The names of the columns.
    pub(super) fn head(&self) -> Vec<String> {
        let columns = self.0.iter().filter(|field| !field.detail);
        columns.map(|field| field.name.to_owned()).collect()
    }

    /// The cells.
    pub(super) fn row(&self, style: Style) -> Vec<String> {
        let columns = self.0.iter().filter(|field| !field.detail);
        let cell = |field: &Field| match field.time {
            Some(Time::Distant(time)) if !style.utc => distance(time, style.now),
            Some(Time::Made(time) | Time::Distant(time)) => short(time, style),
            None => plain(&field.value),
        };
        columns.map(cell).collect()
    }

    /// Adds the fields as members of an object.
    pub(super) fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for field in &self.0 {
            map.serialize_entry(field.name, &field.value)?;
        }
        Ok(())
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.serialize_into(&mut map)?;
        map.end()
    }
}

/// A time to the second, with its time zone.
fn zoned(time: Timestamp, style: Style) -> String {
    let time: DateTime<Utc> = time.to_datetime();
    match style.utc {
        true => time.to_rfc3339_opts(SecondsFormat::Secs, true),
        false => time
            .with_timezone(&Local)
            .format("%Y-%m-%d %H:%M:%S %:z")
            .to_string(),
    }
}

/// A time to the second; in a table, the local time zone goes without saying.
fn short(time: Timestamp, style: Style) -> String {
    match style.utc {
        true => zoned(time, style),
        false => time
            .to_datetime()
            .with_timezone(&Local)
            .format("%Y-%m-%d %H:%M:%S")
            .to_string(),
    }
}

/// The distance of a time from now, in the largest unit of which there are at least two; below two seconds, "now".
fn distance(time: Timestamp, now: Timestamp) -> String {
    const UNITS: [(u64, &str); 4] = [
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let future = time > now;
    let seconds = time.since(now).max(now.since(time)).as_secs();
    let unit = UNITS.iter().find(|(length, _)| seconds >= 2 * length);
    let Some((length, unit)) = unit else {
        return "now".into();
    };
    let number = seconds / length;
    match future {
        true => format!("in {number} {unit}s"),
        false => format!("{number} {unit}s ago"),
    }
}

/// Whether a character could control a terminal, or reorder the text that follows (Unicode's controls, and its marks of
/// direction and of lines).
pub(super) fn steers(char: char) -> bool {
    let marks = ['\u{200e}', '\u{200f}', '\u{61c}', '\u{2028}', '\u{2029}'];
    char.is_control()
        || marks.contains(&char)
        || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text for a terminal. Names come from strangers, so characters that could control the terminal are replaced.
pub(super) fn plain_text(text: &str) -> String {
    text.chars()
        .map(|c| if steers(c) { '\u{fffd}' } else { c })
        .collect()
}

/// A value for a terminal.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => plain_text(text),
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

    const UTC: Style = Style {
        utc: true,
        now: Timestamp::from_millis(0),
        cell: None,
    };

    #[test]
    fn a_record_is_aligned_and_keeps_its_order() {
        let record = Record::default()
            .with("id", 7)
            .with_text("name", "A")
            .with_optional("sku", None::<&str>);
        assert_eq!(record.lines(UTC), "id    7\nname  A\nsku   -\n");
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(json, "{\"id\":7,\"name\":\"A\",\"sku\":null}");
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
        assert_eq!(
            plain(&Value::from("phone \u{202e}exe.\u{2066}\u{2028}")),
            "phone \u{fffd}exe.\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn people_see_seconds_and_distances_and_programs_all_of_a_time() {
        let time = Timestamp::from_millis(1_999);
        let record = Record::default()
            .with_time("createdAt", time)
            .with_distant_time("expiresAt", Some(time))
            .with("url", "u")
            .without_columns(&["url"]);
        let lines =
            "createdAt  1970-01-01T00:00:01Z\nexpiresAt  1970-01-01T00:00:01Z\nurl        u\n";
        assert_eq!(record.lines(UTC), lines);
        assert_eq!(record.head(), ["createdAt", "expiresAt"]);
        assert_eq!(record.row(UTC), ["1970-01-01T00:00:01Z"; 2]);
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(json["expiresAt"], "1970-01-01T00:00:01.999Z");
    }

    #[test]
    fn a_distance_is_told_in_one_unit() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        for (seconds, told) in [
            (0, "now"),
            (-1, "now"),
            (-2, "2 seconds ago"),
            (-119, "119 seconds ago"),
            (120, "in 2 minutes"),
            (-7_200, "2 hours ago"),
            (172_800, "in 2 days"),
            (-40_000_000, "462 days ago"),
        ] {
            assert_eq!(distance(at(seconds), at(0)), told, "{seconds}");
        }
    }
}
