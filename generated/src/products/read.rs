//! Reading and archiving one product: calls that need nothing but its id.

use std::fmt::Display;

use crate::client::Client;
use crate::code::Code;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::response::Response;
use crate::settings::call_settings;
use crate::types::{Product, ProductId};

/// A call that reads a product.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let product = client.products().get("018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49").send().await?;
/// println!("{}", product.name);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Get {
    client: Client,
    inputs: Inputs,
    id: Option<ProductId>,
}

impl Get {
    pub(crate) fn new<V: TryInto<ProductId, Error: Display>>(client: Client, id: V) -> Get {
        let mut inputs = Inputs::default();
        let id = inputs.take("id", id);
        Get { client, inputs, id }
    }

    call_settings!("products().get(uuid::Uuid::nil())");

    /// Reads the product.
    ///
    /// # Errors
    /// [`Code::ProductNotFound`] if the key's team has no such product in the key's mode, and any
    /// other [`Error`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// let product = client.products().get("018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49").send().await?;
    /// assert_eq!(product.sku.unwrap().as_str(), "C-1");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<Product, Error> {
        Ok(self.send_for_response().await?.value)
    }

    /// Reads the product, and also returns the headers.
    ///
    /// # Errors
    /// As for [`send`](Get::send).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
    /// let response = client.products().get(id).send_for_response().await?;
    /// assert_eq!(response.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_for_response(self) -> Result<Response<Product>, Error> {
        let id = self.inputs.check(self.id)?;
        let answer = self.client.catalog()?.get_product().id(id).send().await?;
        Ok(Response::from(answer).map(|answer| answer.data))
    }
}

/// A call that archives a product.
///
/// Archiving twice leaves the product archived, but the second response is [`Code::AlreadyArchived`].
/// So if an attempt may have been executed although its response was lost, and the next one reports
/// that the product is already archived, the call counts as a success: the product is archived as
/// requested. (It is impossible to tell whether another client archived it in between.)
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// client.products().archive("018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49").send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Archive {
    client: Client,
    inputs: Inputs,
    id: Option<ProductId>,
}

impl Archive {
    pub(crate) fn new<V: TryInto<ProductId, Error: Display>>(client: Client, id: V) -> Archive {
        let mut inputs = Inputs::default();
        let id = inputs.take("id", id);
        Archive { client, inputs, id }
    }

    call_settings!("products().archive(uuid::Uuid::nil())");

    /// Archives the product.
    ///
    /// # Errors
    /// [`Code::ProductNotFound`], [`Code::AlreadyArchived`], [`Code::ScopeInsufficient`] with a
    /// read-only key, and any other [`Error`].
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// use invoicing_client::{Code, Error};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Error> {
    /// # let stub = Stub::start(|_| Reply::error(409, "conflict_error", "already_archived"));
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
    /// match client.products().archive(id).send().await {
    ///     Err(Error::Api(error)) if error.code == Code::AlreadyArchived => {} // fine as well
    ///     result => result?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<(), Error> {
        self.send_for_response().await.map(|_| ())
    }

    /// Archives the product, and also returns the headers. After a lost response, they are those of
    /// the 409 that reports the product as archived.
    ///
    /// # Errors
    /// As for [`send`](Archive::send).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), invoicing_client::Error> {
    /// # let stub = Stub::example();
    /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
    /// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
    /// let response = client.products().archive(id).send_for_response().await?;
    /// assert_eq!(response.status(), 204);
    /// println!("request {:?} archived it", response.request_id());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_for_response(self) -> Result<Response<()>, Error> {
        let id = self.inputs.check(self.id)?;
        let answer = self.client.catalog()?.archive_product().id(id).send().await;
        match answer.map_err(Error::from) {
            Err(Error::Api(error))
                if error.code == Code::AlreadyArchived && error.after_lost_answer =>
            {
                Ok(Response::new((), error.status, error.headers))
            }
            result => Ok(Response::from(result?).map(|_| ())),
        }
    }
}
