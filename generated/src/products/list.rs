//! Listing, a page at a time or all of it.

use std::fmt::{self, Display};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};

use crate::client::Client;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::response::Response;
use crate::types::{Cursor, PageLimit, Product, ProductPage, ProductStatusFilter};

/// A listing of products, newest first.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let mut page = client.products().list().limit(10).send().await?;
/// while let Some(next) = page.next_cursor {
///     page = client.products().list().limit(10).after(next).send().await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct List {
    client: Client,
    inputs: Inputs,
    status: Option<ProductStatusFilter>,
    limit: Option<PageLimit>,
    after: Option<Cursor>,
}

impl List {
    pub(crate) fn new(client: Client) -> List {
        let inputs = Inputs::default();
        List {
            client,
            inputs,
            status: None,
            limit: None,
            after: None,
        }
    }

    /// Active products only, unless given.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::types::ProductStatusFilter;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// client.products().list().status(ProductStatusFilter::All).send().await?;
    /// assert_eq!(stub.requests()[0].target, "/api/v1/products?status=all");
    /// # Ok(())
    /// # }
    /// ```
    pub fn status<V>(mut self, status: V) -> List
    where
        V: TryInto<ProductStatusFilter, Error: Display>,
    {
        self.status = self.inputs.take("status", status);
        self
    }

    /// How many products a page has, 1 to 100. Unless given, `send` leaves it to the service, and
    /// `stream` asks for the most.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// client.products().list().limit(50).send().await?;
    /// assert_eq!(stub.requests()[0].target, "/api/v1/products?limit=50");
    /// # Ok(())
    /// # }
    /// ```
    pub fn limit<V>(mut self, limit: V) -> List
    where
        V: TryInto<PageLimit, Error: Display>,
    {
        self.limit = self.inputs.take("limit", limit);
        self
    }

    /// Where to begin: the `next_cursor` of an earlier page with the same status.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// client.products().list().after("b3BhcXVl").send().await?;
    /// assert_eq!(stub.requests()[0].target, "/api/v1/products?after=b3BhcXVl");
    /// # Ok(())
    /// # }
    /// ```
    pub fn after<V>(mut self, cursor: V) -> List
    where
        V: TryInto<Cursor, Error: Display>,
    {
        self.after = self.inputs.take("after", cursor);
        self
    }

    /// Asks for one page.
    ///
    /// # Errors
    /// Any [`Error`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let page = client.products().list().send().await?;
    /// assert!(!page.has_more);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<ProductPage, Error> {
        Ok(self.send_for_response().await?.value)
    }

    /// Asks for one page, and answers with the headers as well.
    ///
    /// # Errors
    /// Any [`Error`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let response = client.products().list().send_for_response().await?;
    /// assert_eq!(response.value.data.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_for_response(self) -> Result<Response<ProductPage>, Error> {
        self.inputs.check(Some(()))?;
        let catalog = self.client.catalog()?;
        let mut call = catalog.list_products();
        if let Some(status) = self.status {
            call = call.status(status);
        }
        if let Some(limit) = self.limit {
            call = call.limit(limit);
        }
        if let Some(after) = self.after {
            call = call.after(after);
        }
        Ok(Response::from(call.send().await?).map(|answer| answer.data))
    }

    /// All products from here on, over all pages.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use futures::TryStreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let archived = client.products().list().status("archived").stream();
    /// assert_eq!(archived.try_fold(0, |count, _| async move { Ok(count + 1) }).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> ProductStream {
        /// The most that the document allows: fewest requests.
        const MAX_LIMIT: i32 = 100;
        let list = if self.limit.is_some() {
            self
        } else {
            self.limit(MAX_LIMIT)
        };
        let pages = stream::try_unfold(Some(list), |list| async move {
            let Some(list) = list else { return Ok(None) };
            let page = list.clone().send().await?;
            let next = page.next_cursor.map(|cursor| list.after(cursor));
            Ok::<_, Error>(Some((stream::iter(page.data.into_iter().map(Ok)), next)))
        });
        ProductStream(pages.try_flatten().boxed())
    }
}

/// All products of a listing, newest first, over all pages.
///
/// It is lazy: nothing is asked for before the first product is awaited, and the next page only once
/// the last product of this one was taken. A walk shows every product that existed when it began
/// and still matches exactly once, whatever is created or archived meanwhile. It ends after an error.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use futures::StreamExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let mut products = client.products().stream();
/// while let Some(product) = products.next().await {
///     println!("{}", product?.name);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream does nothing before it is polled"]
pub struct ProductStream(BoxStream<'static, Result<Product, Error>>);

impl Stream for ProductStream {
    type Item = Result<Product, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl fmt::Debug for ProductStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProductStream")
    }
}
