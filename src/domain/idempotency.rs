//! Idempotency: a request that is sent twice is executed once.
//!
//! 1. A caller names a request with a key. The key belongs to the team and mode, not to one API key: a team's integrations
//!    share it.
//! 2. The first request with a key that succeeds leaves a [`Record`]: a digest of what was asked for, and the answer. It is
//!    written in the transaction of the change, so neither exists without the other. A failure leaves nothing: the same
//!    request may be tried again.
//! 3. While the record lasts, [`LIFETIME`] from its first use, the same request gets the same answer, whatever has happened
//!    to the product since; another request under the same key is refused.
//! 4. Of two at once, the second finds the record of the first: the store makes the changes of one key one after the other.
//!
//! A request is the same when its method, its path and its body as a JSON value are the same: spacing,
//! the order of members and the way a number or a string is written do not count.

use std::time::Duration;

use openapi_dropshot_runtime::json;

use super::Error;
use super::secret::Digest;
use super::time::Timestamp;

/// How long the first answer to a key is given again.
pub const LIFETIME: Duration = Duration::from_hours(24);

/// How far in the future a record may be dated. One dated later was made by a wrong clock, and would keep its key taken
/// until that time: its [`LIFETIME`] starts again when that was noticed [so often](NOTICED). It is long, because the process
/// that notices may be the one whose clock is wrong: if that is some days behind, it must not end the records of the others.
pub const AHEAD: Duration = Duration::from_hours(30 * 24);

/// How often in a row, once a minute, records are seen ahead before they are dated anew. A machine may start with a clock that
/// is years behind, and set it right a minute later, in one step or in several: it does not know how long an hour is.
pub const NOTICED: u32 = 60;

/// Bytes that most bodies need, so that few buffers are moved while they grow.
const CANONICAL: usize = 512;

/// A request under an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotentRequest {
    /// The caller's name for the request: 1 to 255 visible ASCII characters from the API, one with spaces from a page.
    pub key: String,
    /// What is asked for, digested.
    pub digest: Digest,
}

impl IdempotentRequest {
    /// The request `method` `path` with a JSON `body`, named `key`. The path is the one that the service
    /// itself would write: ids in lower case, nothing percent-encoded that need not be.
    pub fn new(
        key: impl Into<String>,
        method: &str,
        path: &str,
        body: &json::Value<'_>,
    ) -> IdempotentRequest {
        let mut canonical = String::with_capacity(CANONICAL);
        body.write_canonical(&mut canonical);
        let mut text = Vec::with_capacity(2 * CANONICAL);
        for field in [method, path, &canonical] {
            // With its length in front, no field can lend characters to its neighbour.
            text.extend_from_slice(&(field.len() as u64).to_be_bytes());
            text.extend_from_slice(field.as_bytes());
        }
        IdempotentRequest {
            key: key.into(),
            digest: Digest::of(&text),
        }
    }
}

/// The outcome of a request that is executed at most once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<T> {
    /// The answer: of this request, or of the first one like it.
    pub value: T,
    /// Whether it is the answer of an earlier request.
    pub replayed: bool,
}

/// What the first success with a key leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What was asked for.
    pub request: Digest,
    /// What was answered, as JSON.
    pub answer: String,
    /// When it was answered.
    pub created_at: Timestamp,
}

impl Record {
    /// The answer for `request`, if this record still counts: step 3.
    ///
    /// # Errors
    /// [`Error::IdempotencyKeyReused`] if the record counts and belongs to another request.
    pub fn replay(
        self,
        request: &IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<String>, Error> {
        if now >= self.created_at.after(LIFETIME) {
            Ok(None)
        } else if self.request == request.digest {
            Ok(Some(self.answer))
        } else {
            Err(Error::IdempotencyKeyReused)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, body: &str) -> IdempotentRequest {
        IdempotentRequest::new("k", method, path, &json::parse(body.as_bytes()).unwrap())
    }

    #[test]
    fn spacing_order_and_notation_do_not_count() {
        let one = request(
            "POST",
            "/p",
            r#"{"name":"A","unitPrice":1.50,"tags":[1,{"b":null}]}"#,
        );
        let same =
            r#" { "tags": [10e-1, { "b" : null } ], "unitPrice": 15E-1, "name": "\u0041" } "#;
        assert_eq!(one, request("POST", "/p", same));
    }

    #[test]
    fn a_different_method_path_or_value_is_another_request() {
        let one = request("POST", "/p", r#"{"a":"1","b":[1,2]}"#);
        for (method, path, body) in [
            ("PATCH", "/p", r#"{"a":"1","b":[1,2]}"#),
            ("POST", "/p/", r#"{"a":"1","b":[1,2]}"#),
            ("POST", "/p", r#"{"a":1,"b":[1,2]}"#),
            ("POST", "/p", r#"{"a":"1","b":[2,1]}"#),
            ("POST", "/p", r#"{"a":"1","b":[12]}"#),
            ("POST", "/p", r#"{"a":"1","b":[1,2],"c":null}"#),
            ("POST", "/p", r#"{"a":"1"}"#),
            ("POST", "/p", "{}"),
            ("POST", "/p", "[]"),
            ("POST", "/p", "null"),
        ] {
            assert_ne!(one, request(method, path, body), "{method} {path} {body}");
        }
    }

    #[test]
    fn fields_do_not_lend_characters_to_each_other() {
        assert_ne!(request("POST", "/p", "1"), request("POS", "T/p", "1"));
    }

    #[test]
    fn numbers_beyond_binary_precision_stay_apart() {
        let price = |text: &str| request("POST", "/p", text);
        assert_ne!(price("0.1"), price("0.1000000000000000055511151231257827"));
        assert_eq!(price("0"), price("-0.00"));
    }

    #[test]
    fn a_record_counts_for_24_hours_to_the_millisecond() {
        let first = request("POST", "/p", "{}");
        let at = Timestamp::from_millis;
        let record = Record {
            request: first.digest,
            answer: "A".into(),
            created_at: at(0),
        };
        let replay = |millis| record.clone().replay(&first, at(millis)).unwrap();
        assert_eq!(replay(86_399_999), Some("A".into()));
        assert_eq!(replay(86_400_000), None);
        assert_eq!(replay(-5), Some("A".into()));

        let other = request("POST", "/p", "[]");
        let reused = record.clone().replay(&other, at(1));
        assert!(matches!(reused, Err(Error::IdempotencyKeyReused)));
        assert_eq!(record.replay(&other, at(86_400_000)).unwrap(), None);
    }
}
