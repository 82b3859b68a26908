//! Formats a line of the log as JSON.

use std::fmt::Arguments;

use serde::Serialize;
use slog::{KV, Key, Level, OwnedKVList, Record};

use crate::domain::time::{Clock, SystemClock};

/// A record as one JSON object, with the end of the line.
pub(super) fn line(record: &Record<'_>, values: &OwnedKVList) -> Vec<u8> {
    let mut line = Line(Vec::with_capacity(384));
    let time = SystemClock.now().to_string();
    let level = match record.level() {
        Level::Critical | Level::Error => "error",
        Level::Warning => "warn",
        Level::Info => "info",
        Level::Debug | Level::Trace => "debug",
    };
    line.plain_member("time", &time);
    line.plain_member("level", level);
    match record.msg().as_str() {
        Some(message) => line.member("msg", message),
        None => line.member("msg", &record.msg().to_string()),
    }
    // `Line` accepts every value, so this cannot fail.
    let _ = values.serialize(record, &mut line);
    let _ = record.kv().serialize(record, &mut line);
    line.0.extend(b"}\n");
    line.0
}

/// The object so far.
struct Line(Vec<u8>);

impl Line {
    fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.key(key);
        // Cannot fail: scalars and texts are always JSON, and memory accepts them.
        let _ = serde_json::to_writer(&mut self.0, value);
    }

    /// A text with nothing to escape.
    fn plain_member(&mut self, key: &str, value: &str) {
        self.key(key);
        self.0.push(b'"');
        self.0.extend(value.as_bytes());
        self.0.push(b'"');
    }

    fn key(&mut self, key: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        // Keys are names of ours, with nothing to escape.
        self.0.push(b'"');
        self.0.extend(key.as_bytes());
        self.0.extend(b"\":");
    }
}

macro_rules! scalars {
    ($($function:ident $type:ty,)+) => {$(
        fn $function(&mut self, key: Key, value: $type) -> slog::Result {
            self.member(key.as_ref(), &value);
            Ok(())
        }
    )+};
}

impl slog::Serializer for Line {
    fn emit_arguments(&mut self, key: Key, value: &Arguments<'_>) -> slog::Result {
        self.member(key.as_ref(), &value.to_string());
        Ok(())
    }

    fn emit_none(&mut self, key: Key) -> slog::Result {
        self.member(key.as_ref(), &());
        Ok(())
    }

    scalars! {
        emit_str &str,
        emit_bool bool,
        emit_u8 u8,
        emit_u16 u16,
        emit_u32 u32,
        emit_u64 u64,
        emit_i32 i32,
        emit_i64 i64,
        emit_usize usize,
    }
}
