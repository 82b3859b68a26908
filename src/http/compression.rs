//! Compresses answers with gzip for clients that ask for it in `Accept-Encoding` (RFC 9110, section 12.5.3).
//!
//! 1. A coding has the weight that is written beside it, otherwise that of `*`; a malformed entry is skipped. gzip is used
//!    if it has a weight, unless `identity` has a higher one ([`wants_gzip`]). Of a list, the first [`ENTRIES`] are read:
//!    over HTTP/2 a list of thousands takes a few bytes (RFC 7541), and sending it takes no credential.
//! 2. Answers of up to [`SMALL`] bytes are sent uncompressed, since gzip would save no packet, unless `identity` is refused.
//! 3. No client is answered 406: one that accepts neither gets the bytes uncompressed.
//! 4. Such an answer is compressed whole, at once and at the fastest level: the bytes that wait to be sent are then the
//!    compressed ones, and those are what the caller is charged for ([`super::unsent`]). That blocks a thread that others
//!    wait for, and takes 0.1 ms for 64 KiB of prose and 1 ms for 64 KiB of noise (measured with an optimized build on a
//!    busy core). So anything larger is sent uncompressed ([`LARGE`]): only pages of long descriptions are that large. With
//!    four times as much, twenty keys of one team, each within its limit, made others wait for 230 ms, and for a second and
//!    a half for a change (99th percentile, two cores).
//! 5. An answer that must not be stored (`Cache-Control: no-store`) has secrets in it, the tokens of the token endpoint or
//!    the URLs of links, and is never compressed: its compressed length would reveal something about them.
//! 6. dropshot's own compression cannot do this. It compresses every answer of 512 bytes or more, while it is sent, so the
//!    bytes that wait would be charged to no caller; and it ignores `identity`.
//!
//! There is no Brotli: its encoder takes megabytes for each answer, gzip's a quarter of one.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Response;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, HeaderMap, HeaderValue, VARY,
};

/// The most bytes that are sent uncompressed even to clients that accept gzip (step 2).
pub(super) const SMALL: usize = 1024;

/// The most bytes that are compressed (step 4). A page of a hundred typical products has fewer.
const LARGE: usize = 64 * 1024;

pub(super) const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// The most entries of `Accept-Encoding` that are read. Browsers send four.
const ENTRIES: usize = 32;

/// What an answer that has two forms depends on.
pub(super) const VARIES: HeaderValue = HeaderValue::from_static("Accept-Encoding");

/// Compresses the answer of an operation if the headers of its request ask for it.
pub(super) fn compress(request: &HeaderMap, answer: &mut Response<Bytes>) {
    let length = answer.body().len();
    if is_secret(answer.headers()) || length == 0 || length > LARGE {
        return;
    }
    let wanted = wants_gzip(request, length);
    if wanted || length > SMALL {
        answer.headers_mut().append(VARY, VARIES);
    }
    if wanted {
        *answer.body_mut() = gzip(answer.body(), Compression::fast());
        answer.headers_mut().insert(CONTENT_ENCODING, GZIP);
    }
}

/// Step 5.
fn is_secret(answer: &HeaderMap) -> bool {
    answer.get(CACHE_CONTROL).is_some_and(|it| it == "no-store")
}

/// Returns these bytes in gzip.
pub(super) fn gzip(bytes: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), level);
    // Neither fails: a vector takes everything.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    let mut compressed = written.expect("a vector takes everything");
    // Unused capacity would be charged to no caller.
    compressed.shrink_to_fit();
    Bytes::from(compressed)
}

/// Steps 1 and 2, for an answer of `length` bytes.
pub(super) fn wants_gzip(request: &HeaderMap, length: usize) -> bool {
    let mut asked = request.get_all(ACCEPT_ENCODING).iter().peekable();
    if asked.peek().is_none() {
        return false;
    }
    let (mut gzip, mut identity, mut any) = (None, None, None);
    let values = asked.filter_map(|it| it.to_str().ok());
    let entries = values.flat_map(|it| it.split(',')).take(ENTRIES);
    for (coding, weight) in entries.filter_map(entry) {
        let place = match coding {
            it if it.eq_ignore_ascii_case("gzip") || it.eq_ignore_ascii_case("x-gzip") => &mut gzip,
            it if it.eq_ignore_ascii_case("identity") => &mut identity,
            "*" => &mut any,
            _ => continue,
        };
        *place = (*place).max(Some(weight));
    }
    let weight = gzip.or(any).unwrap_or(0);
    let least = match identity.or(any) {
        Some(0) => 0,
        Some(identity) if identity > weight => return false,
        _ => SMALL,
    };
    weight > 0 && length > least
}

