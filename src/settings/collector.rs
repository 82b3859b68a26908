//! The destination of traces.

use std::fmt;
use std::str::FromStr;

use super::values::PublicUrl;

/// An OpenTelemetry collector that takes OTLP over HTTP: the address that the paths of all kinds of data start with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl(PublicUrl);

impl CollectorUrl {
    /// Where it takes spans (OTLP specification, "OTLP/HTTP Request").
    pub fn traces(&self) -> String {
        format!("{}/v1/traces", self.0.as_str())
    }
}

impl FromStr for CollectorUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = text.parse::<PublicUrl>();
        let url = url.map_err(|_| "write something like http://127.0.0.1:4318, without a query")?;
        if url.as_str().ends_with("/v1/traces") {
            return Err("leave out /v1/traces, which is added".into());
        }
        Ok(CollectorUrl(url))
    }
}

impl fmt::Display for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Parses a share, from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "write a number from 0 to 1, such as 0.05".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_the_address_that_its_paths_begin_with() {
        for text in ["http://127.0.0.1:4318", "http://127.0.0.1:4318/"] {
            let url: CollectorUrl = text.parse().unwrap();
            assert_eq!(url.traces(), "http://127.0.0.1:4318/v1/traces");
        }
        let behind: CollectorUrl = "https://example.com/otlp".parse().unwrap();
        assert_eq!(behind.traces(), "https://example.com/otlp/v1/traces");
        for text in [
            "",
            "127.0.0.1:4318",
            "grpc://127.0.0.1:4317",
            "http://a?b",
            "http://a:1/v1/traces",
        ] {
            text.parse::<CollectorUrl>().expect_err(text);
        }
    }

    #[test]
    fn a_share_is_from_nothing_to_all() {
        for (text, share_) in [("0", 0.0), ("0.05", 0.05), ("1", 1.0)] {
            assert_eq!(share(text), Ok(share_));
        }
        for text in ["", "-0.1", "1.1", "NaN", "inf", "5%"] {
            share(text).expect_err(text);
        }
    }
}
