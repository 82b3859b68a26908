//! Creating and updating a product, each under an idempotency key.

use std::fmt::Display;

use crate::client::Client;
use crate::error::Error;
use crate::inputs::{Inputs, Key};
use crate::openapi::Field;
use crate::response::Response;
use crate::settings::call_settings;
use crate::types::{
    Amount, CreateProduct, CurrencyCode, IdempotencyKey, Product, ProductDescription, ProductId,
    ProductName, ProductType, Sku, TaxRate, UnitOfMeasure, UpdateProduct,
};

/// Setters for a body's members, each with an example that starts with the given call.
macro_rules! setters {
    ($call:literal: $($(#[$doc:meta])* $method:ident($type:ty) => $member:ident = $example:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        /// # use invoicing_client::{Client, types::*};
        /// # let client = Client::builder("https://invoices.example").build().unwrap();
        #[doc = concat!("let call = client.products().", $call, ".", stringify!($method), "(", $example, ");")]
        /// ```
        pub fn $method<V>(mut self, value: V) -> Self
        where
            V: TryInto<$type, Error: Display>,
        {
            let value = self.inputs.take(stringify!($method), value);
            if let (Some(body), Some(value)) = (&mut self.body, value) {
                body.$member = value.into();
            }
            self
        }
    )*};
}

/// The idempotency key and `send`, the same for both calls.
macro_rules! sending {
    ($call:literal: $operation:ident $(, $parameter:ident)?) => {
        /// Sets the idempotency key, 1 to 255 visible ASCII characters: give one that outlives this
        /// process, such as an id of yours, if the call may be repeated after a crash. By default, `send`
        /// generates a random one, which its attempts share; a copy of the call is another call when
        /// sent.
        ///
        /// ```
        /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
        #[doc = concat!("let call = client.products().", $call, ".idempotency_key(\"import-7-row-12\");")]
        /// ```
        pub fn idempotency_key<V>(mut self, key: V) -> Self
        where
            V: TryInto<IdempotencyKey, Error: Display>,
        {
            self.key = match self.inputs.take("idempotency_key", key) {
                Some(key) => Key::Given(key),
                None => Key::None,
            };
            self
        }

        /// Sends no idempotency key, so the call is attempted only once.
        ///
        /// ```
        /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
        #[doc = concat!("let call = client.products().", $call, ".without_idempotency_key();")]
        /// ```
        pub fn without_idempotency_key(mut self) -> Self {
            self.key = Key::None;
            self
        }

        /// Makes the call, and returns the product as it is now.
        ///
        /// # Errors
        /// [`Code::DuplicateSku`](crate::Code::DuplicateSku) if another active product has the sku,
        /// [`Code::ScopeInsufficient`](crate::Code::ScopeInsufficient) with a read-only key, and any
        /// other [`Error`].
        ///
        /// ```
        /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> Result<(), invoicing_client::Error> {
        /// # let stub = Stub::example();
        /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
        #[doc = concat!("let product = client.products().", $call, ".sku(\"C-1\").send().await?;")]
        /// assert_eq!(product.sku.unwrap().as_str(), "C-1");
        /// # Ok(())
        /// # }
        /// ```
        pub async fn send(self) -> Result<Product, Error> {
            Ok(self.send_for_response().await?.value)
        }

        /// Makes the call, and also returns the headers.
        ///
        /// # Errors
        /// As for [`send`](Self::send).
        ///
        /// ```
        /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> Result<(), invoicing_client::Error> {
        /// # let stub = Stub::example();
        /// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
        #[doc = concat!("let response = client.products().", $call, ".send_for_response().await?;")]
        /// assert!(!response.replayed());
        /// # Ok(())
        /// # }
        /// ```
        pub async fn send_for_response(self) -> Result<Response<Product>, Error> {
            let body = self.inputs.check(self.body)?;
            let catalog = self.client.catalog()?;
            let mut call = catalog.$operation().body(body);
            $(call = call.$parameter(self.inputs.check(self.$parameter)?);)?
            if let Some(key) = self.key.make() {
                call = call.idempotency_key(key);
            }
            Ok(Response::from(call.send().await?).map(|answer| answer.data))
        }
    };
}

/// A call that creates a product.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// use invoicing_client::types::{CurrencyCode, ProductType, UnitOfMeasure};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// let product = client
///     .products()
///     .create("Consulting", "120.00", CurrencyCode::Eur)
///     .product_type(ProductType::Services)
///     .unit_of_measure(UnitOfMeasure::Hr)
///     .tax_rate("19")
///     .idempotency_key("import-7-row-12")
///     .send()
///     .await?;
/// # assert_eq!(stub.requests()[0].header("idempotency-key"), Some("import-7-row-12"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Create {
    client: Client,
    inputs: Inputs,
    key: Key,
    body: Option<CreateProduct>,
}

impl Create {
    pub(crate) fn new<N, P, C>(client: Client, name: N, unit_price: P, currency: C) -> Create
    where
        N: TryInto<ProductName, Error: Display>,
        P: TryInto<Amount, Error: Display>,
        C: TryInto<CurrencyCode, Error: Display>,
    {
        let mut inputs = Inputs::default();
        let name = inputs.take("name", name);
        let unit_price = inputs.take("unit_price", unit_price);
        let currency = inputs.take("currency", currency);
        let body = name
            .zip(unit_price)
            .zip(currency)
            .map(|((name, unit_price), currency)| CreateProduct {
                name,
                unit_price,
                currency,
                description: Field::Absent,
                sku: Field::Absent,
                tax_rate: Field::Absent,
                product_type: None,
                unit_of_measure: None,
            });
        Create {
            client,
            inputs,
            key: Key::default(),
            body,
        }
    }

    call_settings!("products().create(\"Consulting\", \"120.00\", \"EUR\")");

    setters! { r#"create("Consulting", "120.00", "EUR")"#:
        /// What it is, in up to 2,000 characters.
        description(ProductDescription) => description = r#""By the hour.""#;
        /// Your own code for it, in up to 100 characters: unique among the active products.
        sku(Sku) => sku = r#""C-1""#;
        /// A percentage, 0 to 100, exact.
        tax_rate(TaxRate) => tax_rate = r#""8.1""#;
        /// Goods or services.
        product_type(ProductType) => product_type = "ProductType::Services";
        /// What the price is for, such as an hour.
        unit_of_measure(UnitOfMeasure) => unit_of_measure = "UnitOfMeasure::Hr";
    }

    sending!(r#"create("Consulting", "120.00", "EUR")"#: create_product);
}

/// A call that changes a product. Fields that are neither set nor cleared stay as they are.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stub/mod.rs"));
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), invoicing_client::Error> {
/// # let stub = Stub::example();
/// # let client = invoicing_client::Client::builder(stub.url()).api_key("inv_test_...").build()?;
/// # let id = "018f4e7a-5a0e-7cc3-9a5b-0d6f1c2b3a49";
/// client.products().update(id).description("By the hour.").clear_tax_rate().send().await?;
/// assert_eq!(stub.requests()[0].body, r#"{"description":"By the hour.","taxRate":null}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct Update {
    client: Client,
    inputs: Inputs,
    key: Key,
    id: Option<ProductId>,
    body: Option<UpdateProduct>,
}

impl Update {
    pub(crate) fn new<V: TryInto<ProductId, Error: Display>>(client: Client, id: V) -> Update {
        let mut inputs = Inputs::default();
        let id = inputs.take("id", id);
        Update {
            client,
            inputs,
            key: Key::default(),
            id,
            body: Some(UpdateProduct::default()),
        }
    }

    call_settings!("products().update(uuid::Uuid::nil())");

    setters! { r#"update(uuid::Uuid::nil())"#:
        /// What it is called, in 1 to 255 characters.
        name(ProductName) => name = r#""Consulting""#;
        /// What one unit costs, without tax, exact.
        unit_price(Amount) => unit_price = r#""125.00""#;
        /// What the price is in.
        currency(CurrencyCode) => currency = "CurrencyCode::Chf";
        /// What it is, in up to 2,000 characters.
        description(ProductDescription) => description = r#""By the hour.""#;
        /// Your own code for it, in up to 100 characters: unique among the active products.
        sku(Sku) => sku = r#""C-1""#;
        /// A percentage, 0 to 100, exact.
        tax_rate(TaxRate) => tax_rate = r#""8.1""#;
        /// Goods or services.
        product_type(ProductType) => product_type = "ProductType::Services";
        /// What the price is for, such as an hour.
        unit_of_measure(UnitOfMeasure) => unit_of_measure = "UnitOfMeasure::Hr";
    }

    /// Removes the description.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// let call = client.products().update(uuid::Uuid::nil()).clear_description();
    /// ```
    pub fn clear_description(self) -> Update {
        self.change(|body| body.description = Field::Null)
    }

    /// Removes the sku.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// let call = client.products().update(uuid::Uuid::nil()).clear_sku();
    /// ```
    pub fn clear_sku(self) -> Update {
        self.change(|body| body.sku = Field::Null)
    }

    /// Removes the tax rate.
    ///
    /// ```
    /// # let client = invoicing_client::Client::builder("https://invoices.example").build().unwrap();
    /// let call = client.products().update(uuid::Uuid::nil()).clear_tax_rate();
    /// ```
    pub fn clear_tax_rate(self) -> Update {
        self.change(|body| body.tax_rate = Field::Null)
    }

    fn change(mut self, change: impl FnOnce(&mut UpdateProduct)) -> Update {
        self.body.as_mut().map(change);
        self
    }

    sending!(r#"update(uuid::Uuid::nil())"#: update_product, id);
}
