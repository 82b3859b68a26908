//! Observing calls: each attempt, once it has ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};

/// One attempt of a call, as [`ClientBuilder::on_attempt`](crate::ClientBuilder::on_attempt) sees it.
///
/// It contains neither credentials nor bodies, so all of it may be logged and counted.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::{Attempt, Client};
///
/// fn log(attempt: &Attempt<'_>) {
///     let (operation, number) = (attempt.operation, attempt.number);
///     match (attempt.status, attempt.error) {
///         (Some(status), _) => println!("{operation} #{number}: {status} in {:?}", attempt.elapsed),
///         (None, Some(error)) => println!("{operation} #{number}: {error}"),
///         (None, None) => {}
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let base_url = stub.url();
/// let client = Client::builder(base_url).api_key("inv_test_...").on_attempt(log).build()?;
/// client.products().list().send().await?; // list_products #1: 200 OK in 3ms
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// The operation, by its `operationId` in the document, such as `create_product`.
    pub operation: &'static str,
    /// The method, such as POST.
    pub method: &'a Method,
    /// 1 for the first attempt of a call, 2 for the next.
    pub number: u32,
    /// The status of the response, if there was one.
    pub status: Option<StatusCode>,
    /// The id under which the service logged the attempt, if it answered.
    pub request_id: Option<&'a str>,
    /// Why there was no response, if there was none.
    pub error: Option<&'a reqwest::Error>,
    /// How long the attempt took, to the last byte of the response.
    pub elapsed: Duration,
    /// How long the client will now wait before it tries again; `None` if this was the last attempt.
    pub retry_in: Option<Duration>,
}

/// The callback after each attempt.
#[derive(Clone)]
pub(crate) struct OnAttempt(Arc<dyn Fn(&Attempt<'_>) + Send + Sync>);

impl OnAttempt {
    pub(crate) fn new(callback: impl Fn(&Attempt<'_>) + Send + Sync + 'static) -> OnAttempt {
        OnAttempt(Arc::new(callback))
    }

    pub(crate) fn call(&self, attempt: &Attempt<'_>) {
        (self.0)(attempt);
    }
}

impl fmt::Debug for OnAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnAttempt")
    }
}
