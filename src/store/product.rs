//! What a store keeps of products, and of the idempotent requests that change them.

use async_trait::async_trait;

use crate::domain::Error;
use crate::domain::api_key::Author;
use crate::domain::id::ProductId;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::product::{Catalog, Product, ProductChanges, StatusFilter};
use crate::domain::time::Timestamp;

/// Products in the store. No method sees or touches anything outside of the catalog that it is given.
///
/// A change under an idempotency key looks for a record of that key first and obeys
/// [`Record::replay`](crate::domain::idempotency::Record::replay); if there is none that counts, it makes
/// the change and its record in one transaction. Changes under one key happen one after the other.
///
/// Before all of that, and in the same transaction, the API key of the author has to be valid `now`, and stays
/// so until the commit: nobody revokes it in between.
#[async_trait]
pub trait ProductStore {
    /// Adds a product.
    ///
    /// # Errors
    /// [`Error::InvalidToken`], [`Error::DuplicateSku`], [`Error::IdempotencyKeyReused`].
    async fn create_product(
        &self,
        author: Author,
        product: Product,
        request: Option<IdempotentRequest>,
        now: Timestamp,
    ) -> Result<Outcome<Product>, Error>;

    /// The product of that id.
    ///
    /// # Errors
    /// [`Error::ProductNotFound`].
    async fn get_product(&self, catalog: Catalog, id: ProductId) -> Result<Product, Error>;

    /// The `limit` newest products of that status whose ids come before `after`, newest first.
    ///
    /// # Errors
    /// As every read: see the promises of [`crate::store`].
    async fn list_products(
        &self,
        catalog: Catalog,
        status: StatusFilter,
        after: Option<ProductId>,
        limit: u32,
    ) -> Result<Vec<Product>, Error>;

    /// Makes of a product what [`Product::update`] says, and answers it.
    ///
    /// # Errors
    /// [`Error::InvalidToken`], [`Error::ProductNotFound`], [`Error::DuplicateSku`],
    /// [`Error::IdempotencyKeyReused`].
    async fn update_product(
        &self,
        author: Author,
        id: ProductId,
        changes: ProductChanges,
        request: Option<IdempotentRequest>,
        now: Timestamp,
    ) -> Result<Outcome<Product>, Error>;

    /// Makes of a product what [`Product::archive`] says.
    ///
    /// # Errors
    /// [`Error::InvalidToken`], [`Error::ProductNotFound`], [`Error::AlreadyArchived`].
    async fn archive_product(
        &self,
        author: Author,
        id: ProductId,
        now: Timestamp,
    ) -> Result<(), Error>;

    /// Sees to at most `limit` idempotency records, and says to how many: those that have expired `now` are deleted,
    /// and those that lie ahead by more than [`AHEAD`](crate::domain::idempotency::AHEAD) are made `now`.
    ///
    /// # Errors
    /// As every change.
    async fn delete_idempotency_records(&self, now: Timestamp, limit: u32) -> Result<u32, Error>;
}
