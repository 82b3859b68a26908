//! Faults that a consumer's test asks for: answers that a healthy server would not give.
//!
//! ```text
//! Demo-Answer: 429 | 500 | 503 [; times=N] [; test=NAME]
//! Demo-Latency: MILLISECONDS
//! ```
//!
//! How a client deals with a 429, a 500, a 503 or a slow answer cannot be tried on a healthy server.
//!
//! A client that retries sends the same headers again, so an answer may be asked for a number of times: the first `N`
//! requests with this very text get it, and later ones get the real answer. `test` only makes the texts of two tests differ.
//!
//! This module is private to the demo, so that no other command can give its [`FaultInjection`] to a server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::HeaderMap;
use slog::{Logger, warn};

use crate::domain::Error;
use crate::http::{Intercepted, Interceptor};

const ANSWER: &str = "Demo-Answer";
const LATENCY: &str = "Demo-Latency";

/// Longer than any client should wait.
const LATENCY_MAX_MILLIS: u64 = 60_000;

const FORM: &str = "Demo-Answer is not like `503; times=2; test=NAME`";

/// Reads the headers of this module, and counts how often each fault was injected.
#[derive(Debug, Default)]
pub(super) struct FaultInjection {
    given: Mutex<HashMap<String, u64>>,
}

/// What a request asks for; by default nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    /// The delay before anything else is done.
    latency: Duration,
    /// The answer to give instead of the real one.
    fault: Option<Fault>,
}

/// A fault that any operation can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// 429, as for a caller who has just used up the whole limit.
    RateLimited,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

impl Interceptor for FaultInjection {
    fn intercept<'a>(
        &'a self,
        headers: &'a HeaderMap,
        log: &'a Logger,
    ) -> BoxFuture<'a, Result<(), Intercepted>> {
        // No answer can report what is wrong with these headers: the documents do not have them.
        let asked = self.asked(headers).unwrap_or_else(|mistake| {
            warn!(log, "a request asks for nothing that is known"; "mistake" => mistake);
            Asked::default()
        });
        async move {
            tokio::time::sleep(asked.latency).await;
            asked.fault.map_or(Ok(()), |fault| Err(fault.into()))
        }
        .boxed()
    }
}

impl From<Fault> for Intercepted {
    fn from(fault: Fault) -> Intercepted {
        match fault {
            Fault::RateLimited => Intercepted::RateLimited,
            Fault::Internal => Intercepted::Error(Error::internal("injected")),
            Fault::Unavailable => Intercepted::Error(Error::unavailable("injected")),
        }
    }
}

impl FaultInjection {
    /// What a request with these headers asks for, or what is wrong with the headers.
    fn asked(&self, headers: &HeaderMap) -> Result<Asked, &'static str> {
        let latency = only(headers, LATENCY)?.map(latency).transpose()?;
        let fault = match only(headers, ANSWER)? {
            None => None,
            Some(text) => {
                let (fault, times) = fault(text)?;
                self.is_due(text, times).then_some(fault)
            }
        };
        Ok(Asked {
            latency: latency.unwrap_or_default(),
            fault,
        })
    }

    /// Whether the fault with this text has been injected fewer times than it should be; counts it if so.
    fn is_due(&self, text: &str, times: Option<u64>) -> bool {
        let Some(times) = times else { return true };
        // The map is consistent between two statements, whatever panicked elsewhere.
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let given = given.entry(text.to_owned()).or_default();
        let due = *given < times;
        *given += u64::from(due);
        due
    }
}

/// The value of a header that may appear once.
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

/// The fault, and how many times; `None` for always.
fn fault(text: &str) -> Result<(Fault, Option<u64>), &'static str> {
    let mut parts = text.split(';').map(str::trim);
    let fault = match parts.next() {
        Some("429") => Fault::RateLimited,
        Some("500") => Fault::Internal,
        Some("503") => Fault::Unavailable,
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
    Ok((fault, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(injection: &FaultInjection, lines: &[(&str, &str)]) -> Result<Asked, &'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, value.parse().unwrap());
        }
        injection.asked(&headers)
    }

    #[test]
    fn a_request_that_says_nothing_asks_for_nothing() {
        let asked = asked(&FaultInjection::default(), &[("Authorization", "Bearer x")]);
        assert_eq!(asked, Ok(Asked::default()));
    }

    #[test]
    fn faults_and_latency_are_read() {
        let injection = FaultInjection::default();
        for (text, fault) in [
            ("429", Fault::RateLimited),
            ("500", Fault::Internal),
            ("503; test=checkout", Fault::Unavailable),
        ] {
            let asked = asked(&injection, &[(ANSWER, text), (LATENCY, "1500")]).unwrap();
            assert_eq!(asked.fault, Some(fault), "{text}");
            assert_eq!(asked.latency, Duration::from_millis(1500));
        }
    }

    #[test]
    fn a_fault_is_injected_as_often_as_was_asked_for_in_these_words() {
        let injection = FaultInjection::default();
        let given = |text| {
            asked(&injection, &[(ANSWER, text)])
                .unwrap()
                .fault
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
        let injection = FaultInjection::default();
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
            let told = asked(&injection, lines).unwrap_err();
            assert!(told.contains(mistake), "{lines:?}: {told}");
        }
    }
}