/// Parses a coding and its weight in thousandths; `None` if it is malformed.
fn entry(text: &str) -> Option<(&str, u16)> {
    let (coding, weight) = match text.split_once(';') {
        None => (text, 1000),
        Some((coding, weight)) => {
            let (name, weight) = weight.trim_matches([' ', '\t']).split_once('=')?;
            (name.eq_ignore_ascii_case("q")).then_some(())?;
            (coding, thousandths(weight)?)
        }
    };
    Some((coding.trim_matches([' ', '\t']), weight))
}

/// Parses a weight: 0 to 1, with three decimals at most (RFC 9110, section 12.4.2).
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_short = decimals.len() <= 3 && decimals.bytes().all(|it| it.is_ascii_digit());
    let decimals: u16 = format!("{decimals:0<3}")
        .parse()
        .ok()
        .filter(|_| is_short)?;
    match (whole, decimals) {
        ("0", _) => Some(decimals),
        ("1", 0) => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Whether these lines ask for gzip of a large answer, and of a small one.
    fn wants(lines: &[&str]) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT_ENCODING, line.parse().unwrap());
        }
        (wants_gzip(&headers, SMALL + 1), wants_gzip(&headers, SMALL))
    }

    #[test]
    fn gzip_is_sent_to_those_who_like_it_at_least_as_much_as_none() {
        for lines in [
            &["gzip"][..],
            &["GZip"],
            &["x-gzip"],
            &["gzip, deflate, br, zstd"],
            &["br", "gzip;q=0.001"],
            &["gzip ; q=1.000"],
            &["gzip;Q=0.5 , identity; q=0.5"],
            &["*"],
            &["br, *;q=0.1"],
            &["gzip;q=0, gzip"],
            &["gzip;q=2, gzip"],
        ] {
            assert_eq!(wants(lines), (true, false), "{lines:?}");
        }
    }

    #[test]
    fn others_get_the_bytes_as_they_are() {
        for lines in [
            &[][..],
            &[""],
            &["identity"],
            &["br"],
            &["gzip;q=0"],
            &["gzip;q=0.000, *"],
            &["*;q=0"],
            &["gzip;q=0.5, identity"],
            &["gzip;q=0.5, *"],
            &["identity;q=0"],
            &["br, identity;q=0"],
            // Malformed.
            &["gzip;q=1.001"],
            &["gzip;q=0.0001"],
            &["gzip;q=-1"],
            &["gzip;q="],
            &["gzip;level=9"],
            &["gzip;q=0.5;q=1"],
            &["gzipped"],
        ] {
            assert_eq!(wants(lines), (false, false), "{lines:?}");
        }
    }

    #[test]
    fn of_a_list_the_first_entries_are_read_and_none_behind_them() {
        let list = |before: usize| format!("{}gzip", "br,".repeat(before));
        assert_eq!(wants(&[&list(ENTRIES - 1)]), (true, false));
        assert_eq!(wants(&[&list(ENTRIES)]), (false, false));
        let lines = vec!["br"; ENTRIES];
        assert_eq!(wants(&[&lines[..], &["gzip"]].concat()), (false, false));
        assert_eq!(wants(&[&",".repeat(ENTRIES), "gzip"]), (false, false));
    }

    #[test]
    fn who_refuses_what_is_not_coded_gets_small_answers_in_gzip_too() {
        for lines in [
            &["gzip, identity;q=0"][..],
            &["gzip, *;q=0"],
            &["*, identity;q=0"],
        ] {
            assert_eq!(wants(lines), (true, true), "{lines:?}");
        }
    }

    #[test]
    fn what_is_compressed_takes_no_more_room_than_its_bytes_and_is_the_same() {
        let text = "{\"name\":\"a product\"}".repeat(10_000);
        let compressed = gzip(text.as_bytes(), Compression::fast());
        assert!(compressed.len() < text.len() / 20, "{}", compressed.len());
        let mut read = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&*compressed);
        decoder.read_to_string(&mut read).unwrap();
        assert!(read == text, "other text");
    }
}
