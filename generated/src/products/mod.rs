//! Products: listing, reading, creating, updating and archiving them.
//!
//! Each method of [`Products`] starts a call, setters complete it, and `send` makes it. If the
//! document does not allow an input, `send` fails with
//! [`Error::InvalidRequest`](crate::Error::InvalidRequest) before anything is sent.

mod list;
mod read;
mod stream;
mod write;

pub use list::List;
pub use read::{Archive, Get};
pub use stream::{PageStream, ProductStream};
pub use write::{Create, Update};

use std::fmt::Display;

use crate::client::Client;
use crate::types::{Amount, CurrencyCode, ProductId, ProductName};

/// Calls for products of the API key's team and mode.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use futures::TryStreamExt;
/// use invoicing_client::Client;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let base_url = stub.url();
/// let client = Client::builder(base_url).api_key("inv_test_...").build()?;
/// let hour = client
///     .products()
///     .create("Consulting", "120.00", "EUR")
///     .sku("C-1")
///     .unit_of_measure("hr")
///     .send()
///     .await?;
/// client.products().update(hour.id).unit_price("125.00").clear_description().send().await?;
/// client.products().archive(hour.id).send().await?;
///
/// let mut products = client.products().stream();
/// while let Some(product) = products.try_next().await? {
///     println!("{} at {} {}", product.name, product.unit_price, product.currency);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Products<'a> {
    pub(crate) client: &'a Client,
}

impl Products<'_> {
    /// Starts a listing of products, newest first: one page with `send`, all with `stream`, `pages`
    /// or `all`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let page = client.products().list().limit(50).send().await?;
    /// assert_eq!(page.data.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(self) -> List {
        List::new(self.client.clone())
    }

    /// Returns all active products, newest first: short for `list().stream()`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use futures::TryStreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let products: Vec<_> = client.products().stream().try_collect().await?;
    /// assert_eq!(products.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> ProductStream {
        self.list().stream()
    }

    /// Starts reading a product, archived or not.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let product = client.products().get("018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49").send().await?;
    /// assert_eq!(product.name.as_str(), "Consulting");
    /// # Ok(())
    /// # }
    /// ```
    pub fn get<V>(self, id: V) -> Get
    where
        V: TryInto<ProductId, Error: Display>,
    {
        Get::new(self.client.clone(), id)
    }

    /// Starts creating a product. Give the price as text or as a [`Decimal`](crate::Decimal), so that
    /// it is exact.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::types::CurrencyCode;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let call = client.products().create("Consulting", "120.00", CurrencyCode::Eur);
    /// let product = call.sku("C-1").send().await?;
    /// assert_eq!(product.unit_price.to_string(), "120.00");
    /// # Ok(())
    /// # }
    /// ```
    pub fn create<N, P, C>(self, name: N, unit_price: P, currency: C) -> Create
    where
        N: TryInto<ProductName, Error: Display>,
        P: TryInto<Amount, Error: Display>,
        C: TryInto<CurrencyCode, Error: Display>,
    {
        Create::new(self.client.clone(), name, unit_price, currency)
    }

    /// Starts changing a product: set fields, clear them, or leave them as they are.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
    /// client.products().update(id).unit_price("125.00").clear_sku().send().await?;
    /// assert_eq!(stub.requests()[0].body, r#"{"unitPrice":125.00,"sku":null}"#);
    /// # Ok(())
    /// # }
    /// ```
    pub fn update<V>(self, id: V) -> Update
    where
        V: TryInto<ProductId, Error: Display>,
    {
        Update::new(self.client.clone(), id)
    }

    /// Starts archiving a product. Nothing can reactivate it.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
    /// client.products().archive(id).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn archive<V>(self, id: V) -> Archive
    where
        V: TryInto<ProductId, Error: Display>,
    {
        Archive::new(self.client.clone(), id)
    }
}
