//! Times as text.
//!
//! This file depends only on `std` and `chrono`, and names nothing else: the generated client contains a copy
//! of it.

use chrono::{DateTime, Datelike, SecondsFormat, Timelike, Utc};

/// Passes `write` a time in the form of RFC 3339, in UTC, to the millisecond, or as finely as needed, and
/// returns its result.
///
/// A time no finer than a millisecond is written here, digit by digit and without allocation: chrono uses its
/// general formatting, which costs more than twice as much, and a long list has many times.
pub fn rfc3339<T>(time: &DateTime<Utc>, write: impl FnOnce(&str) -> T) -> T {
    // Once, since chrono adds the offset of UTC, which is zero, for each part that is read.
    let naive = time.naive_utc();
    let (year, nanos) = (naive.year(), naive.nanosecond());
    // A leap second has more than a second's worth of nanoseconds.
    let finer = nanos % 1_000_000;
    let is_plain = (0..=9999).contains(&year) && finer == 0 && nanos < 1_000_000_000;
    if !is_plain {
        let format = match finer {
            0 => SecondsFormat::Millis,
            _ => SecondsFormat::AutoSi,
        };
        return write(&time.to_rfc3339_opts(format, true));
    }
    let mut text = *b"0000-00-00T00:00:00.000Z";
    write_digits(&mut text[..4], year.unsigned_abs());
    write_digits(&mut text[5..7], naive.month());
    write_digits(&mut text[8..10], naive.day());
    write_digits(&mut text[11..13], naive.hour());
    write_digits(&mut text[14..16], naive.minute());
    write_digits(&mut text[17..19], naive.second());
    write_digits(&mut text[20..23], nanos / 1_000_000);
    // It is all ASCII.
    write(std::str::from_utf8(&text).unwrap_or_default())
}

/// Reads a time of RFC 3339, if it [can be written again](is_writable).
pub fn parse_rfc3339(text: &str) -> Option<DateTime<Utc>> {
    // chrono also accepts a space where the standard has a T, and U+2212 for the minus of an offset.
    let has_t = matches!(text.as_bytes().get(10), Some(b'T' | b't'));
    let time = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    (has_t && text.is_ascii() && is_writable(&time)).then_some(time)
}

/// Returns whether RFC 3339 has a text for the time in UTC: years have four digits there. An offset can lead
/// beyond them.
pub fn is_writable(time: &DateTime<Utc>) -> bool {
    (0..=9999).contains(&time.year())
}

/// Fills the slice with the last digits of the number.
fn write_digits(place: &mut [u8], mut number: u32) {
    for byte in place.iter_mut().rev() {
        *byte = b'0' + (number % 10) as u8; // less than ten
        number /= 10;
    }
}
