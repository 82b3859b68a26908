//! Products: the operations of the catalog ([`crate::domain::product`]).

use super::App;
use crate::domain::Error;
use crate::domain::api_key::ApiKey;
use crate::domain::id::ProductId;
use crate::domain::idempotency::{IdempotentRequest, Outcome};
use crate::domain::product::{NewProduct, Page, Product, ProductChanges, StatusFilter};

impl App {
    /// Adds a product to the caller's catalog.
    ///
    /// # Errors
    /// [`Error::ScopeInsufficient`], [`Error::InvalidToken`] when the key has ended since it was looked up,
    /// [`Error::DuplicateSku`], [`Error::IdempotencyKeyReused`]; what the store answers.
    pub async fn create_product(
        &self,
        caller: &ApiKey,
        product: NewProduct,
        request: Option<IdempotentRequest>,
    ) -> Result<Outcome<Product>, Error> {
        let (author, now) = (caller.author()?, self.now());
        let product = product.into_product(self.ids.next(now), now);
        self.store
            .create_product(author, product, request, now)
            .await
    }

    /// The product of that id in the caller's catalog, active or archived.
    ///
    /// # Errors
    /// [`Error::ProductNotFound`]; what the store answers.
    pub async fn get_product(&self, caller: &ApiKey, id: ProductId) -> Result<Product, Error> {
        self.store.get_product(caller.catalog(), id).await
    }

    /// A page of the caller's catalog, newest first: at most `limit` products, those that follow the
    /// cursor `after`.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; what the store answers.
    pub async fn list_products(
        &self,
        caller: &ApiKey,
        status: StatusFilter,
        limit: u32,
        after: Option<&str>,
    ) -> Result<Page<Product>, Error> {
        let catalog = caller.catalog();
        let after = after
            .map(|text| self.cursors.read(catalog, status, text))
            .transpose()?;
        // One more than the page holds tells whether there is a next one.
        let found = limit.saturating_add(1);
        let mut items = self
            .store
            .list_products(catalog, status, after, found)
            .await?;
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let last = items.last().filter(|_| more);
        let next = last.map(|last| self.cursors.write(catalog, status, last.id));
        Ok(Page { items, next })
    }

    /// Changes a product of the caller's catalog, active or archived.
    ///
    /// # Errors
    /// [`Error::ScopeInsufficient`], [`Error::InvalidToken`] as for a creation, [`Error::ProductNotFound`],
    /// [`Error::DuplicateSku`], [`Error::IdempotencyKeyReused`]; what the store answers.
    pub async fn update_product(
        &self,
        caller: &ApiKey,
        id: ProductId,
        changes: ProductChanges,
        request: Option<IdempotentRequest>,
    ) -> Result<Outcome<Product>, Error> {
        self.store
            .update_product(caller.author()?, id, changes, request, self.now())
            .await
    }

    /// Archives a product of the caller's catalog.
    ///
    /// # Errors
    /// [`Error::ScopeInsufficient`], [`Error::InvalidToken`] as for a creation, [`Error::ProductNotFound`],
    /// [`Error::AlreadyArchived`]; what the store answers.
    pub async fn archive_product(&self, caller: &ApiKey, id: ProductId) -> Result<(), Error> {
        self.store
            .archive_product(caller.author()?, id, self.now())
            .await
    }
}
