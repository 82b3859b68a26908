//! How a request to the demo asks for an answer that a well server would not give.
//!
//! ```text
//! Demo-Answer: 429 | 500 | 503 [; times=N] [; test=NAME]
//! Demo-Latency: MILLISECONDS
//! ```
//!
//! A client that tries again sends the same headers again, so an answer may be asked for a number of times:
//! the first `N` requests with this very text get it, and those after them the real one. `test` only makes the
//! texts of two tests differ.
//!
//! This module is private to the demo, so that no other command can give its [`Rehearsal`] to a server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;

use crate::http::rehearsal::{Asked, Rehearsal, Rehearsed};

const ANSWER: &str = "Demo-Answer";
const LATENCY: &str = "Demo-Latency";

/// Longer than any client should wait.
const LATENCY_MAX_MILLIS: u64 = 60_000;

const FORM: &str = "Demo-Answer is not like `503; times=2; test=NAME`";

/// Reads the headers of this module, and counts how often each answer was given.
#[derive(Debug, Default)]
pub struct ByHeader {
    given: Mutex<HashMap<String, u64>>,
}

impl Rehearsal for ByHeader {
    fn asked(&self, headers: &HeaderMap) -> Result<Asked, &'static str> {
        let latency = only(headers, LATENCY)?.map(latency).transpose()?;
        let answer = match only(headers, ANSWER)? {
            None => None,
            Some(text) => {
                let (answer, times) = answer(text)?;
                self.is_due(text, times).then_some(answer)
            }
        };
        Ok(Asked {
            latency: latency.unwrap_or_default(),
            answer,
        })
    }
}

impl ByHeader {
    /// Whether an answer that is asked for in these words was given less often than it should; counts it.
    fn is_due(&self, text: &str, times: Option<u64>) -> bool {
        let Some(times) = times else { return true };
        // A map is whole between two statements, whatever panicked elsewhere.
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let given = given.entry(text.to_owned()).or_default();
        let due = *given < times;
        *given += u64::from(due);
        due
    }
}

/// The value of a header that may be there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err("a Demo- header is given twice");
    }
    let text = value.map(|value| value.to_str()).transpose();
    text.map_err(|_| "a Demo- header is not ASCII")
}

fn latency(text: &str) -> Result<Duration, &'static str> {
    let millis = text.trim().parse().ok();
    let millis = millis.filter(|millis| *millis <= LATENCY_MAX_MILLIS);
    let millis = millis.map(Duration::from_millis);
    millis.ok_or("Demo-Latency is not a number of milliseconds, 60000 at most")
}

/// The answer, and how often; without a number, always.
fn answer(text: &str) -> Result<(Rehearsed, Option<u64>), &'static str> {
    let mut parts = text.split(';').map(str::trim);
    let answer = match parts.next() {
        Some("429") => Rehearsed::RateLimited,
        Some("500") => Rehearsed::Internal,
        Some("503") => Rehearsed::Unavailable,
        _ => return Err("Demo-Answer does not begin with 429, 500 or 503"),
    };
    let mut times = None;
    for part in parts {
        match part.split_once('=') {
            Some(("times", number)) => times = Some(number.parse().map_err(|_| FORM)?),
            Some(("test", _)) => (),
            _ => return Err(FORM),
        }
    }
    Ok((answer, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(rehearsal: &ByHeader, lines: &[(&str, &str)]) -> Result<Asked, &'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        rehearsal.asked(&headers)
    }

    #[test]
    fn a_request_that_says_nothing_asks_for_nothing() {
        let asked = asked(&ByHeader::default(), &[("Authorization", "Bearer x")]);
        assert_eq!(asked, Ok(Asked::default()));
    }

    #[test]
    fn answers_and_latency_are_read() {
        let rehearsal = ByHeader::default();
        for (text, answer) in [
            ("429", Rehearsed::RateLimited),
            ("500", Rehearsed::Internal),
            ("503; test=checkout", Rehearsed::Unavailable),
        ] {
            let asked = asked(&rehearsal, &[(ANSWER, text), (LATENCY, "1500")]).unwrap();
            assert_eq!(asked.answer, Some(answer), "{text}");
            assert_eq!(asked.latency, Duration::from_millis(1500));
        }
    }

    #[test]
    fn an_answer_is_given_as_often_as_was_asked_for_in_these_words() {
        let rehearsal = ByHeader::default();
        let given = |text| {
            asked(&rehearsal, &[(ANSWER, text)])
                .unwrap()
                .answer
                .is_some()
        };
        let twice = "503; times=2; test=one";
        assert_eq!(
            [given(twice), given(twice), given(twice)],
            [true, true, false]
        );
        assert!(given("503; times=2; test=two"));
        assert!(!given("503;times=0"));
        assert!(given("503") && given("503"));
    }

    #[test]
    fn a_mistake_is_told() {
        let rehearsal = ByHeader::default();
        for (lines, mistake) in [
            (&[(ANSWER, "418")][..], "begin with"),
            (&[(ANSWER, "")], "begin with"),
            (&[(ANSWER, "503, 503")], "begin with"),
            (&[(ANSWER, "503; times=often")], "is not like"),
            (&[(ANSWER, "503; twice")], "is not like"),
            (&[(ANSWER, "503"), (ANSWER, "503")], "twice"),
            (&[(LATENCY, "60001")], "milliseconds"),
            (&[(LATENCY, "1s")], "milliseconds"),
        ] {
            let told = asked(&rehearsal, lines).unwrap_err();
            assert!(told.contains(mistake), "{lines:?}: {told}");
        }
    }
}
