//! Times as text, against chrono's own.

use chrono::{DateTime, SecondsFormat, TimeZone, Utc};
use openapi_dropshot_runtime::rfc3339;
use proptest::prelude::*;

fn by_chrono(time: &DateTime<Utc>, format: SecondsFormat) -> String {
    time.to_rfc3339_opts(format, true)
}

proptest! {
    #[test]
    fn every_millisecond_is_written_as_chrono_writes_it(millis in -99_999_999_999_999_i64..999_999_999_999_999) {
        let time = Utc.timestamp_millis_opt(millis).unwrap();
        prop_assert_eq!(rfc3339(&time, str::to_owned), by_chrono(&time, SecondsFormat::Millis));
    }

    #[test]
    fn what_is_finer_is_written_as_finely_as_needed(micros in -9_000_000_000_000_000_i64..9_000_000_000_000_000) {
        let time = Utc.timestamp_micros(micros).unwrap();
        let finest = match time.timestamp_subsec_nanos() % 1_000_000 {
            0 => SecondsFormat::Millis,
            _ => SecondsFormat::AutoSi,
        };
        prop_assert_eq!(rfc3339(&time, str::to_owned), by_chrono(&time, finest));
    }
}

#[test]
fn the_ends_of_four_digits_and_a_leap_second_are_told_apart() {
    for (text, shown) in [
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("2026-11-20T00:00:00.000001Z", "2026-11-20T00:00:00.000001Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:60.000Z"),
        ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:60.500Z"),
    ] {
        let time = DateTime::parse_from_rfc3339(text).unwrap().to_utc();
        assert_eq!(rfc3339(&time, str::to_owned), shown);
    }
    let next = Utc.with_ymd_and_hms(10_000, 1, 1, 0, 0, 0).unwrap();
    assert_eq!(rfc3339(&next, str::to_owned), "+10000-01-01T00:00:00.000Z");
}
