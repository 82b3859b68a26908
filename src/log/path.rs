//! The path of a request that no route took, as the log shows it: for operators who want to know what a client is looking
//! for.
//!
//! 1. The query is left out: it may hold anything. So is a host, which HTTP/2 and proxies put before the path.
//! 2. A segment longer than [`SEGMENT`] becomes `...`: secrets in our paths are longer (a share link that came to this
//!    server, or the link of an invitation with a slash too many), and so are most keys of others. So does a segment that
//!    may be an email address.
//! 3. At most [`SHOWN`] characters are shown; the rest becomes `...` again.
//! 4. Any character other than a letter, a digit or one of a few marks is percent-encoded. So a path cannot end its field,
//!    its line or a regular expression that reads it, nor control a terminal.

use std::fmt::Write as _;

/// The longest segment that is shown. The shortest secret of a path has 22 characters (128 bits in base64url).
const SEGMENT: usize = 20;

/// The most characters of a path that are shown.
const SHOWN: usize = 80;

/// Replaces what is left out.
const LEFT_OUT: &str = "...";

/// The loggable path of `uri`, the target of a request as it was sent.
pub(super) fn shown(uri: &str) -> String {
    let target = uri.split(['?', '#']).next().unwrap_or_default(); // step 1
    let path = match target.split_once("://") {
        Some((_, rest)) if !target.starts_with('/') => rest.find('/').map_or("", |at| &rest[at..]),
        // An asterisk, or the host and port of CONNECT.
        None if !target.starts_with('/') => "",
        _ => target,
    };
    let mut shown = String::new();
    for (number, segment) in path.split('/').enumerate() {
        if number > 0 {
            shown.push('/');
        }
        let may_be_mail = segment.contains('@') || segment.contains("%40");
        match segment.len() > SEGMENT || may_be_mail {
            true => shown.push_str(LEFT_OUT), // step 2
            false => segment.bytes().for_each(|byte| push(&mut shown, byte)),
        }
        if shown.len() > SHOWN {
            // It is all ASCII.
            shown.truncate(SHOWN - LEFT_OUT.len()); // step 3
            shown.push_str(LEFT_OUT);
            break;
        }
    }
    shown
}

/// Step 4.
fn push(shown: &mut String, byte: u8) {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => shown.push(byte.into()),
        b'-' | b'.' | b'_' | b'~' | b'%' | b'+' | b',' | b'=' => shown.push(byte.into()),
        // Writing to a String cannot fail.
        _ => drop(write!(shown, "%{byte:02X}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shown_without_its_query_and_without_what_may_be_secret() {
        let secret = "c3VjaCBhIHNlY3JldCB0aGF0IGl0IGlzIGxvbmc";
        for (sent, expected) in [
            ("/", "/"),
            ("", ""),
            ("/wp-login.php?user=hunter2", "/wp-login.php"),
            ("/.git/config", "/.git/config"),
            ("//a//", "//a//"),
            (&format!("/s/{secret}"), "/s/..."),
            (&format!("/invitation/{secret}/"), "/invitation/.../"),
            ("/s/1234567890123456789012", "/s/..."),
            ("/bob@a.example/b", "/.../b"),
            ("/bob%40a.example", "/..."),
            ("https://a.example/b", "/b"),
            ("a.example:443", ""),
        ] {
            assert_eq!(shown(sent), expected);
        }
    }

    #[test]
    fn a_path_has_an_end_and_nothing_that_ends_anything_else() {
        let long = "/abc".repeat(20_000);
        assert_eq!(shown(&long), format!("{}...", &long[..77]));
        let odd = "/a\"b\\c d\n<HOST>\u{202e}\u{e9}";
        let encoded = "/a%22b%5Cc%20d%0A%3CHOST%3E%E2%80%AE%C3%A9";
        assert_eq!(shown(odd), encoded);
    }
}
