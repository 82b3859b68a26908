//! A mock server for tests of code that uses this crate, with the types of the documents.
//!
//! It is [`httpmock`] with a generated method for each operation: the compiler checks what a mock expects and what
//! it returns, and both change with the documents. It knows none of the service's rules; to test against those, run
//! `invoicing demo --fixed`.
//!
//! ```
//! use invoicing_client::mock::catalog::MockServerExt;
//! use invoicing_client::mock::httpmock::MockServer;
//! use invoicing_client::Client;
//! use invoicing_client::openapi::catalog::types::ProductPageResponse;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = MockServer::start_async().await;
//! let page = r#"{"data": {"data": [], "hasMore": false, "nextCursor": null}}"#;
//! let page: ProductPageResponse = serde_json::from_str(page)?;
//! let list = server.list_products(|when, then| {
//!     when.status(None);
//!     then.ok(&page);
//! });
//!
//! let client = Client::builder(server.base_url()).api_key("inv_test_key").build()?;
//! assert!(client.products().list().send().await?.data.is_empty());
//! list.assert();
//! # Ok(())
//! # }
//! ```
//!
//! Headers have to be added by hand, whatever the documents say: `then.too_many_requests(&error).into_inner()`
//! returns the `Then` of [`httpmock`], which has `.header("retry-after", "1")`. A client retries after a 429 or a
//! 503, unless it was built with [`RetryPolicy::off`](crate::RetryPolicy::off).
//!
//! A mock returns numbers as they were written. In requests, [`httpmock`] compares numbers as `f64`: from the
//! sixteenth digit on, a number may differ from the expected one and still match.

pub use crate::openapi::{catalog_mock as catalog, mobile_mock as mobile};
pub use httpmock;
