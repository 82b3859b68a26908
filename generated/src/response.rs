//! A response beyond its value: status and headers.

use std::time::Duration;

use progenitor_client::ResponseValue;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

/// The value of a successful response, with its status and headers.
///
/// Every call has `send_for_response` as an alternative to `send`.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let call = client.products().create("Consulting", "120.00", "EUR").idempotency_key("order-17");
/// let response = call.send_for_response().await?;
/// assert_eq!(response.status(), 201);
/// assert!(!response.replayed());
/// println!("request {:?} made {:?}", response.request_id(), response.value.id);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Response<T> {
    /// The requested value.
    pub value: T,
    status: StatusCode,
    headers: HeaderMap,
}

impl<T> Response<T> {
    /// Returns the status, such as 200 or 201.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// assert_eq!(client.products().list().send_for_response().await?.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns all headers.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let response = client.products().list().send_for_response().await?;
    /// assert_eq!(response.headers()["content-type"], "application/json");
    /// # Ok(())
    /// # }
    /// ```
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the id under which the service logged the call: quote it when asking for help.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let response = client.products().list().send_for_response().await?;
    /// assert!(response.request_id().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn request_id(&self) -> Option<&str> {
        self.header("x-request-id")
    }

    /// Returns whether this is the stored response to an earlier call with the same idempotency key.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// assert!(!client.products().list().send_for_response().await?.replayed());
    /// # Ok(())
    /// # }
    /// ```
    pub fn replayed(&self) -> bool {
        self.header("idempotency-replayed") == Some("true")
    }

    /// Returns what is left of the rate limit, if the service has one.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let response = client.products().list().send_for_response().await?;
    /// let limit = response.rate_limit().expect("the example has one");
    /// println!("{} more requests, then some within {:?}", limit.remaining, limit.reset);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rate_limit(&self) -> Option<RateLimit> {
        RateLimit::parse(self.header("ratelimit")?)
    }

    pub(crate) fn new(value: T, status: StatusCode, headers: HeaderMap) -> Response<T> {
        Response {
            value,
            status,
            headers,
        }
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Response<U> {
        Response {
            value: change(self.value),
            status: self.status,
            headers: self.headers,
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl<T> From<ResponseValue<T>> for Response<T> {
    fn from(answer: ResponseValue<T>) -> Response<T> {
        Response {
            status: answer.status(),
            headers: answer.headers().clone(),
            value: answer.into_inner(),
        }
    }
}

/// What is left of the rate limit (the header `RateLimit` of IETF draft ratelimit-headers-10).
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let limit = client.products().list().send_for_response().await?.rate_limit();
/// assert!(limit.is_some_and(|limit| limit.remaining > 0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// How many more requests are allowed now.
    pub remaining: u64,
    /// How long until more are allowed, in whole seconds.
    pub reset: Duration,
}

impl RateLimit {
    /// Parses `"default";r=199;t=1`.
    fn parse(header: &str) -> Option<RateLimit> {
        let parameter = |name: &str| {
            let mut parameters = header
                .split(';')
                .filter_map(|part| part.trim().split_once('='));
            parameters
                .find(|(key, _)| *key == name)?
                .1
                .parse::<u64>()
                .ok()
        };
        Some(RateLimit {
            remaining: parameter("r")?,
            reset: Duration::from_secs(parameter("t")?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_limit_is_read_by_its_parameters() {
        let limit = RateLimit::parse(r#""default";r=199;t=1"#).unwrap();
        assert_eq!(
            (limit.remaining, limit.reset),
            (199, Duration::from_secs(1))
        );
        assert_eq!(
            RateLimit::parse(r#""default";t=2;r=0"#).unwrap().remaining,
            0
        );
        assert_eq!(RateLimit::parse(r#""default";r=199"#), None);
        assert_eq!(RateLimit::parse(""), None);
    }
}
