//! The headers that tell a caller where it stands with its limit.

use http::HeaderName;
use http::header::HeaderMap;
use openapi_dropshot_runtime::header_value;

use crate::limit::Verdict;

/// The headers that tell a caller where it stands (IETF draft ratelimit-headers-10): the limit, and what is left of it.
pub(super) const RATE_LIMIT_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("ratelimit"),
];

/// The same with their values.
pub(super) fn rate_limit_headers(verdict: &Verdict) -> HeaderMap {
    let values = [
        header_value(verdict.policy()),
        header_value(verdict.state()),
    ];
    RATE_LIMIT_HEADERS.into_iter().zip(values).collect()
}
