//! The headers that tell a caller where it stands with its limit.

use http::{HeaderName, HeaderValue};

use crate::limit::Verdict;

/// The headers that tell a caller where it stands (IETF draft ratelimit-headers-10): the limit, and what is left of it.
pub(super) const RATE_LIMIT_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit"),
];

/// Returns these headers with their values.
pub(super) fn rate_limit_headers(verdict: &Verdict) -> [(HeaderName, HeaderValue); 2] {
    // It has no control characters: names of ours, digits and punctuation.
    let value = |text: String| HeaderValue::try_from(text).expect("the text is a value");
    let [policy, state] = RATE_LIMIT_HEADERS;
    [
        (policy, value(verdict.policy())),
        (state, value(verdict.state())),
    ]
}
