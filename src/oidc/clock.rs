//! Reads the provider's clock, to tell whether our own is right: ID tokens are checked, and refused, by ours.

use std::time::SystemTime;

use chrono::DateTime;
use openidconnect::http::header::DATE;
use openidconnect::{AsyncHttpClient as _, HttpRequest};

use super::Provider;

impl Provider {
    /// Returns the `Date` of its answer to a request for its metadata; `None` if it does not answer or gives none.
    pub(crate) async fn date(&self) -> Option<SystemTime> {
        let issuer = self.issuer().trim_end_matches('/');
        let mut request = HttpRequest::new(Vec::new());
        let url = format!("{issuer}/.well-known/openid-configuration");
        *request.uri_mut() = url.parse().ok()?;
        let answer = self.fetch.call(request).await.ok()?;
        let date = answer.headers().get(DATE)?.to_str().ok()?;
        // RFC 9110, section 5.6.7: the format written today is a date of RFC 5322.
        DateTime::parse_from_rfc2822(date)
            .ok()
            .map(SystemTime::from)
    }
}
