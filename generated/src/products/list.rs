//! Listing products, by the page or all at once.

use std::fmt::Display;

use super::stream::{PageStream, ProductStream};
use crate::client::Client;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::response::Response;
use crate::settings::call_settings;
use crate::types::{Cursor, NextCursor, PageLimit, Product, ProductPage, ProductStatusFilter};

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
#[must_use = "nothing is sent before `send`, `stream`, `pages` or `all`"]
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

    call_settings!("products().list()");

    /// Sets the status of the products to list; only active ones by default.
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

    /// Sets how many products a page has, 1 to 100. By default, `send` leaves it to the service, and
    /// `stream`, `pages` and `all` ask for the most.
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

    /// Sets where to start: the `next_cursor` of an earlier page with the same status.
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

    /// Requests one page.
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

    /// Requests one page, and also returns the headers.
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

    /// Returns all products from here on, over all pages, one after another.
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
        ProductStream::new(self.pages())
    }

    /// Returns all pages from here on, one after another: for work that is done by the page, such as
    /// filling a table, and for walks that are interrupted and resumed later.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use futures::TryStreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let mut pages = client.products().list().pages();
    /// while let Some(page) = pages.try_next().await? {
    ///     println!("{} products, and on from {:?}", page.data.len(), pages.cursor());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn pages(self) -> PageStream {
        PageStream::new(self.with_large_pages())
    }

    /// Returns all products from here on, in memory at once: for catalogs that are known to be small.
    ///
    /// # Errors
    /// Any [`Error`]. The products received until then are lost; [`stream`](List::stream) keeps them.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let products = client.products().list().all().await?;
    /// assert_eq!(products.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn all(self) -> Result<Vec<Product>, Error> {
        let mut list = self.with_large_pages();
        let mut products = Vec::new();
        loop {
            let page = list.clone().send().await?;
            products.extend(page.data);
            match page.next_cursor {
                Some(cursor) => list = list.after(cursor),
                None => return Ok(products),
            }
        }
    }

    /// Turns this into the listing of the next page.
    pub(super) fn set_after(&mut self, next: Option<NextCursor>) {
        self.after = next.and_then(|cursor| self.inputs.take("after", cursor));
    }

    /// Returns where the listing starts, if not at the newest product.
    pub(super) fn begins_after(&self) -> Option<&Cursor> {
        self.after.as_ref()
    }

    fn with_large_pages(self) -> List {
        /// The most that the document allows, for the fewest requests.
        const MAX_LIMIT: i32 = 100;
        match self.limit {
            Some(_) => self,
            None => self.limit(MAX_LIMIT),
        }
    }
}
